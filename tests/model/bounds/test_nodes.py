"""Bounds from values at nodes, against polynomials that are known and runs in plain integers."""

import random
from fractions import Fraction

import numpy as np
import pytest
from skinny.model.bounds import nodes as nodes_module
from skinny.model.bounds.analysis import Analysis
from skinny.model.bounds.bounds import bound
from skinny.model.bounds.nodes import Nodes
from skinny.model.program.forms import Input, Linear, Weight
from skinny.model.program.program import Output
from skinny.model.rings import FixedPoint


def only_nodes(monkeypatch):
    """Refuse the other analyses, so that it is seen that they are not needed."""

    def refuse(*_):
        raise AssertionError("the values at nodes were not enough")

    monkeypatch.setattr(Analysis, "_run", refuse)


def chebyshev(reference, degree):
    """``R2 -= 2x·R1; R1 += 2x·R2; …``: the registers are ±U_k(x), and the last step takes ``x`` alone, for ±T_n."""
    code = [(2 - k % 2, 1 + k % 2, 1 if k % 2 else -1, 0) for k in range(degree - 1)]
    last = degree - 1
    code.append((2 - last % 2, 1 + last % 2, 1 if last % 2 else -1, 1))
    outputs = (Output("y", 2 - last % 2, degree),)
    return reference.program_of(code, "x", [Fraction(2)], [Linear(((0, 0),)), Input(0)], outputs=outputs)


@pytest.mark.parametrize("degree", [5, 10, 40])
def test_well_conditioned_recurrences_have_tight_ranges(reference, monkeypatch, degree):
    """|U_k| <= k + 1 and |T_n| <= 1, where sums of monomials are up to (1 + √2)^n."""
    only_nodes(monkeypatch)
    found = bound(chebyshev(reference, degree), FixedPoint(32, 24), [(-1, 1)])
    sizes = np.maximum(-found.low, found.high)
    assert sizes[:-1] == pytest.approx([k + 2 for k in range(degree - 1)], rel=2e-2)
    assert sizes[-1] == pytest.approx(1, rel=2e-2)


def test_chebyshev_ten_is_safe_with_27_fraction_bits(reference):
    found = bound(chebyshev(reference, 10), FixedPoint(32, 27), [(-1, 1)])
    assert found.safe
    assert not bound(chebyshev(reference, 10), FixedPoint(32, 28), [(-1, 1)]).safe


@pytest.mark.parametrize("first", [2_000_000, 3_000])
@pytest.mark.parametrize("loss", [2.0**-50, 2.0**-20])
def test_never_exceeded(reference, monkeypatch, first, loss):
    """With many nodes and with few, in floats and, where these are said to lose much, in whole numbers."""
    monkeypatch.setattr(nodes_module, "_FIRST_WORK", first)
    monkeypatch.setattr(nodes_module, "_FLOAT_LOSS", loss)
    for seed in range(12):
        rng = random.Random(seed)
        program, frac = reference.random_program(rng, rng.randint(4, 16)), rng.randint(2, 8)
        ends = [sorted(Fraction(rng.randint(-12, 12), 8) for _ in range(2)) for _ in program.inputs]
        found = bound(program, FixedPoint(32, frac), ends)
        for raw in reference.some_inputs(rng, reference.raw_box(FixedPoint(32, frac), ends), 40):
            reference.assert_within(program, found, frac, raw)


def test_errors_are_those_of_the_worst_place(reference, monkeypatch):
    """``x·(1 - x)·z²``: each rounding counts with what it is multiplied with afterwards, at the place that is worst."""
    only_nodes(monkeypatch)
    forms = [Input(0), Linear(((1, 0),), 0), Input(1)]
    code = [(2, 1, 1, 2), (0, 2, 1, 2), (3, 0, 1, 0), (4, 3, 1, 1)]
    outputs = (Output("y", 4, 4),)
    program = reference.program_of(code, "xz", [Fraction(1), Fraction(-1)], forms, width=5, outputs=outputs)
    found = bound(program, FixedPoint(24, 10), [(0, 1), (-1, 1)])
    # Half a step each from z², x·z² and the last product: x(1-x) + (1-x) + 1 times, which is largest at 0.
    x = np.linspace(0, 1, 10_001)
    worst = float((x * (1 - x) + (1 - x) + 1).max()) / 2**11
    assert worst <= found.errors["y"] <= 1.03 * worst


def test_errors_between_the_nodes_count(reference, monkeypatch):
    """``x²·(1 - x)·(1 + 2x)``, with no more than the first few nodes: the error is largest between two of them."""
    only_nodes(monkeypatch)
    monkeypatch.setattr(nodes_module, "_DENSITIES", ((2, 1.0),))
    monkeypatch.setattr(nodes_module, "_LATER_WORK", 0)
    forms = [Input(0), Linear(((1, 0),), 0), Linear(((2, 0),), 0)]
    code = [(2, 1, 1, 0), (0, 2, 1, 0), (3, 0, 1, 1), (4, 3, 1, 2)]
    weights = [Fraction(1), Fraction(-1), Fraction(2)]
    program = reference.program_of(code, "x", weights, forms, width=5, outputs=(Output("y", 4, 4),))
    found = bound(program, FixedPoint(24, 10), [(0, 1)])
    # Half a step each from x², from x²·(1-x) and from the last product.
    x = np.linspace(0, 1, 10_001)
    worst = float(((1 - x) * (1 + 2 * x) + (1 + 2 * x) + 1).max()) / 2**11
    assert worst <= found.errors["y"] <= 1.5 * worst


