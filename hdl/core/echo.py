"""The echo: a word that is sent must be the register that it was read from."""

from functools import reduce
from operator import or_

from amaranth import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from skinny.model.machine.isa import CoreConfig

from .decoder import control_layout

__all__ = ["Echo"]


class Echo(wiring.Component):
    """Compares what an ``EMIT`` sends with the register that it names, when both reach the end of the pipeline.

    Latency: ``mismatch`` follows ``push`` by one cycle. Throughput: one comparison a cycle. No back-pressure.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    push : In(1)
        An ``EMIT`` retires and sends its word.
    control, result : In
        The instruction that retires and its word.
    registers : In(array of width words)
        The registers of its thread, before this instruction writes.
    cleared : In(1)
        Another run begins and has already overwritten the registers, so that nothing can be compared.
    mismatch : Out(1)
        The word that was sent one cycle ago is not its register.
    """

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__(
            {
                "push": In(1),
                "control": In(control_layout(config)),
                "result": In(config.bits),
                "registers": In(data.ArrayLayout(config.bits, config.width)),
                "cleared": In(1),
                "mismatch": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        count = range(self.config.width)
        chosen = reduce(
            or_, ((self.control.target == n).replicate(self.config.bits) & self.registers[n] for n in count)
        )
        # There is a register half way down the tree of comparisons, because the result may come late in the cycle.
        different = Signal((self.config.bits + 1) // 2, reset_less=True)
        sent = Signal()
        bits = self.result ^ chosen
        m.d.sync += [
            different.eq(Cat(bits[at : at + 2].any() for at in range(0, self.config.bits, 2))),
            sent.eq(self.push & ~self.control.bad & ~self.cleared),
        ]
        m.d.comb += self.mismatch.eq(sent & different.any())
        return m
