"""Intervals: exact rational results lie inside, and what cannot be known is not a number."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skinny.model.functions.interval import Interval, around, around_number, dot, point_function

FLOATS = st.floats(-1e6, 1e6, allow_subnormal=False)
PAIRS = st.tuples(FLOATS, FLOATS).map(sorted)


def interval(*pairs):
    return Interval(*(np.array(side, dtype=float) for side in zip(*pairs, strict=True)))


def inside(value, found):
    return Fraction(float(found.low[0])) <= value <= Fraction(float(found.high[0]))


@given(PAIRS, PAIRS, st.integers(0, 1), st.integers(0, 1))
def test_sums_and_products_of_ends_lie_inside(one, other, i, j):
    a, b = Fraction(one[i]), Fraction(other[j])
    left, right = interval(one), interval(other)
    assert inside(a + b, left + right)
    assert inside(a - b, left - right)
    assert inside(a * b, left * right)
    assert inside(-a, -left)
    assert left.magnitude()[0] >= abs(one[i])


@given(PAIRS.filter(lambda pair: pair[0] > 0 or pair[1] < 0), st.integers(0, 1))
def test_inverses_lie_inside(pair, i):
    assert inside(1 / Fraction(pair[i]), interval(pair).inverse())


@given(st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)).map(sorted), st.integers(0, 1))
def test_roots_lie_inside(pair, i):
    root = interval(pair).sqrt()
    assert Fraction(float(root.low[0])) ** 2 <= Fraction(pair[i]) <= Fraction(float(root.high[0])) ** 2


@given(st.lists(st.tuples(FLOATS, FLOATS), min_size=1, max_size=20))
def test_dot_products_lie_inside(pairs):
    left, right = (interval(*((x, x) for x in side)) for side in zip(*pairs, strict=True))
    exact = sum((Fraction(a) * Fraction(b) for a, b in pairs), Fraction(0))
    found = dot(left[:, None], right[:, None])
    assert inside(exact, found)


@pytest.mark.parametrize("sign", [-1, 1])
def test_what_a_sum_rounds_away_counts(sign):
    """Two hundred numbers that are each too small to change one."""
    column = sign * np.array([1.0] + [2.0**-54] * 200)
    left = Interval(np.column_stack([column] * 2), np.column_stack([column] * 2))
    exact = sign * (1 + 200 * Fraction(1, 2**54))
    assert inside(exact, dot(left, Interval(np.ones((201, 2)), np.ones((201, 2)))))


def test_fractions_lie_inside_neighbours():
    found = around([1, -2], 3)
    assert Fraction(float(found.low[0])) < Fraction(1, 3) < Fraction(float(found.high[0]))
    assert Fraction(float(found.low[1])) < Fraction(-2, 3) < Fraction(float(found.high[1]))
    assert inside(Fraction(1, 10), around_number(Fraction(1, 10)))


@pytest.mark.parametrize("pair", [(-1.0, 1.0), (0.0, 1.0), (-1.0, 0.0)])
def test_nothing_is_known_of_an_inverse_across_zero(pair):
    with np.errstate(all="ignore"):
        assert np.isnan(interval(pair).inverse().low[0])


def test_the_root_of_what_is_below_zero():
    with np.errstate(all="ignore"):
        assert np.isnan(interval((-2.0, -1.0)).sqrt().low[0])
        found = interval((-1.0, 4.0)).sqrt()
    assert found.low[0] == 0
    assert 2 <= found.high[0] < 2.0000001


@pytest.mark.parametrize(
    ("name", "pair", "expected"),
    [
        ("sin", (0.0, 3.0), (0.0, 1.0)),
        ("sin", (2.0, 5.0), (-1.0, np.sin(2.0))),
        ("cos", (-1.0, 0.5), (np.cos(1.0), 1.0)),
        ("cos", (0.5, 1.0), (np.cos(1.0), np.cos(0.5))),
        ("cos", (3.0, 3.5), (-1.0, np.cos(3.5))),
        ("exp", (-1.0, 1.0), (np.exp(-1.0), np.exp(1.0))),
        ("log", (1.0, 2.0), (0.0, np.log(2.0))),
        ("log", (0.0, 2.0), (np.nan, np.nan)),
        ("erf", (-np.inf, 2.0), (np.nan, np.nan)),
    ],
)
def test_functions_of_intervals(name, pair, expected):
    found = point_function(name, interval(pair))
    np.testing.assert_allclose([found.low[0], found.high[0]], expected, atol=1e-15)
    assert np.isnan(expected[0]) or (found.low[0] <= expected[0] + 1e-300 and found.high[0] >= expected[1] - 1e-300)
