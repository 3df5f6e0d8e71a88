"""Estimate: errors, bits and slopes of small codes, against a model by hand."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from skinny.model.compiler.code import Affine, Code, Instruction
from skinny.model.compiler.estimate import Estimate, sample_points
from skinny.model.compiler.polynomial import Fused

X = Affine(((0, 1),))
START = (0, 1, 0)
BOX = [(Fraction(-1), Fraction(1))]
POINTS = sample_points(BOX)
C = Fraction(3, 10)


def number(value):
    return Affine((), value)


#: R2 = x, R1 = 1 + x·x, R0 = 3/10·R1.
SQUARE = Code.of([Instruction(2, 1, 1, X), Instruction(1, 2, 1, X), Instruction(0, 1, 1, number(C))], START)


def worst(frac):
    """The first-order error of SQUARE over all signs of its two roundings: x·1 is exact, x·x and 3/10·R1 are not."""
    half_step = 2.0 ** -(frac + 1)
    loss = round(0.3 * 2**frac) / 2**frac - 0.3
    return max(
        abs(loss * (1 + x * x) + 0.3 * first * half_step + second * half_step)
        for x in (-1.0, -0.5, 0.0, 0.25, 1.0)
        for first, second in product((-1, 1), repeat=2)
    )


@pytest.mark.parametrize("frac", [1, 4, 7, 11, 20])
def test_the_error_is_the_worst_of_all_signs(frac):
    assert Estimate(SQUARE, POINTS).error(frac) == pytest.approx(worst(frac), rel=1e-9)


def test_error_and_bits_by_hand():
    estimate = Estimate(SQUARE, POINTS)
    # Four fraction bits: 3/10 becomes 5/16, which is 0.0125 too much, times 2; and 1.3 roundings of 1/32.
    assert estimate.error(4) == pytest.approx(0.025 + 1.3 / 32, rel=1e-12)
    assert (estimate.largest, estimate.given) == (2.0, 1.0)
    # 2.07 is read, so there are a sign, two whole bits and four behind the point.
    assert estimate.bits(4) == 7


@pytest.mark.parametrize(("value", "frac", "bits"), [(1, 3, 5), (3, 0, 3), (4, 0, 4), (7, 2, 6), (100, 8, 16)])
def test_bits_of_a_whole_constant(value, frac, bits):
    estimate = Estimate(Code.of([Instruction(0, 1, 1, number(value))], START), POINTS)
    assert estimate.error(frac) == 0
    assert estimate.bits(frac) == bits


def test_products_with_whole_numbers_are_exact():
    codes = [
        [Instruction(2, 1, 1, X), Instruction(0, 2, 1, number(3))],
        [Instruction(2, 1, 1, number(5)), Instruction(0, 2, -1, X)],
    ]
    for code in codes:
        assert Estimate(Code.of(code, START), POINTS).error(6) == 0
    rounded = [Instruction(2, 1, 1, X), Instruction(0, 2, 1, number(Fraction(1, 2)))]
    assert Estimate(Code.of(rounded, START), POINTS).error(6) == 2.0**-7


def test_what_is_added_and_taken_away_cancels():
    start = Instruction(2, 1, 1, X)
    add, take = Instruction(0, 2, 1, number(C)), Instruction(0, 2, -1, number(C))
    copy = Instruction(0, 2, 1, number(1))
    assert Estimate(Code.of([start, add, copy, take], START), POINTS).error(5) == 0
    assert Estimate(Code.of([start, add, copy], START), POINTS).error(5) > 2.0**-6


def test_what_never_reaches_the_output_does_not_count():
    dead = Instruction(1, 2, 1, number(C))
    code = Code.of([Instruction(2, 1, 1, X), Instruction(0, 2, 1, number(1)), dead], START)
    assert Estimate(code, POINTS).error(5) == 0


def test_slopes_are_derivatives():
    # The derivative of 3/10·(1 + x²) is 6/10·x.
    assert Estimate(SQUARE, POINTS).slope() == pytest.approx(0.6, rel=1e-12)
    # y = (2a - 3b + 1)·a has the derivatives 4a - 3b + 1 and -3a: at a = b = -1 they are 0 + 3, at a = 1, b = -1 8 + 3.
    form = Affine(((0, 2), (1, -3)), 1)
    code = Code.of([Instruction(2, 1, 1, X), Instruction(0, 2, 1, form)], START)
    assert Estimate(code, sample_points(BOX * 2)).slope() == pytest.approx(11, rel=1e-12)


@pytest.mark.parametrize("count", [1, 2, 5, 9])
def test_sample_points_lie_in_the_box(count):
    box = [(Fraction(-u), Fraction(2 * u + 1)) for u in range(count)]
    points = sample_points(box)
    assert points.shape[0] == count
    for u, (low, high) in enumerate(box):
        assert (points[u].min(), points[u].max()) == (low, high)
    if count < 6:
        seen = {tuple(column) for column in points.T.tolist()}
        assert {tuple(map(float, corner)) for corner in product(*box)} <= seen
    assert np.array_equal(points, sample_points(box))


def test_what_is_too_large_for_a_float_needs_more_than_any_word():
    large, fraction = number(Fraction(10) ** 200), number(C)
    scalars = [(2, 1, large), (0, 2, large), (2, 0, fraction), (0, 2, fraction)]
    for last in (1, -1):  # with -1 the output is infinity less infinity
        steps = [Instruction(dst, src, 1, scalar) for dst, src, scalar in scalars]
        found = Estimate(Code.of([*steps, Instruction(0, 2, last, X)], START), POINTS)
        assert found.largest == found.error(3) == np.inf
        assert found.bits(3) > 1000


@pytest.mark.parametrize(("factor", "bits"), [(Fraction(1, 16), 8), (1, 9), (8, 12)])
def test_the_word_of_a_named_weight_holds_it_times_its_constant(factor, bits):
    """A weight up to 3 times an input up to 1/16: with 6 fraction bits 3/16 needs no more than one does, 3 one bit
    more, 24 four."""
    points = np.array([[0.0, 1 / 16], [1.0, 3.0], [0.0, 3 / 16]])
    code = Code.of([Instruction(0, 1, 1, Affine(((Fused(2), factor),)))], START)
    assert Estimate(code, points, {1: 3.0, 2: 3.0}).bits(6) == bits
