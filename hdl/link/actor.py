"""The actor: does what a request asks for, within the session that it belongs to."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from skinny.hdl.core.layout import input_layout, load_layout
from skinny.model.link.wire import REQUEST, Kind, Reason, most_results
from skinny.model.machine.isa import CoreConfig, Space

from .request import FIELD_BITS, request_fields
from .retain import POSITION

__all__ = ["Actor"]


class Actor(wiring.Component):
    """Judges the fields of a request, hands its payload to the core, and keeps session, seal and position.

    Latency: everything that ``act`` decides holds from the next cycle on, except ``want`` and ``free``, which are
    combinational. Throughput: one word a cycle. Back-pressure: ``payload`` is ready when the core is; ``skip`` is high
    when the core let a word wait too long, so that nothing waits for ever. Therefore ``words`` and ``load`` may
    withdraw a word that was offered.

    Reset keeps the seal, as it keeps what is sealed, and the number of the session, which it closes: requests that the
    line delivers again must find no session of their number.

    Parameters
    ----------
    config : CoreConfig
    word_bits : int
        Bits of a word of ``payload``.
    seal : int
        The seal of what the core holds from the beginning; zero for nothing.

    Members
    -------
    fields, exchanges, finishes, act, want : In, Out(1) for ``want``
        From and to :class:`skinny.hdl.link.request.RequestParser`, as are the next two.
    payload : In(stream of a word and ``last``)
    skip : Out(1)
        The core took no word for too long.
    describes : In(1)
        The request needs no session.
    words, load : Out(streams of input_layout and load_layout)
        To the core.
    fault : In(1)
        The core met a fault, which breaks the seal.
    worn : In(1)
        The core had its time to take the word.
    next : In(1)
        The request was answered.
    free : Out(1)
        The request names results that are not needed any more.
    reset : Out(1)
        High for a cycle: reset the core, a session begins.
    seal, session, accepted : Out
        The seal of what the core holds, the number of the session, and how many input words it took since the session
        began (mod 2^16).
    astray : Out(1)
        The words of the request were not all taken, or a request before it was lost: its results will not come.
    reason : Out(Reason)
        Why the request was refused.
    """

    def __init__(self, config: CoreConfig, word_bits: int, seal: int):
        self.config = config
        self.init_seal = seal
        super().__init__(
            {
                "fields": In(FIELD_BITS),
                "exchanges": In(1),
                "finishes": In(1),
                "describes": In(1),
                "act": In(1),
                "want": Out(1),
                "payload": In(stream.Signature(data.StructLayout({"data": word_bits, "last": 1}))),
                "skip": Out(1),
                "words": Out(stream.Signature(input_layout(config))),
                "load": Out(stream.Signature(load_layout(config))),
                "fault": In(1),
                "worn": In(1),
                "next": In(1),
                "free": Out(1),
                "reset": Out(1),
                "seal": Out(8 * REQUEST[Kind.SEAL]["seal"]),
                "session": Out(8),
                "accepted": Out(POSITION),
                "astray": Out(1),
                "reason": Out(Reason),
            }
        )

    def elaborate(self, platform):
        m = Module()
        asked, load, exchange = (request_fields(self.fields, kind) for kind in (Kind.OPEN, Kind.LOAD, Kind.EXCHANGE))
        seal = Signal.like(self.seal, init=self.init_seal, reset_less=True)
        session = Signal.like(self.session, reset_less=True)
        opened = Signal()
        # Known a cycle after their fields, and needed when a byte more was read.
        stranger, begins = Signal(), Signal()
        in_place = Signal()
        m.d.sync += [
            stranger.eq((asked.session != session) | ~opened),
            begins.eq(asked.session == (session + 1)[: len(session)]),
            self.reset.eq(0),
        ]
        m.d.comb += [self.seal.eq(seal), self.session.eq(session), in_place.eq(exchange.position == self.accepted)]

        self._hand_over(m, load)
        with m.If(self.next):
            m.d.sync += self.reason.eq(Reason.NONE)
        # A core that met a fault is not known to hold what was sealed, whatever a request says.
        with m.If(self.act):
            m.d.sync += self.astray.eq(~in_place)
            with m.If(~self.describes & stranger):
                m.d.sync += self.reason.eq(Reason.NO_SESSION)
            with m.Else(), m.Switch(asked.kind):
                with m.Case(Kind.OPEN), m.If(begins):
                    m.d.sync += [self.reset.eq(1), session.eq(asked.session), opened.eq(1), self.accepted.eq(0)]
                with m.Case(Kind.STATUS):
                    pass
                with m.Case(Kind.LOAD):
                    possible = (load.space < len(Space)) & (load.address < 1 << self.config.address_bits)
                    m.d.comb += self.want.eq(possible)
                    m.d.sync += [seal.eq(0), self.reason.eq(Mux(possible, Reason.NONE, Reason.MALFORMED))]
                with m.Case(Kind.SEAL):
                    m.d.sync += seal.eq(request_fields(self.fields, Kind.SEAL).seal)
                with m.Case(Kind.EXCHANGE, Kind.FINISH):
                    possible = exchange.count <= most_results(self.config)
                    m.d.comb += [self.free.eq(1), self.want.eq(possible & in_place)]
                    m.d.sync += self.reason.eq(Mux(possible, Reason.NONE, Reason.MALFORMED))
                with m.Default():
                    m.d.sync += self.reason.eq(Reason.UNKNOWN_KIND)
        with m.If(self.fault):
            m.d.sync += seal.eq(0)
        return m

    def _hand_over(self, m: Module, load: data.View) -> None:
        """Offer the words of the payload to the core, as inputs or at successive addresses of the load port."""
        address = Signal(self.config.address_bits)
        word = self.payload.payload
        m.d.comb += [
            self.words.valid.eq(self.payload.valid & self.exchanges),
            self.words.payload.data.eq(word.data),
            self.words.payload.last.eq(word.last & self.finishes),
            self.load.valid.eq(self.payload.valid & ~self.exchanges),
            self.load.payload.space.eq(load.space),
            self.load.payload.address.eq(address),
            self.load.payload.data.eq(word.data),
            self.payload.ready.eq(Mux(self.exchanges, self.words.ready, self.load.ready)),
            self.skip.eq(self.worn),
        ]
        with m.If(self.act):
            m.d.sync += address.eq(load.address)
        with m.If(self.payload.valid & self.payload.ready):
            m.d.sync += [address.eq(address + 1), self.accepted.eq(self.accepted + self.exchanges)]
        with m.Elif(self.payload.valid & self.worn):
            m.d.sync += [self.reason.eq(Mux(self.exchanges, Reason.NONE, Reason.BUSY)), self.astray.eq(1)]