def test_the_largest_error_is_found_among_many_peaks(reference, monkeypatch):
    """Products of seven forms: each rounding counts with the forms behind it, and the sum has peaks everywhere. The
    first nodes are few; the refinement must keep the right ones and halve gaps no further than they are halved."""
    only_nodes(monkeypatch)
    monkeypatch.setattr(nodes_module, "_DENSITIES", ((2, 1.0),))
    monkeypatch.setattr(nodes_module, "_CLOSE", 1.0005)
    x = np.linspace(-1, 1, 20_001)
    registers = [1, 2, 0, 3, 4, 5, 6, 7]
    code = [(registers[k + 1], registers[k], 1, k) for k in range(7)]
    for seed in range(16):
        rng = random.Random(seed)
        ends = [(rng.choice([-2, -1, 1, 2]), Fraction(rng.randint(-12, 12), 8)) for _ in range(7)]
        weights = [Fraction(number) for pair in ends for number in pair]
        forms = [Linear(((2 * k, 0),), 2 * k + 1) for k in range(7)]
        program = reference.program_of(code, "x", weights, forms, width=8, outputs=(Output("y", 7, 7),))
        found = bound(program, FixedPoint(32, 10), [(-1, 1)])
        # The first form is multiplied with one, and nothing is rounded.
        factor, total = np.ones_like(x), np.zeros_like(x)
        for slope, level in reversed(ends[1:]):
            total += np.abs(factor)
            factor = factor * (slope * x + float(level))
        assert float(total.max()) / 2**11 <= found.errors["y"] <= 1.002 * float(total.max()) / 2**11


@pytest.mark.parametrize(
    "roots",
    [
        [-2, 64, 37, -57, 7],
        [39, 57, -57, 40, 30],
        [16, -35, -67, -5, 58],
        [53, -28, -57, 56],
        [-66, 63, -40],
    ],
)
def test_peaks_between_nodes_are_not_missed(reference, monkeypatch, roots):
    """Products of forms with these roots (in 64ths), whose errors are largest between the first nodes, where others
    that are a little lower are nearer to a node. If too many nodes were left out, a gap were taken for halved twice or
    the nodes were not moved far enough, then some of these errors would exceed their bound."""
    only_nodes(monkeypatch)
    monkeypatch.setattr(nodes_module, "_DENSITIES", ((2, 1.0),))
    count = len(roots) + 1
    weights = [Fraction(1), Fraction(0), *(value for root in roots for value in (Fraction(4), Fraction(-root, 16)))]
    forms = [Linear(((2 * k, 0),), 2 * k + 1) for k in range(count)]
    registers = [1, 2, 0, *range(3, count + 1)]
    code = [(registers[k + 1], registers[k], 1, k) for k in range(count)]
    program = reference.program_of(
        code, "x", weights, forms, width=count + 1, outputs=(Output("y", registers[count], count),)
    )
    x = np.cos(np.linspace(0, np.pi, 20_001))
    factor, total = np.ones_like(x), np.zeros_like(x)
    for root in reversed(roots):
        total += np.abs(factor)
        factor = factor * (4 * x - root / 16)
    worst = float(total.max()) / 2**11
    assert worst <= bound(program, FixedPoint(32, 10), [(-1, 1)]).errors["y"] <= 1.021 * worst


@pytest.mark.parametrize("seed", range(8))
def test_sums_in_floats_are_not_rounded_below_the_error(reference, monkeypatch, seed):
    """``x·y`` times three weights, all roundings counted in fractions: with no gaps between nodes and whole numbers for
    the derivatives nothing but the growth factor covers what the floats lose that add up the error."""
    only_nodes(monkeypatch)
    monkeypatch.setattr(nodes_module, "_FLOAT_LOSS", 1.0)
    rng = random.Random(seed)
    weights = [Fraction(rng.randrange(1 << 22, 1 << 24) | 1, 1 << 24) for _ in range(3)]
    forms = [Input(0), Input(1), Weight(0), Weight(1), Weight(2)]
    code = [(2, 1, 1, 0), (3, 2, 1, 1), (4, 3, 1, 2), (5, 4, 1, 3), (0, 5, 1, 4)]
    program = reference.program_of(code, "xy", weights, forms, width=6, outputs=(Output("y", 0, 5),))
    found = bound(program, FixedPoint(32, 24), [(-1, 1), (-1, 1)])
    # Half a step each after x·y and after each weight, times the weights behind it.
    exact = (weights[0] * weights[1] * weights[2] + weights[1] * weights[2] + weights[2] + 1) / (1 << 25)
    assert exact <= Fraction(found.errors["y"]) <= exact * (1 + Fraction(1, 10**6))


def test_the_factor_of_riesz():
    """Of degrees 3 and 1 with half gaps of 0.2 and 0.1, cos(0.6)·cos(0.1); beyond a right angle nothing is known."""
    assert Nodes._cosine(None, [3, 1], [0.2, 0.1]) == pytest.approx(0.8253356149096783 * 0.9950041652780258)
    assert Nodes._cosine(None, [3], [0.6]) == pytest.approx(0.0, abs=1e-12)


def test_many_variables_are_left_to_the_other_analyses(reference):
    rng = random.Random(5)
    program = reference.polynomial_program(rng, 20, inputs=20)
    analysis = Analysis(program, FixedPoint(32, 10), [(-1, 1)] * 20)
    assert np.isfinite(analysis.errors["y"])
    assert analysis.first_overflow(32) is None


def test_weights_that_are_rounded_count(reference, monkeypatch):
    only_nodes(monkeypatch)
    scaled = reference.program_of([(2, 1, 1, 0), (0, 2, 1, 1)], "x", [Fraction(1, 3)], [Input(0), Weight(0)])
    found = bound(scaled, FixedPoint(16, 4), [(-2, 2)])
    # 5/16 for 1/3 at x = 2, and half a step.
    assert found.errors["y"] == pytest.approx(2 / 48 + 1 / 32, rel=1e-6)
