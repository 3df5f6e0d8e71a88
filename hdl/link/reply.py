"""Replies of the board: a head, then what it says of itself or results."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from skinny.hdl.core.layout import result_layout
from skinny.model.link.wire import REPLY, REQUEST, BoardInfo, Flag, Kind, word_bytes

__all__ = ["Replier", "fields_layout"]


def fields_layout(sizes) -> data.StructLayout:
    """A layout of fields in order; ``sizes`` gives the number of bytes of each."""
    return data.StructLayout({name: 8 * size for name, size in sizes.items()})


class Replier(wiring.Component):
    """Sends one reply while ``send`` is high.

    The results of one reply are all faulty or all not: where that changes the reply ends. Throughput: one byte a cycle
    in the head, and at least one byte in three cycles after it. Back-pressure: the replier waits for ``o``.

    Parameters
    ----------
    device : BoardInfo
        The description that the board gives of itself.

    Members
    -------
    send : In(1)
        Send a reply. It stays high until ``sent``; all other inputs keep their values meanwhile, and ``start`` has its
        value one cycle earlier.
    sent : Out(1)
        The reply is complete.
    head : In(fields of a reply)
        The fields of the reply; the replier sets bit ``FAULTY`` of the flags.
    describe, seal : In
        The payload is the seal and the text of ``device`` instead of results.
    start, count : In
        The payload is that many results from that position on.
    position, word : Out, In
        A result is read from :class:`skinny.hdl.link.retain.RetainedResults`.
    o : Out(stream of 8 bits), finish : Out(1)
        The bytes and the end of the reply, for :class:`skinny.hdl.link.frames.FrameTransmitter`.
    """

    def __init__(self, device: BoardInfo):
        self.device = device
        super().__init__(
            {
                "send": In(1),
                "sent": Out(1),
                "head": In(fields_layout(REPLY)),
                "describe": In(1),
                "seal": In(8 * REQUEST[Kind.SEAL]["seal"]),
                "start": In(16),
                "count": In(8),
                "position": Out(16),
                "word": In(result_layout(device.config)),
                "o": Out(stream.Signature(8)),
                "finish": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        text = self.device.text().encode()
        m.submodules.text = memory = Memory(shape=8, depth=len(text), init=text, attrs={"rom_style": "block"})
        letter = memory.read_port()
        faulty = Signal()
        head = Signal.like(self.head)
        front = Cat(head, self.seal)
        which = Signal(range(len(front) // 8))
        done = Signal(8)
        m.d.comb += [
            head.eq(self.head),
            head.flags.eq(self.head.flags | Mux(faulty, Flag.FAULTY, 0)),
            self.position.eq(self.start + done),
            letter.addr.eq(done),
            letter.en.eq(1),
        ]

        # A register in front of the transmitter keeps the choice of a byte apart from its check sum.
        byte, valid, ready = Signal(8), Signal(), Signal()
        m.d.comb += ready.eq(~self.o.valid | self.o.ready)
        with m.If(ready):
            m.d.sync += [self.o.payload.eq(byte), self.o.valid.eq(valid)]

        with m.FSM():
            with m.State("Idle"), m.If(self.send):
                m.next = "First"
            with m.State("First"):
                m.d.sync += faulty.eq(self.word.fault & ~self.describe & (self.count != 0))
                m.next = "Front"
            with m.State("Front"):
                last = Mux(self.describe, len(front), len(head.as_value())) // 8 - 1
                m.d.comb += [valid.eq(1), byte.eq(front.word_select(which, 8))]
                with m.If(ready):
                    m.d.sync += which.eq(which + 1)
                    with m.If(which == last):
                        m.d.sync += which.eq(0)
                        m.next = "Fetch"
            with m.State("Fetch"):
                m.next = "Settle"
                with m.If(done == Mux(self.describe, len(text), self.count)):
                    m.next = "Finish"
            with m.State("Settle"):
                m.next = "Body"
            with m.State("Body"):
                size = word_bytes(self.device.config)
                m.d.comb += valid.eq(self.describe | (self.word.fault == faulty))
                m.d.comb += byte.eq(Mux(self.describe, letter.data, self.word.data.word_select(which, 8)))
                with m.If(~valid):
                    m.next = "Finish"
                with m.Elif(ready):
                    m.d.sync += which.eq(which + 1)
                    with m.If(self.describe | (which == size - 1)):
                        m.d.sync += [which.eq(0), done.eq(done + 1)]
                        m.next = "Fetch"
            with m.State("Finish"):
                m.d.comb += [self.finish.eq(~self.o.valid), self.sent.eq(self.finish & self.o.ready)]
                with m.If(self.sent):
                    m.d.sync += [which.eq(0), done.eq(0)]
                    m.next = "Idle"
        return m
