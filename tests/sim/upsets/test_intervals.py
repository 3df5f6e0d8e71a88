"""Confidence intervals: each bound is where the exact binomial tail has the stated probability."""

from fractions import Fraction
from math import comb

import pytest
from skinny.sim.upsets.intervals import interval


def tail(hits, count, p):
    """The probability of at least ``hits`` hits, exactly."""
    p = Fraction(p)
    return float(sum(comb(count, n) * p**n * (1 - p) ** (count - n) for n in range(hits, count + 1)))


@pytest.mark.parametrize(("hits", "count"), [(0, 1), (1, 1), (0, 40), (1, 40), (7, 40), (20, 40), (39, 40), (40, 40)])
@pytest.mark.parametrize("confidence", [0.95, 0.5])
def test_bounds_are_where_the_tails_say(hits, count, confidence):
    low, high = interval(hits, count, confidence)
    rest = (1 - confidence) / 2
    assert low == 0 if hits == 0 else abs(tail(hits, count, low) - rest) < 1e-9
    assert high == 1 if hits == count else abs(1 - tail(hits + 1, count, high) - rest) < 1e-9


def test_known_values():
    # None in n: the bound is 1 - 0.025^(1/n).
    assert interval(0, 100_000)[1] == pytest.approx(1 - 0.025 ** (1 / 100_000), rel=1e-9)
    assert interval(50_000, 100_000) == pytest.approx((0.4968957, 0.5031043), abs=1e-6)
    assert interval(0, 0) == (0, 1)
