"""The input buffer: one batch is read while the next streams in."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from skinny.hdl.parts.cleared import ClearedRAM
from skinny.hdl.parts.target import TARGETS, Target
from skinny.model.machine.isa import CoreConfig, index_bits
from skinny.model.parallel.segments import Lane

from .layout import input_layout
from .register_memory import operand_latency

__all__ = ["InputBuffer"]


class InputBuffer(wiring.Component):
    """Two banks of ``threads`` vectors, filled in turn.

    Latency: a word is in memory one cycle after it was accepted, ``full`` rises one cycle after the last word of a
    batch. Throughput: one word a cycle. Back-pressure: ``i`` is not ready while the bank to be filled next is full.

    Parameters
    ----------
    config : CoreConfig
    target : Target
    lane : Lane or None
        For a lane of an engine a bank has ``lane.vectors`` vectors, each of them read by ``lane.spread`` threads.
    memory : bool
        There is a memory; without it the component is only the control of one.

    Members
    -------
    i : In(stream of input_layout)
        The vectors, word by word.
    last_input : In
        The number of words of a vector, less one.
    full, count : Out
        There is a batch that was not begun yet; the last thread of that batch.
    begin : In(1)
        That batch is begun.
    begun : Out(1)
        The bank of the batch that was begun last.
    bank, thread, u : In
        The bank, the thread and the number of the input that is read.
    x : Out(bits)
        The input that is read, two cycles later (block RAM and its output register).
    x_clear : In(1)
        Only with registers in memory: in the next cycle ``x`` is zero. There an input is read
        :func:`~.register_memory.operand_latency` cycles later.
    x_parity : Out(1)
        The parity of that input when it came in; for a core with the guard.
    release : In(1)
        The oldest batch that was begun is not read any more.
    pointers : Out
        Where the next word goes and which batch is begun next, for the guard.
    """

    def __init__(
        self,
        config: CoreConfig,
        target: Target = TARGETS["generic"],
        lane: Lane | None = None,
        *,
        memory: bool = True,
    ):
        self.config = config
        self.target = target
        self.lane = lane
        self.memory = memory
        thread = index_bits(config.threads)
        vector_bits = self._vector_bits = (lane.vectors - 1).bit_length() if lane else thread
        super().__init__(
            {
                "i": In(stream.Signature(input_layout(config))),
                "last_input": In(index_bits(config.inputs)),
                "full": Out(1),
                "count": Out(thread),
                "begin": In(1),
                "begun": Out(1),
                "bank": In(1),
                "thread": In(thread),
                "u": In(index_bits(config.inputs)),
                "x": Out(config.bits),
                "x_parity": Out(1),
                **({"x_clear": In(1)} if config.deep else {}),
                "release": In(1),
                "pointers": Out(index_bits(config.inputs) + vector_bits + 4),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        lane = self.lane or Lane(config.threads, 1)
        vector_bits = self._vector_bits

        # How many batches, modulo 4, came in and were begun; the lowest bit is the bank of the next one.
        filled = Signal(2)
        taken = Signal(2)
        # One bank or both are in use, from the end of a batch to its release: a short program may have begun both.
        one = Signal()
        both = Signal()
        counts = [Signal(vector_bits, reset_less=True, name=f"count{bank}") for bank in range(2)]
        count = Mux(taken[0], counts[1], counts[0])
        m.d.comb += [
            self.full.eq(filled != taken),
            self.count.eq(count if lane.spread == 1 else (count + 1) * lane.spread - 1),
            self.begun.eq(~taken[0]),
        ]
        m.d.sync += taken.eq(taken + self.begin)

        thread = Signal(vector_bits)
        u = Signal.like(self.u)
        accept = Signal()
        vector_end = Signal()
        batch_end = Signal()
        m.d.comb += [
            self.i.ready.eq(~both),
            accept.eq(self.i.valid & self.i.ready),
            vector_end.eq(accept & (u == self.last_input)),
            self.pointers.eq(Cat(u, thread, filled, taken)),
            batch_end.eq(vector_end & (self.i.p.last | (thread == lane.vectors - 1))),
        ]
        m.d.sync += [
            one.eq(batch_end | (one & (both | ~self.release))),
            both.eq(~self.release & (both | (one & batch_end))),
        ]
        if self.memory:
            words = 1 << (1 + vector_bits + len(self.u))
            if config.deep:
                memory = ClearedRAM(config.bits + config.guard, words, operand_latency(config), [], self.target)
                controls = [memory.clear.eq(self.x_clear)]
            else:
                memory = self.target.memory(config.bits + config.guard, words, [])
                controls = [memory.fetch.eq(1), memory.take.eq(1)]
            m.submodules.memory = memory
            reader = self.thread
            if lane.spread > 1:
                reader = sum((reader >= lane.spread * vector for vector in range(1, lane.vectors)), Const(0))
            m.d.comb += [
                memory.addr.eq(Cat(self.u, reader[:vector_bits], self.bank)),
                *controls,
                Cat(self.x, self.x_parity).eq(memory.data),
                memory.write.eq(accept),
                memory.write_addr.eq(Cat(u, thread, filled[0])),
                memory.write_data.eq(Cat(self.i.p.data, self.i.p.data.xor())),
            ]
        with m.If(vector_end):
            m.d.sync += u.eq(0)
        with m.Elif(accept):
            m.d.sync += u.eq(u + 1)
        with m.If(batch_end):
            m.d.sync += [thread.eq(0), filled.eq(filled + 1)]
        with m.Elif(vector_end):
            m.d.sync += thread.eq(thread + 1)
        # While a bank is being filled its count follows, so that the last thread is there at the end.
        for bank, count in enumerate(counts):
            with m.If(self.i.ready & (filled[0] == bank)):
                m.d.sync += count.eq(thread)
        return m
