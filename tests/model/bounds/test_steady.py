"""Ranges at all times, against sums of geometric series."""

from fractions import Fraction

import numpy as np
import pytest
from skinny.model.bounds.steady import System, find_ranges

S, T, X = 1, 2, 3
UNBOUNDED = (-np.inf, np.inf)


def system(s, t, start=(0, 0), middle=0, radius=1):
    """Two states and one input; ``s`` and ``t`` are what the states are after a sample."""
    after = {S: s, T: t}
    forms = {state: {symbol: Fraction(c) for symbol, c in form.items()} for state, form in after.items()}
    begun = {S: Fraction(start[0]), T: Fraction(start[1])}
    return System(forms, begun, {X: Fraction(middle)}, {X: Fraction(radius)})


def rows(*forms):
    return [{symbol: Fraction(c) for symbol, c in form.items()} for form in forms]


def test_a_sum_of_all_samples_that_fade():
    """``s <- s/2 + x`` stays below 2, and ``t <- t/4 + s`` below 2·4/3; ``s - x`` has no words in common."""
    found = find_ranges(system({S: "1/2", X: 1}, {T: "1/4", S: 1}), rows({S: 1}, {T: 1}, {S: 1, X: -1}, {S: 3, 0: 7}))
    assert found.reason is None
    expected = [(-2, 2), (-8 / 3, 8 / 3), (-3, 3), (1, 13)]
    for (low, high), (least, most) in zip(found.ranges, expected, strict=True):
        assert low <= least
        assert most <= high
        assert (low, high) == pytest.approx((least, most), rel=1e-6)


def test_the_way_from_the_start_to_the_middle_counts():
    """``s <- s/2 + x`` with x from 2 to 4 goes from 20 down to where it stays, between 4 and 8, and never up."""
    found = find_ranges(system({S: "1/2", X: 1}, {}, start=(20, 0), middle=3), rows({S: 1}))
    ((low, high),) = found.ranges
    assert 3.9 <= low <= 4
    assert 20 <= high <= 22.1


@pytest.mark.parametrize(
    ("pole", "reason"),
    [(2, "grows without bound: pole at 2"), (1, "no bound proven: pole on the unit circle at 1")],
)
def test_only_what_depends_on_a_bad_pole_is_lost(pole, reason):
    found = find_ranges(system({S: pole, X: 1}, {T: "1/2", X: 1}), rows({S: 1}, {T: 1}))
    assert found.reason.startswith(reason)
    assert found.ranges[0] == UNBOUNDED
    assert found.ranges[1] == pytest.approx((-2, 2), rel=1e-6)
    fed = find_ranges(system({S: pole, X: 1}, {T: "1/2", S: 1}), rows({T: 1}))
    assert fed.ranges == [UNBOUNDED]


def test_a_state_that_nothing_moves_is_a_constant():
    found = find_ranges(system({S: 1}, {T: "1/2", S: 1}, start=(5, 10)), rows({S: 1}, {T: 1}))
    assert found.reason is None
    assert found.ranges[0] == pytest.approx((5, 5))
    assert found.ranges[1] == pytest.approx((10, 10))


def test_a_start_alone_moves_a_state():
    """``s <- s/2`` falls from 8 to zero without any input."""
    ((low, high),) = find_ranges(system({S: "1/2"}, {}, start=(8, 0)), rows({S: 1})).ranges
    assert low <= 1e-6
    assert 8 <= high <= 8 + 1e-6
