"""Retained results: they wait here until the host has them."""

from amaranth import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from skinny.hdl.core.layout import result_layout
from skinny.model.machine.isa import CoreConfig

__all__ = ["RetainedResults"]

#: The number of bits of a position, enough to tell the positions of ``depth`` words apart.
POSITION = 16


class RetainedResults(wiring.Component):
    """Keeps up to ``depth`` results. The position of a result is the number of results before it since ``clear``, mod
    2^16.

    Latency: a result that was taken can be read from the next cycle on. Throughput: one result a cycle. Back-pressure:
    ``i`` is not ready while ``depth`` results wait to be freed.

    Parameters
    ----------
    config : CoreConfig
    depth : int
        The number of results that have room, a power of two.

    Members
    -------
    i : In(stream of result_layout)
        The results of the core.
    clear : In(1)
        Forget all; positions begin at zero.
    free, upto : In
        Results before position ``upto`` are not needed any more; they are freed two cycles later. A position that is
        not among those that are kept means nothing: it is older than what was said before.
    first, end : Out(16)
        The positions of the oldest result that is kept and of the next result that will come.
    position, word : In, Out
        The position of a result, and the result two cycles later (block RAM and its output register).
    """

    def __init__(self, config: CoreConfig, depth: int):
        if not 2 <= depth <= 1 << (POSITION - 2) or depth & (depth - 1):
            raise ValueError(f"the depth must be a power of two, 2 to {1 << (POSITION - 2)}, not {depth!r}")
        self.depth = depth
        layout = result_layout(config)
        super().__init__(
            {
                "i": In(stream.Signature(layout)),
                "clear": In(1),
                "free": In(1),
                "upto": In(POSITION),
                "first": Out(POSITION),
                "end": Out(POSITION),
                "position": In(POSITION),
                "word": Out(layout),
            }
        )

    def elaborate(self, platform):
        # The count is a register, so that `ready` is quick; therefore results are freed a cycle after the request.
        m = Module()
        m.submodules.memory = memory = Memory(shape=self.word.shape(), depth=self.depth, init=[])
        write = memory.write_port()
        read = memory.read_port()
        kept = Signal(range(self.depth + 1))
        freed = Signal(POSITION)
        asked, frees = Signal(), Signal()
        m.d.comb += [
            frees.eq(asked & (freed <= kept)),
            self.i.ready.eq(kept != self.depth),
            write.addr.eq(self.end),
            write.data.eq(self.i.payload),
            write.en.eq(self.i.valid & self.i.ready),
            read.addr.eq(self.position),
            read.en.eq(1),
        ]
        m.d.sync += [
            self.word.eq(read.data),
            asked.eq(self.free),
            freed.eq(self.upto - self.first),
            self.first.eq(self.first + Mux(frees, freed, 0)),
            kept.eq(kept + write.en - Mux(frees, freed, 0)),
            self.end.eq(self.end + write.en),
        ]
        with m.If(self.clear):
            m.d.sync += [self.first.eq(0), self.end.eq(0), kept.eq(0), asked.eq(0)]
        return m
