"""The input buffer: one batch is read while the next streams in."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from skinny.model.isa import CoreConfig, index_bits

from .layout import input_layout

__all__ = ["InputBuffer"]


class InputBuffer(wiring.Component):
    """Two banks of ``threads`` vectors, filled in turn.

    Latency: a word is in memory the cycle after it was accepted, ``full`` rises the cycle after the last word of a
    batch. Throughput one word a cycle. Back-pressure: ``i`` is not ready while the bank to be filled next is full.

    Parameters
    ----------
    config : CoreConfig
    memory : bool
        Whether there is a memory; without one this is only its control.

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
    x_parity : Out(1)
        Its parity as it was when the word came in; for a core with the guard.
    release : In(1)
        Bank ``bank`` is read no more.
    """

    def __init__(self, config: CoreConfig, *, memory: bool = True):
        self.config = config
        self.memory = memory
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
                "x_parity": Out(1),
                "release": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        # A bank is occupied until it is read no more, but its batch is begun once: a short program may be through both
        # banks before the first is released.
        occupied = Signal(2)
        full = Signal(2)
        counts = [Signal.like(self.count, reset_less=True, name=f"count{bank}") for bank in range(2)]
        m.d.comb += [
            self.full.eq(full.bit_select(self.next, 1)),
            self.count.eq(Mux(self.next, counts[1], counts[0])),
        ]

        bank = Signal()
        thread = Signal.like(self.thread)
        u = Signal.like(self.u)
        accept = Signal()
        vector_end = Signal()
        batch_end = Signal()
        m.d.comb += [
            self.i.ready.eq(~occupied.bit_select(bank, 1)),
            accept.eq(self.i.valid & self.i.ready),
            vector_end.eq(accept & (u == self.last_input)),
            batch_end.eq(vector_end & (self.i.p.last | (thread == config.threads - 1))),
        ]
        if self.memory:
            words = 1 << (1 + len(self.thread) + len(self.u))
            m.submodules.memory = memory = Memory(shape=config.bits + config.guard, depth=words, init=[])
            write = memory.write_port()
            read = memory.read_port()
            m.d.comb += [
                read.addr.eq(Cat(self.u, self.thread, self.bank)),
                read.en.eq(1),
                Cat(self.x, self.x_parity).eq(read.data),
                write.addr.eq(Cat(u, thread, bank)),
                write.data.eq(Cat(self.i.p.data, self.i.p.data.xor())),
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
