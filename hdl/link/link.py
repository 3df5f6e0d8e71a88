"""The board's end of the link: it does what a request asks for, and answers."""

from amaranth import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from skinny.hdl.core.layout import input_layout, load_layout, result_layout
from skinny.model.link.wire import PATIENCE, REPLY_BIT, BoardInfo, Kind, Reason

from .actor import Actor
from .reply import Replier
from .request import RequestParser, request_fields
from .retain import RetainedResults
from .waiter import Waiter

__all__ = ["Link"]


class Link(wiring.Component):
    """Handles one request after the other, as ``docs/link.md`` says.

    Back-pressure: ``i`` is not ready from the end of a request until its reply is sent. Nothing waits for ever: when
    the core takes no word, or has no result, for ``PATIENCE`` cycles, the request ends and the reply tells how far it
    came. Therefore ``words`` and ``load`` may withdraw a word that was offered.

    Parameters
    ----------
    device : BoardInfo
        The description that the board gives of itself.
    seal : int
        The seal of what the core holds from the beginning; zero for nothing.

    Members
    -------
    i : In(stream of a byte and ``last``), garbled : In(1)
        Requests, as from :class:`skinny.hdl.link.frames.FrameReceiver`.
    o : Out(stream of 8 bits), finish : Out(1)
        Replies, as for :class:`skinny.hdl.link.frames.FrameTransmitter`.
    words, load, results
        The streams to and from the core.
    fault, busy : In(1)
        The state of the core.
    reset : Out(1)
        High for a cycle: reset the core.
    """

    def __init__(self, device: BoardInfo, seal: int):
        config = device.config
        self.device = device
        self.seal = seal
        super().__init__(
            {
                "i": In(stream.Signature(data.StructLayout({"data": 8, "last": 1}))),
                "garbled": In(1),
                "o": Out(stream.Signature(8)),
                "finish": Out(1),
                "words": Out(stream.Signature(input_layout(config))),
                "load": Out(stream.Signature(load_layout(config))),
                "results": In(stream.Signature(result_layout(config))),
                "fault": In(1),
                "busy": In(1),
                "reset": Out(1),
            }
        )

    def elaborate(self, platform):
        # One request at a time: it is read and done, then its results are awaited, then the reply is sent.
        m = Module()
        config = self.device.config
        m.submodules.parser = parser = RequestParser(config)
        m.submodules.actor = actor = Actor(config, parser.word_bits, self.seal)
        m.submodules.waiter = waiter = Waiter()
        m.submodules.retained = retained = RetainedResults(config, self.device.results)
        m.submodules.replier = replier = Replier(self.device)
        connect(m, flipped(self.i), parser.i)
        connect(m, parser.words, actor.payload)
        connect(m, actor.words, flipped(self.words))
        connect(m, actor.load, flipped(self.load))
        connect(m, flipped(self.results), retained.i)
        connect(m, replier.o, flipped(self.o))

        # At most one of the two refuses a request.
        reason = Signal(Reason)
        asked, exchange = (request_fields(parser.fields, kind) for kind in (Kind.OPEN, Kind.EXCHANGE))
        m.d.comb += [
            reason.eq(parser.reason | actor.reason),
            parser.garbled.eq(self.garbled),
            parser.want.eq(actor.want),
            parser.skip.eq(actor.skip),
            parser.next.eq(replier.sent),
            actor.fields.eq(parser.fields),
            actor.exchanges.eq(parser.exchanges),
            actor.finishes.eq(parser.finishes),
            actor.describes.eq(parser.describes),
            actor.act.eq(parser.act),
            actor.fault.eq(self.fault),
            actor.next.eq(replier.sent),
            self.reset.eq(actor.reset),
            retained.clear.eq(actor.reset),
            retained.free.eq(actor.free),
            retained.upto.eq(exchange.taken),
            retained.position.eq(replier.position),
            waiter.results.eq(parser.exchanges & (reason == Reason.NONE)),
            waiter.start.eq(exchange.start),
            waiter.wanted.eq(exchange.count),
            waiter.first.eq(retained.first),
            waiter.end.eq(retained.end),
            waiter.astray.eq(actor.astray),
            waiter.fault.eq(self.fault),
            waiter.busy.eq(self.busy),
            waiter.next.eq(replier.sent),
            replier.head.kind.eq(asked.kind | REPLY_BIT),
            replier.head.session.eq(actor.session),
            replier.head.number.eq(asked.number),
            replier.head.reason.eq(reason),
            replier.head.flags.eq(waiter.flags),
            replier.head.accepted.eq(actor.accepted),
            replier.describe.eq(parser.describes & (reason == Reason.NONE)),
            replier.seal.eq(actor.seal),
            replier.start.eq(exchange.start),
            replier.count.eq(waiter.count),
            replier.word.eq(retained.word),
            self.finish.eq(replier.finish),
        ]

        # Patience wears while a word waits for the core or the request for a result; each one that comes renews it.
        patience = Signal(range(PATIENCE))
        worn = Signal()
        progress = retained.i.valid & retained.i.ready
        m.d.comb += [worn.eq(patience == PATIENCE - 1), actor.worn.eq(worn), waiter.worn.eq(worn)]
        m.d.sync += patience.eq(0)
        with m.If(parser.words.valid | (waiter.wait & ~progress)):
            m.d.sync += patience.eq(patience + 1)

        with m.FSM():
            with m.State("Request"):
                with m.If(parser.done):
                    m.next = "Await"
                with m.Elif(parser.failed):
                    m.next = "Reply"
            with m.State("Await"):
                m.d.comb += waiter.wait.eq(1)
                with m.If(waiter.done):
                    m.next = "Reply"
            with m.State("Reply"):
                m.d.comb += replier.send.eq(1)
                with m.If(replier.sent):
                    m.next = "Request"
        return m
