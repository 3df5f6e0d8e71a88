"""Multiply-add against plain integers: exhaustively at small widths, sampled at large ones, for every latency."""

import gc
from fractions import Fraction
from itertools import product
from math import floor

import numpy as np
import pytest
from amaranth.sim import Simulator
from skinny.hdl.parts.arithmetic import Arithmetic, registers_after
from skinny.model.rings import Boolean, Exact, FixedPoint, Modular, PrimeField


def ref_result(ring, bits, a, b, acc, neg):
    """``acc ± a·b`` on unsigned words, one number at a time."""
    sign = -1 if neg else 1
    if isinstance(ring, PrimeField):
        return (acc + sign * a * b) % ring.p
    if isinstance(ring, Boolean):
        return acc ^ (a & b)
    a, b = (v - (v >> (bits - 1) << bits) for v in (a, b))
    if isinstance(ring, FixedPoint):
        return (acc + sign * floor(Fraction(a * b, 1 << ring.frac) + Fraction(1, 2))) % (1 << bits)
    return (acc + sign * a * b) % (1 << bits)


def rtl_results(ring, bits, stages, cases):
    unit = Arithmetic(ring, bits, stages)
    out = []

    async def bench(ctx):
        for at in range(len(cases) + stages):
            if at < len(cases):
                for port, value in zip((unit.a, unit.b, unit.acc, unit.neg), cases[at], strict=True):
                    ctx.set(port, value)
            if at >= stages:
                out.append(ctx.get(unit.o))
            if stages:
                await ctx.tick()
            else:
                await ctx.delay(1e-6)

    simulator = Simulator(unit)
    if stages:
        simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return out


SMALL = [
    (Modular(1), 1),
    (Modular(3), 3),
    (FixedPoint(3, 0), 3),
    (FixedPoint(3, 1), 3),
    (FixedPoint(3, 2), 3),
    (PrimeField(2), 1),
    (PrimeField(3), 2),
    (PrimeField(5), 3),
    (PrimeField(7), 3),
    (PrimeField(13), 4),
    (Boolean(), 2),
]


@pytest.mark.parametrize(("ring", "bits"), SMALL, ids=repr)
def test_every_case_of_small_rings(ring, bits):
    top = ring.p if isinstance(ring, PrimeField) else 1 << bits
    cases = list(product(range(top), range(top), range(top), range(2)))
    assert rtl_results(ring, bits, 0, cases) == [ref_result(ring, bits, *case) for case in cases]


LARGE = [
    (Modular(16), 16),
    (Modular(32), 32),
    (FixedPoint(16, 8), 16),
    (FixedPoint(32, 31), 32),
    (PrimeField(8191), 13),
    (PrimeField(2**31 - 1), 31),
    (PrimeField(65537), 17),
    (PrimeField(2147483629), 31),
    (Boolean(), 64),
]


@pytest.mark.parametrize("stages", [0, 1, 2, 3, 4, 7])
@pytest.mark.parametrize(("ring", "bits"), LARGE, ids=repr)
def test_large_rings_for_every_latency(ring, bits, stages):
    rng = np.random.default_rng(stages)
    top = ring.p if isinstance(ring, PrimeField) else 1 << bits
    edges = [0, 1, top // 2 - 1, top // 2, top - 2, top - 1]
    cases = [(*case, neg) for case in product(edges, edges, [0, top // 2, top - 1]) for neg in (0, 1)]
    cases += [(*rng.integers(0, top, 3, dtype=np.uint64).tolist(), int(rng.integers(2))) for _ in range(100)]
    assert rtl_results(ring, bits, stages, cases) == [ref_result(ring, bits, *case) for case in cases]


@pytest.mark.parametrize("stages", [3, 4, 6])
@pytest.mark.parametrize(("ring", "bits"), LARGE, ids=repr)
def test_a_late_summand_comes_just_when_it_is_added(ring, bits, stages):
    rng = np.random.default_rng(stages)
    top = ring.p if isinstance(ring, PrimeField) else 1 << bits
    cases = [(*rng.integers(0, top, 3, dtype=np.uint64).tolist(), int(rng.integers(2))) for _ in range(40)]
    unit = Arithmetic(ring, bits, stages, late=True)
    assert 2 <= unit.acc_delay < stages
    out = []

    async def bench(ctx):
        for at in range(len(cases) + stages):
            a, b, _, neg = cases[min(at, len(cases) - 1)]
            acc = cases[at - unit.acc_delay][2] if 0 <= at - unit.acc_delay < len(cases) else 0
            for port, value in zip((unit.a, unit.b, unit.acc, unit.neg), (a, b, acc, neg), strict=True):
                ctx.set(port, value)
            if at >= stages:
                out.append(ctx.get(unit.o))
            await ctx.tick()

    simulator = Simulator(unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert out == [ref_result(ring, bits, *case) for case in cases]


def test_where_registers_go():
    assert registers_after(4, 0) == [0, 0, 0, 0]
    assert registers_after(4, 1) == [0, 1, 0, 0]
    assert registers_after(4, 2) == [1, 1, 0, 0]
    assert registers_after(4, 3) == [1, 1, 0, 1]
    assert registers_after(4, 4) == [1, 1, 1, 1]
    assert registers_after(6, 4) == [1, 1, 1, 0, 0, 1]
    assert registers_after(3, 5) == [1, 1, 3]


@pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")
def test_bad_arguments():
    with pytest.raises(ValueError, match="the ring must be one with hardware, not exact"):
        Arithmetic(Exact(), 8, 1)
    with pytest.raises(ValueError, match="the number of stages must be at least 0, not -1"):
        Arithmetic(Modular(8), 8, -1)
    gc.collect()
