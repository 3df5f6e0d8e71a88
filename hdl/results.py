"""The result FIFO: what is emitted waits here until it is taken."""

from amaranth import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from skinny.model.isa import CoreConfig, index_bits

from .guard import Numbering
from .layout import result_layout

__all__ = ["ResultFIFO"]


class ResultFIFO(wiring.Component):
    """A FIFO of ``fifo`` words that is never full: the core starts a batch only when its results have room.

    Latency two cycles from ``push`` to ``o.valid``; throughput one word a cycle; no back-pressure on ``push``.

    Members
    -------
    push, word : In
    o : Out(stream of result_layout)
    taken : Out(1)
        The last result of a batch is taken.
    empty : Out(1)
        No word waits.
    alarm : In(1)
        Every word is marked with ``fault``; for a core with the guard.
    odd : Out(1)
        The word at ``o`` is not the one that is due; never without the guard.
    """

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__(
            {
                "push": In(1),
                "word": In(result_layout(config)),
                "o": Out(stream.Signature(result_layout(config))),
                "taken": Out(1),
                "empty": Out(1),
                "alarm": In(1),
                "odd": Out(1),
            }
        )

    def elaborate(self, platform):
        # The output register of the block RAM is the word at `o`; it holds while the read port is not enabled.
        m = Module()
        layout = result_layout(self.config)
        word = self.word.as_value()
        if self.config.guard:
            m.submodules.numbering = numbering = Numbering(self.config)
            word = Cat(word, numbering.seal)
        m.submodules.memory = memory = Memory(shape=len(word), depth=self.config.fifo, init=[])
        write = memory.write_port()
        read = memory.read_port()
        stored, seal = layout(read.data[: layout.size]), read.data[layout.size :]
        if self.config.guard:
            m.d.comb += [
                numbering.push.eq(self.push),
                numbering.word.eq(self.word),
                numbering.pop.eq(self.o.valid & self.o.ready),
                numbering.valid.eq(self.o.valid),
                numbering.stored.eq(stored),
                numbering.stored_seal.eq(seal),
                self.odd.eq(numbering.odd),
            ]
        head = Signal(index_bits(self.config.fifo))
        tail = Signal.like(head)
        some = Signal()
        m.d.comb += [
            some.eq(head != tail),
            read.addr.eq(head),
            read.en.eq(some & (~self.o.valid | self.o.ready)),
            self.o.p.eq(stored),
            self.taken.eq(self.o.valid & self.o.ready & self.o.p.last),
            self.empty.eq(~some & ~self.o.valid),
            write.addr.eq(tail),
            write.data.eq(word),
            write.en.eq(self.push),
        ]
        if self.config.guard:
            m.d.comb += self.o.p.fault.eq(stored.fault | self.odd | self.alarm)
        with m.If(self.push):
            m.d.sync += tail.eq(tail + 1)
        with m.If(read.en):
            m.d.sync += [head.eq(head + 1), self.o.valid.eq(1)]
        with m.Elif(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        return m
