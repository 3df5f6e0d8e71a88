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

__all__ = ["Banks", "InputBuffer"]


class Banks:
    """The control of the two banks of a ``buffer``.

    ``filled`` and ``taken`` are how many batches, modulo 4, came in and were begun; the lowest bit is the bank of the
    next one. ``one`` bank or ``both`` are in use, from the end of a batch to its release: a short program may have
    begun both."""

    def __init__(self, m, buffer):
        self.release = buffer.release
        self.filled = Signal(2, name="filled")
        self.taken = Signal(2, name="taken")
        self.one = Signal(name="one")
        self.both = Signal(name="both")
        self.counts = [Signal(buffer._vector_bits, reset_less=True, name=f"count{bank}") for bank in range(2)]
        count = Mux(self.taken[0], self.counts[1], self.counts[0])
        spread = buffer.lane.spread if buffer.lane else 1
        m.d.comb += [
            buffer.full.eq(self.filled != self.taken),
            buffer.count.eq(count if spread == 1 else (count + 1) * spread - 1),
            buffer.begun.eq(~self.taken[0]),
        ]
        m.d.sync += self.taken.eq(self.taken + buffer.begin)

    def use(self, m, complete):
        """A batch is ``complete``."""
        m.d.sync += [
            self.one.eq(complete | (self.one & (self.both | ~self.release))),
            self.both.eq(~self.release & (self.both | (self.one & complete))),
        ]

    def count(self, m, counting, thread):
        """The last vector of a batch is that of ``thread`` when it was ``counting`` for the last time."""
        for bank, count in enumerate(self.counts):
            with m.If(counting & (self.filled[0] == bank)):
                m.d.sync += count.eq(thread)


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
        self._vector_bits = (lane.vectors - 1).bit_length() if lane else index_bits(config.threads)
        super().__init__(self._members())

    def _members(self):
        config = self.config
        thread = index_bits(config.threads)
        return {
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
            "pointers": Out(index_bits(config.inputs) + self._vector_bits + 4),
        }

    def elaborate(self, platform):
        m = Module()
        lane = self.lane or Lane(self.config.threads, 1)
        banks = Banks(m, self)
        thread = Signal(self._vector_bits)
        u = Signal.like(self.u)
        accept = Signal()
        vector_end = Signal()
        batch_end = Signal()
        m.d.comb += [
            self.i.ready.eq(~banks.both),
            accept.eq(self.i.valid & self.i.ready),
            vector_end.eq(accept & (u == self.last_input)),
            self.pointers.eq(Cat(u, thread, banks.filled, banks.taken)),
            batch_end.eq(vector_end & (self.i.p.last | (thread == lane.vectors - 1))),
        ]
        banks.use(m, batch_end)
        if self.memory:
            reader = self.thread
            if lane.spread > 1:
                reader = sum((reader >= lane.spread * vector for vector in range(1, lane.vectors)), Const(0))
            read = Cat(self.u, reader[: self._vector_bits], self.bank)
            self._add_memory(m, read, accept, Cat(u, thread, banks.filled[0]))
        with m.If(vector_end):
            m.d.sync += u.eq(0)
        with m.Elif(accept):
            m.d.sync += u.eq(u + 1)
        with m.If(batch_end):
            m.d.sync += [thread.eq(0), banks.filled.eq(banks.filled + 1)]
        with m.Elif(vector_end):
            m.d.sync += thread.eq(thread + 1)
        # While a bank is being filled its count follows, so that the last thread is there at the end.
        banks.count(m, self.i.ready, thread)
        return m

    def _add_memory(self, m, addr, write, write_addr):
        """Add the memory: it is read at ``addr``, and the word that comes in is written at ``write_addr``."""
        config, word = self.config, self.i.p.data
        if config.deep:
            memory = ClearedRAM(config.bits + config.guard, 1 << len(addr), operand_latency(config), [], self.target)
            controls = [memory.clear.eq(self.x_clear)]
        else:
            memory = self.target.memory(config.bits + config.guard, 1 << len(addr), [])
            controls = [memory.fetch.eq(1), memory.take.eq(1)]
        m.submodules.memory = memory
        m.d.comb += [
            memory.addr.eq(addr),
            *controls,
            Cat(self.x, self.x_parity).eq(memory.data),
            memory.write.eq(write),
            memory.write_addr.eq(write_addr),
            memory.write_data.eq(Cat(word, word.xor())),
        ]
