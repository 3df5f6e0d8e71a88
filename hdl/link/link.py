"""The board's end of the link: does what a request asks, and answers."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from skinny.hdl.core.layout import input_layout, load_layout, result_layout
from skinny.model.link.wire import (
    PATIENCE,
    REPLY_BIT,
    REQUEST,
    BoardInfo,
    Flag,
    Kind,
    Reason,
    load_bytes,
    most_results,
    word_bytes,
)
from skinny.model.machine.isa import Space

from .reply import Replier, fields_layout
from .retain import POSITION, RetainedResults

__all__ = ["Link"]


class Link(wiring.Component):
    """One request after the other, as ``docs/link.md`` has it.

    Nothing waits for ever: a core that takes no word, or has no result, for ``PATIENCE`` cycles ends the request, and
    the reply tells how far it came. So ``words`` and ``load`` may withdraw a word that was offered.

    Parameters
    ----------
    device : BoardInfo
        What the board says of itself.
    seal : int
        Of what the core holds from the beginning; zero for nothing.

    Members
    -------
    i : In(stream of a byte and ``last``), garbled : In(1)
        Requests, as from :class:`skinny.hdl.link.frames.FrameReceiver`.
    o : Out(stream of 8 bits), finish : Out(1)
        Replies, as for :class:`skinny.hdl.link.frames.FrameTransmitter`.
    words, load, results
        Streams to and from the core.
    fault, busy : In(1)
        Of the core.
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
        m = Module()
        config = self.device.config
        m.submodules.retained = retained = RetainedResults(config, self.device.results)
        m.submodules.replier = replier = Replier(self.device)
        connect(m, flipped(self.results), retained.i)
        connect(m, replier.o, flipped(self.o))

        # Reset keeps the seal as it keeps what is sealed, and the number of the session, which it closes: requests that
        # the line delivers again must find no session of their number.
        seal = Signal(len(replier.seal), init=self.seal, reset_less=True)
        breaks = Signal()
        session = Signal(8, reset_less=True)
        opened = Signal()
        accepted = Signal(POSITION)
        reason = Signal(Reason)
        patience = Signal(range(PATIENCE))
        worn = Signal()
        m.d.comb += worn.eq(patience == PATIENCE - 1)
        m.d.sync += patience.eq(patience + 1)

        # The fields of a request: `at` of their bytes were read, and the frame has `more`.
        sizes = {kind: sum(fields.values()) for kind, fields in REQUEST.items()}
        head = Signal(8 * max(sizes.values()))
        ask = {kind: data.View(fields_layout(REQUEST[kind]), head[: 8 * size]) for kind, size in sizes.items()}
        asked, exchange, load = ask[Kind.OPEN], ask[Kind.EXCHANGE], ask[Kind.LOAD]
        kind = asked.kind
        need = Signal(range(max(sizes.values()) + 1), init=sizes[Kind.OPEN])
        at = Signal(need.shape())
        more = Signal()
        # Known a cycle after their fields, and needed when a byte more was read.
        exchanges, finishes, describes, stranger, begins = Signal(), Signal(), Signal(), Signal(), Signal()
        m.d.sync += [
            exchanges.eq((kind == Kind.EXCHANGE) | (kind == Kind.FINISH)),
            finishes.eq(kind == Kind.FINISH),
            describes.eq((kind == Kind.OPEN) | (kind == Kind.STATUS)),
            stranger.eq((asked.session != session) | ~opened),
            begins.eq(asked.session == (session + 1)[: len(session)]),
        ]
        with m.Switch(kind):
            for each, size in sizes.items():
                with m.Case(each):
                    m.d.comb += need.eq(size)

        # A word of the payload is put together from its bytes, then offered to the core.
        word = Signal(8 * max(word_bytes(config), load_bytes(config)))
        which = Signal(range(len(word) // 8))
        address = Signal(config.address_bits)
        offer, taken = Signal(), Signal()
        m.d.comb += [
            self.words.valid.eq(offer & exchanges),
            self.words.payload.data.eq(word),
            self.words.payload.last.eq(~more & finishes),
            self.load.valid.eq(offer & ~exchanges),
            self.load.payload.space.eq(load.space),
            self.load.payload.address.eq(address),
            self.load.payload.data.eq(word),
            taken.eq(Mux(exchanges, self.words.ready, self.load.ready)),
        ]

        # Results from `start` on: `ahead` of them are there, unless that or `behind` is negative (the top bit). A host
        # that is `astray`, a request before this one was lost, waits for nothing.
        count = Signal(8)
        astray = Signal()
        ahead, behind = Signal(POSITION), Signal(POSITION)
        m.d.sync += [ahead.eq(retained.end - exchange.start), behind.eq(exchange.start - retained.first)]
        m.d.comb += [
            retained.clear.eq(self.reset),
            retained.upto.eq(exchange.taken),
            retained.position.eq(replier.position),
            replier.start.eq(exchange.start),
            replier.word.eq(retained.word),
            replier.count.eq(count),
            replier.describe.eq(describes & (reason == Reason.NONE)),
            replier.seal.eq(seal),
            replier.head.kind.eq(kind | REPLY_BIT),
            replier.head.session.eq(session),
            replier.head.number.eq(asked.number),
            replier.head.reason.eq(reason),
            replier.head.accepted.eq(accepted),
            self.finish.eq(replier.finish),
        ]

        garbled = Signal()
        m.d.sync += self.reset.eq(0)
        with m.FSM():
            with m.State("Read"):
                m.d.sync += [reason.eq(Reason.NONE), which.eq(0), count.eq(0)]
                with m.If(garbled & (at == 0)):
                    m.d.sync += [head.eq(0), garbled.eq(0), reason.eq(Reason.GARBLED)]
                    m.next = "Reply"
                with m.Elif(self.i.valid):
                    m.d.comb += self.i.ready.eq(1)
                    m.d.sync += [head.word_select(at, 8).eq(self.i.payload.data), at.eq(at + 1)]
                    m.d.sync += more.eq(~self.i.payload.last)
                    # Three bytes there always are, and then the kind says how many are needed.
                    with m.If((at >= sizes[Kind.OPEN] - 1) & (at + 1 == need)):
                        m.next = "Act"
                    with m.Elif(self.i.payload.last):
                        m.d.sync += reason.eq(Reason.MALFORMED)
                        m.next = "Reply"

            with m.State("Act"):
                m.d.sync += [address.eq(load.address), astray.eq(exchange.position != accepted)]
                m.next = "Drain"
                with m.If(~describes & stranger):
                    m.d.sync += reason.eq(Reason.NO_SESSION)
                with m.Else(), m.Switch(kind):
                    with m.Case(Kind.OPEN), m.If(begins):
                        m.d.sync += [self.reset.eq(1), session.eq(asked.session), opened.eq(1), accepted.eq(0)]
                    with m.Case(Kind.STATUS):
                        pass
                    with m.Case(Kind.LOAD):
                        m.d.comb += breaks.eq(1)
                        with m.If((load.space >= len(Space)) | (load.address >= 1 << config.address_bits)):
                            m.d.sync += reason.eq(Reason.MALFORMED)
                        with m.Elif(more):
                            m.next = "Gather"
                    with m.Case(Kind.SEAL):
                        m.d.sync += seal.eq(ask[Kind.SEAL].seal)
                    with m.Case(Kind.EXCHANGE, Kind.FINISH):
                        m.d.comb += retained.free.eq(1)
                        with m.If(exchange.count > most_results(config)):
                            m.d.sync += reason.eq(Reason.MALFORMED)
                        with m.Elif(more & (exchange.position == accepted)):
                            m.next = "Gather"
                    with m.Default():
                        m.d.sync += reason.eq(Reason.UNKNOWN_KIND)

            with m.State("Gather"):
                m.d.comb += self.i.ready.eq(1)
                m.d.sync += patience.eq(0)
                with m.If(self.i.valid):
                    m.d.sync += [word.word_select(which, 8).eq(self.i.payload.data), which.eq(which + 1)]
                    m.d.sync += more.eq(~self.i.payload.last)
                    with m.If(which == Mux(exchanges, word_bytes(config) - 1, load_bytes(config) - 1)):
                        m.d.sync += which.eq(0)
                        m.next = "Offer"
                    with m.Elif(self.i.payload.last):
                        m.d.sync += reason.eq(Reason.MALFORMED)
                        m.next = "Reply"
            with m.State("Offer"):
                m.d.comb += offer.eq(1)
                with m.If(taken):
                    m.d.sync += [address.eq(address + 1), accepted.eq(accepted + exchanges)]
                    m.next = "Drain"
                    with m.If(more):
                        m.next = "Gather"
                with m.Elif(worn):
                    m.d.sync += [reason.eq(Mux(exchanges, Reason.NONE, Reason.BUSY)), astray.eq(1)]
                    m.next = "Drain"
            with m.State("Drain"):
                m.d.comb += self.i.ready.eq(more)
                m.d.sync += patience.eq(0)
                with m.If(~more):
                    m.next = "Await"
                with m.Elif(self.i.valid):
                    m.d.sync += more.eq(~self.i.payload.last)

            with m.State("Await"):
                m.d.sync += replier.head.flags.eq(Mux(self.fault, Flag.FAULT, 0) | Mux(self.busy, Flag.BUSY, 0))
                with m.If(~exchanges | (reason != Reason.NONE) | behind[-1]):
                    m.next = "Reply"
                with m.Elif(~ahead[-1] & (ahead >= exchange.count)):
                    m.d.sync += count.eq(exchange.count)
                    m.next = "Reply"
                with m.Elif(worn | astray):
                    m.d.sync += count.eq(Mux(ahead[-1], 0, ahead))
                    m.next = "Reply"
                with m.Elif(self.results.valid & self.results.ready):
                    m.d.sync += patience.eq(0)
            with m.State("Reply"):
                m.d.comb += replier.send.eq(1)
                with m.If(replier.sent):
                    m.d.sync += at.eq(0)
                    m.next = "Read"
        with m.If(self.garbled):
            m.d.sync += garbled.eq(1)
        # A core that met a fault is not known to hold what was sealed, whatever a request says.
        with m.If(breaks | self.fault):
            m.d.sync += seal.eq(0)
        return m
