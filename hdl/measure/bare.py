"""A bare multiply-accumulate, with which the core is compared: nothing that multiplies and adds can be faster."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from skinny.hdl.parts.target import TARGETS
from skinny.model.machine.isa import index_bits
from skinny.model.rings import FixedPoint

__all__ = ["Bare"]


class Bare(wiring.Component):
    """Computes ``sum <- sum + a·b`` in every cycle; products are cut to the word but not rounded.

    Latency: three cycles, a register each behind the operands, the product and the sum; two more with ``words``.
    Throughput: one product a cycle. No back-pressure.

    Parameters
    ----------
    ring : FixedPoint
    words : int or None
        Both operands are read from block RAM of so many words, through its output register; without it they are ports.
    target : str
        The name of the memory and the multiplier (:data:`skinny.hdl.parts.target.TARGETS`).

    Members
    -------
    a, b : In
        The operands or, with ``words``, their addresses.
    write, write_addr, write_data : In
        A word that is written to both memories; only with ``words``.
    sum : Out(ring.bits)
        The running sum. Reset does not clear it.
    """

    def __init__(self, ring: FixedPoint, words: int | None = None, target: str = "generic"):
        self.ring = ring
        self.words = words
        self.target = TARGETS[target]
        ports = {"a": In(ring.bits), "b": In(ring.bits), "sum": Out(ring.bits)}
        if words is not None:
            address = In(index_bits(words))
            ports |= {"a": address, "b": address, "write": In(1), "write_addr": address, "write_data": In(ring.bits)}
        super().__init__(ports)

    def elaborate(self, platform):
        m = Module()
        bits, frac = self.ring.bits, self.ring.frac
        m.submodules.multiplier = multiplier = self.target.multiplier(bits, True, 1, 1)
        for name, operand in (("a", multiplier.a), ("b", multiplier.b)):
            if self.words is None:
                m.d.comb += operand.eq(getattr(self, name))
                continue
            m.submodules[name] = memory = self.target.memory(bits, self.words, [])
            m.d.comb += [
                memory.addr.eq(getattr(self, name)),
                memory.fetch.eq(1),
                memory.take.eq(1),
                operand.eq(memory.data),
                memory.write.eq(self.write),
                memory.write_addr.eq(self.write_addr),
                memory.write_data.eq(self.write_data),
            ]
        total = Signal(bits, reset_less=True)
        m.d.sync += total.eq(total + multiplier.product[frac : frac + bits])
        m.d.comb += self.sum.eq(total)
        return m
