"""Responses of stable recurrences, against sums that are known and against long simulations."""

from fractions import Fraction

import numpy as np
from skinny.model.bounds.poles import is_stable, polynomial
from skinny.model.bounds.responses import respond


def test_responses_of_one_pole_are_the_geometric_sum():
    found = respond([[Fraction(9, 10)]], [[Fraction(1, 2)]], [Fraction(-1)], [[Fraction(1)]])
    assert 5 <= found.size[0] < 5.001
    assert -10.001 < found.low[0] <= -10
    assert 0 <= found.high[0] < 0.001


def test_responses_enclose_a_long_float_simulation():
    rng = np.random.default_rng(5)
    for _ in range(20):
        radius, angle = rng.uniform(0.1, 0.99), rng.uniform(0, np.pi)
        a1, a2 = Fraction(round(512 * radius * np.cos(angle)), 256), Fraction(-round(256 * radius**2), 256)
        a = [[a1, a2], [Fraction(1), Fraction(0)]]
        if not is_stable(polynomial(a)):
            continue
        found = respond(a, [[Fraction(1)], [Fraction(0)]], [Fraction(0), Fraction(0)], [[Fraction(1), Fraction(0)]])
        state, total = np.array([1.0, 0.0]), 0.0
        matrix = np.array(a, dtype=float)
        for _ in range(5000):
            total += abs(state[0])
            state = matrix @ state
        assert total <= found.size[0] * (1 + 1e-12) <= total * 1.01
