"""The result FIFO: words that were emitted wait here until they are taken."""

from amaranth import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from skinny.hdl.parts.target import TARGETS, Target
from skinny.model.machine.isa import CoreConfig, index_bits

from .layout import result_layout
from .numbering import Numbering

__all__ = ["ResultFIFO"]


class ResultFIFO(wiring.Component):
    """A FIFO of ``fifo`` words that is never full: the core starts a batch only when its results have room.

    Latency: three cycles from ``push`` to ``o.valid``. Throughput: one word a cycle. No back-pressure on ``push``.

    Parameters
    ----------
    config : CoreConfig
    target : Target

    Members
    -------
    push, word : In
        A word comes in.
    o : Out(stream of result_layout)
        The oldest word.
    taken : Out(1)
        The last result of a batch was taken one cycle ago.
    empty : Out(1)
        No word waits.
    loaded, old : In(1), Out(1)
        Something is loaded; words wait that came in before that.
    alarm : In(1)
        Every word at ``o`` has ``fault`` set while this is high; only for a core with the guard.
    mismatch : Out(1)
        The word at ``o`` is not the one that is due; always low without the guard.
    """

    def __init__(self, config: CoreConfig, target: Target = TARGETS["generic"]):
        self.config = config
        self.target = target
        super().__init__(
            {
                "push": In(1),
                "word": In(result_layout(config)),
                "o": Out(stream.Signature(result_layout(config))),
                "taken": Out(1),
                "empty": Out(1),
                "loaded": In(1),
                "old": Out(1),
                "alarm": In(1),
                "mismatch": Out(1),
            }
        )

    def elaborate(self, platform):
        # Two words are outside the memory: one was read, one is at `o`, the output register of the block RAM. Both move
        # on when the one before them does.
        m = Module()
        layout = result_layout(self.config)
        word = self.word.as_value()
        if self.config.guard:
            m.submodules.numbering = numbering = Numbering(self.config)
            word = Cat(word, numbering.seal)
        m.submodules.memory = memory = self.target.memory(len(word), self.config.fifo, [])
        stored, seal = layout(memory.data[: layout.size]), memory.data[layout.size :]
        if self.config.guard:
            m.d.comb += [
                numbering.push.eq(self.push),
                numbering.word.eq(self.word),
                numbering.pop.eq(self.o.valid & self.o.ready),
                numbering.valid.eq(self.o.valid),
                numbering.stored.eq(stored),
                numbering.stored_seal.eq(seal),
                self.mismatch.eq(numbering.mismatch),
            ]
        head = Signal(index_bits(self.config.fifo))
        tail = Signal.like(head)
        some = Signal()
        fetched = Signal()
        none = ~some & ~fetched & ~self.o.valid
        if self.config.argmax:  # words come in a cycle after they retired, and wait since then
            none = none & ~self.push
        m.d.comb += [
            some.eq(head != tail),
            memory.addr.eq(head),
            memory.take.eq(~self.o.valid | self.o.ready),
            memory.fetch.eq(~fetched | memory.take),
            self.o.p.eq(stored),
            self.empty.eq(none),
            memory.write.eq(self.push),
            memory.write_addr.eq(tail),
            memory.write_data.eq(word),
        ]
        if self.config.guard:
            m.d.comb += self.o.p.fault.eq(stored.fault | self.mismatch | self.alarm)
        with m.If(self.empty):
            m.d.sync += self.old.eq(0)
        with m.Elif(self.loaded):
            m.d.sync += self.old.eq(1)
        m.d.sync += self.taken.eq(self.o.valid & self.o.ready & self.o.p.last)
        with m.If(self.push):
            m.d.sync += tail.eq(tail + 1)
        with m.If(memory.fetch):
            m.d.sync += [fetched.eq(some), head.eq(head + some)]
        with m.If(memory.take):
            m.d.sync += self.o.valid.eq(fetched)
        return m
