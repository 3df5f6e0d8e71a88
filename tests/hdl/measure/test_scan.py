"""The scan wrapper: every input can be set, every output is seen, and ``retire`` stays open."""

import pytest
from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator
from skinny.hdl.measure.scan import ScanWrapper


class Adder(wiring.Component):
    """Two inputs of which one is in a bundle, two outputs, and a port for simulation."""

    bundle: In(wiring.Signature({"a": Out(3), "carry": In(1)}))
    b: In(3)
    total: Out(3)
    retire: Out(wiring.Signature({"value": Out(4)}))

    def elaborate(self, platform):
        m = Module()
        total = Signal(4)
        m.d.comb += [total.eq(self.bundle.a + self.b), self.total.eq(total), self.bundle.carry.eq(total[3])]
        m.d.comb += self.retire.value.eq(total)
        return m


def rtl_signatures(bits):
    """``q`` after each bit at ``d``."""
    wrapper = ScanWrapper(Adder())
    seen = []

    async def testbench(ctx):
        for bit in bits:
            ctx.set(wrapper.d, bit)
            await ctx.tick()
            seen.append(ctx.get(wrapper.q))

    simulator = Simulator(wrapper)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()
    return seen


def ref_signatures(bits):
    """A shift register for ``a`` and ``b``; ``carry`` and ``total`` are captured, then folded."""
    scanned, captured, folded, seen = 0, 0, 0, []
    for bit in bits:
        a, b = scanned & 7, scanned >> 3
        outputs = (a + b) >> 3 | ((a + b) & 7) << 1  # carry, then total
        scanned, captured, folded = (
            (scanned << 1 | bit) & 0x3F,
            outputs,
            (captured ^ (folded << 1 | bit)) & 0xF,
        )
        seen.append(folded >> 3)
    return seen


@pytest.mark.parametrize("seed", [0x9D3A5F71C2E84B60, 0x1234567890ABCDEF])
def test_signature(seed):
    bits = [seed >> n & 1 for n in range(64)]
    assert rtl_signatures(bits) == ref_signatures(bits)
