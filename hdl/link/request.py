"""The request parser: the bytes of a request as fields, then as words of its payload."""

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from skinny.model.link.wire import REQUEST, Kind, Reason, load_bytes, word_bytes
from skinny.model.machine.isa import CoreConfig

from .reply import fields_layout

__all__ = ["FIELD_BITS", "RequestParser", "request_fields"]

#: Bytes of the fields of each kind of request. No kind has fewer than ``OPEN``, whose fields all kinds have.
SIZES = {kind: sum(fields.values()) for kind, fields in REQUEST.items()}
#: Bits of the fields of the longest request.
FIELD_BITS = 8 * max(SIZES.values())


def request_fields(bits: Value, kind: Kind) -> data.View:
    """The fields of a request, if it is of ``kind``, in the ``FIELD_BITS`` bits of its first bytes."""
    return data.View(fields_layout(REQUEST[kind]), bits[: 8 * SIZES[kind]])


class RequestParser(wiring.Component):
    """Reads one request: first its fields, then, if somebody wants it, its payload word by word.

    When the fields are complete, ``act`` is high for one cycle, and ``want`` says in that cycle whether the payload is
    of use. A payload that is wanted comes out at ``words``; all other bytes are dropped. When the last byte was read,
    ``done`` is high for one cycle, or ``failed`` with a reason. Then nothing is read until ``next``.

    Latency: ``act`` is high in the cycle after the last byte of the fields was taken, a word is valid in the cycle
    after its last byte was taken. Throughput: one byte a cycle, except that no byte is taken while a word waits.
    Back-pressure: ``i`` is not ready while a word waits, nor between the end of a request and ``next``.

    Parameters
    ----------
    config : CoreConfig
        The configuration of the core, which decides how many bytes a word has.

    Members
    -------
    i : In(stream of a byte and ``last``), garbled : In(1)
        Requests, as from :class:`skinny.hdl.link.frames.FrameReceiver`.
    fields : Out(FIELD_BITS)
        The bytes of the fields; see :func:`request_fields`. Zero after a garbled frame.
    exchanges, finishes, describes : Out(1)
        The request is an ``EXCHANGE`` or ``FINISH``; a ``FINISH``; an ``OPEN`` or ``STATUS``. Valid from ``act`` on.
    act, want : Out(1), In(1)
        The fields are complete; the payload is wanted.
    words : Out(stream of a word and ``last``)
        The payload: input words, or words to be loaded. The parser takes a word back when ``skip`` is high.
    skip : In(1)
        The word that waits and the rest of the payload are dropped.
    done, failed : Out(1)
        The request was read to its end; or a garbled frame came, or a request that ends too early.
    reason : Out(Reason)
        From the cycle after ``failed`` on: ``GARBLED`` or ``MALFORMED``, otherwise ``NONE``.
    next : In(1)
        The request was answered: read the next one.
    """

    def __init__(self, config: CoreConfig):
        self.config = config
        self.word_bits = 8 * max(word_bytes(config), load_bytes(config))
        super().__init__(
            {
                "i": In(stream.Signature(data.StructLayout({"data": 8, "last": 1}))),
                "garbled": In(1),
                "fields": Out(FIELD_BITS),
                "exchanges": Out(1),
                "finishes": Out(1),
                "describes": Out(1),
                "act": Out(1),
                "want": In(1),
                "words": Out(stream.Signature(data.StructLayout({"data": self.word_bits, "last": 1}))),
                "skip": In(1),
                "done": Out(1),
                "failed": Out(1),
                "reason": Out(Reason),
                "next": In(1),
            }
        )

    def elaborate(self, platform):
        # `at` bytes of the fields and `which` bytes of a word were read; the frame has `more` bytes.
        m = Module()
        byte = self.i.payload
        at = Signal(range(max(SIZES.values()) + 1))
        which = Signal(range(self.word_bits // 8))
        more = Signal()
        garbled = Signal()
        need = self._classify(m)
        m.d.comb += self.words.payload.last.eq(~more)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += more.eq(~byte.last)

        with m.FSM():
            with m.State("Fields"):
                m.d.sync += [self.reason.eq(Reason.NONE), which.eq(0)]
                with m.If(garbled & (at == 0)):
                    m.d.comb += self.failed.eq(1)
                    m.d.sync += [self.fields.eq(0), garbled.eq(0), self.reason.eq(Reason.GARBLED)]
                    m.next = "Answer"
                with m.Elif(self.i.valid):
                    m.d.comb += self.i.ready.eq(1)
                    m.d.sync += [self.fields.word_select(at, 8).eq(byte.data), at.eq(at + 1)]
                    # Every frame has at least the fields of OPEN; after them the kind says how many are needed.
                    with m.If((at >= SIZES[Kind.OPEN] - 1) & (at + 1 == need)):
                        m.next = "Act"
                    with m.Elif(byte.last):
                        m.d.comb += self.failed.eq(1)
                        m.d.sync += self.reason.eq(Reason.MALFORMED)
                        m.next = "Answer"
            with m.State("Act"):
                m.d.comb += self.act.eq(1)
                m.next = "Drain"
                with m.If(self.want & more):
                    m.next = "Gather"
            with m.State("Gather"):
                m.d.comb += self.i.ready.eq(1)
                with m.If(self.i.valid):
                    m.d.sync += [self.words.payload.data.word_select(which, 8).eq(byte.data), which.eq(which + 1)]
                    with m.If(which == Mux(self.exchanges, word_bytes(self.config) - 1, load_bytes(self.config) - 1)):
                        m.d.sync += which.eq(0)
                        m.next = "Offer"
                    with m.Elif(byte.last):
                        m.d.comb += self.failed.eq(1)
                        m.d.sync += self.reason.eq(Reason.MALFORMED)
                        m.next = "Answer"
            with m.State("Offer"):
                m.d.comb += self.words.valid.eq(1)
                with m.If(self.words.ready & more):
                    m.next = "Gather"
                with m.Elif(self.words.ready | self.skip):
                    m.next = "Drain"
            with m.State("Drain"):
                m.d.comb += [self.i.ready.eq(more), self.done.eq(~more)]
                with m.If(self.done):
                    m.next = "Answer"
            with m.State("Answer"), m.If(self.next):
                m.d.sync += at.eq(0)
                m.next = "Fields"
        with m.If(self.garbled):
            m.d.sync += garbled.eq(1)
        return m

    def _classify(self, m: Module) -> Signal:
        """Derive the members that say what kind of request it is. Returns how many bytes its fields have."""
        kind = request_fields(self.fields, Kind.OPEN).kind
        # Registers, because they are needed only when a byte more was read.
        m.d.sync += [
            self.exchanges.eq((kind == Kind.EXCHANGE) | (kind == Kind.FINISH)),
            self.finishes.eq(kind == Kind.FINISH),
            self.describes.eq((kind == Kind.OPEN) | (kind == Kind.STATUS)),
        ]
        need = Signal(range(max(SIZES.values()) + 1), init=SIZES[Kind.OPEN])
        with m.Switch(kind):
            for each, size in SIZES.items():
                with m.Case(each):
                    m.d.comb += need.eq(size)
        return need
