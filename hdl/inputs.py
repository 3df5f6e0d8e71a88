"""The input buffer: one batch is read while the next streams in."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from skinny.model.isa import CoreConfig, index_bits
from skinny.model.segments import Lane

from .layout import input_layout

__all__ = ["InputBuffer"]


class InputBuffer(wiring.Component):
    """Two banks of ``threads`` vectors, filled in turn.

    Latency: a word is in memory the cycle after it was accepted, ``full`` rises the cycle after the last word of a
    batch. Throughput one word a cycle. Back-pressure: ``i`` is not ready while the bank to be filled next is full.

    Parameters
    ----------
    config : CoreConfig
    lane : Lane or None
        Banks of ``lane.vectors`` vectors, each read by ``lane.spread`` threads.

    Members
    -------
    i : In(stream of input_layout)
    last_input : In
        Words of a vector, less one.
    next, full, count : In, Out, Out
        The bank to be read next; whether it holds a batch that was not begun; the last thread of that.
    begin : In(1)
        The batch in bank ``next`` is begun.
    bank, thread, u : In
        What to read.
    x : Out(bits)
        The input, a cycle later (block RAM).
    release : In(1)
        Bank ``bank`` is read no more.
    """

    def __init__(self, config: CoreConfig, lane: Lane | None = None):
        self.config = config
        self.lane = lane
        thread = index_bits(config.threads)
        super().__init__(
            {
                "i": In(stream.Signature(input_layout(config))),
                "last_input": In(index_bits(config.inputs)),
                "full": Out(1),
                "count": Out(thread),
                "next": In(1),
                "begin": In(1),
                "bank": In(1),
                "thread": In(thread),
                "u": In(index_bits(config.inputs)),
                "x": Out(config.bits),
                "release": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        lane = self.lane or Lane(config.threads, 1)
        vector_bits = (lane.vectors - 1).bit_length() if self.lane else len(self.thread)
        words = 1 << (1 + vector_bits + len(self.u))
        m.submodules.memory = memory = Memory(shape=config.bits, depth=words, init=[])
        write = memory.write_port()
        read = memory.read_port()
        reader = self.thread
        if lane.spread > 1:
            reader = sum((reader >= lane.spread * vector for vector in range(1, lane.vectors)), Const(0))
        address = Cat(self.u, reader[:vector_bits], self.bank)
        m.d.comb += [read.addr.eq(address), read.en.eq(1), self.x.eq(read.data)]

        # A bank is occupied until it is read no more, but its batch is begun once: a short program may be through both
        # banks before the first is released.
        occupied = Signal(2)
        full = Signal(2)
        counts = [Signal(vector_bits, reset_less=True, name=f"count{bank}") for bank in range(2)]
        count = Mux(self.next, counts[1], counts[0])
        m.d.comb += [
            self.full.eq(full.bit_select(self.next, 1)),
            self.count.eq(count if lane.spread == 1 else (count + 1) * lane.spread - 1),
        ]

        bank = Signal()
        thread = Signal(vector_bits)
        u = Signal.like(self.u)
        accept = Signal()
        vector_end = Signal()
        batch_end = Signal()
        m.d.comb += [
            self.i.ready.eq(~occupied.bit_select(bank, 1)),
            accept.eq(self.i.valid & self.i.ready),
            vector_end.eq(accept & (u == self.last_input)),
            batch_end.eq(vector_end & (self.i.p.last | (thread == lane.vectors - 1))),
            write.addr.eq(Cat(u, thread, bank)),
            write.data.eq(self.i.p.data),
            write.en.eq(accept),
        ]
        with m.If(vector_end):
            m.d.sync += u.eq(0)
        with m.Elif(accept):
            m.d.sync += u.eq(u + 1)
        with m.If(batch_end):
            m.d.sync += [thread.eq(0), bank.eq(~bank)]
        with m.Elif(vector_end):
            m.d.sync += thread.eq(thread + 1)

        for which in range(2):
            with m.If(batch_end & (bank == which)):
                m.d.sync += [occupied[which].eq(1), full[which].eq(1), counts[which].eq(thread)]
            with m.If(self.begin & (self.next == which)):
                m.d.sync += full[which].eq(0)
            with m.If(self.release & (self.bank == which)):
                m.d.sync += occupied[which].eq(0)
        return m
