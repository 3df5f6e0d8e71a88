"""The poles of recurrences, against products of factors whose roots are known."""

from fractions import Fraction

import numpy as np
import pytest
from skinny.model.bounds.poles import blocks, is_growing, is_stable, polynomial
from skinny.model.bounds.responses import respond


def product(*factors: list[Fraction]) -> list[Fraction]:
    out = [Fraction(1)]
    for factor in factors:
        out = [
            sum((out[i] * factor[k - i] for i in range(len(out)) if 0 <= k - i < len(factor)), Fraction(0))
            for k in range(len(out) + len(factor) - 1)
        ]
    return out


INSIDE, OUTSIDE = [Fraction(1), Fraction(-9, 10)], [Fraction(1), Fraction(1001, 1000)]
ROTATION, ONE = [Fraction(1), Fraction(-6, 5), Fraction(1)], [Fraction(1), Fraction(-1)]


@pytest.mark.parametrize(
    ("factors", "stable", "growing"),
    [
        ((INSIDE, INSIDE), True, False),
        ((INSIDE, [Fraction(1), Fraction(0)]), True, False),
        ((INSIDE, ROTATION), False, False),
        ((ROTATION, ROTATION, ONE), False, False),
        ((INSIDE, OUTSIDE), False, True),
        (([Fraction(1), Fraction(-2)], [Fraction(1), Fraction(-1, 2)]), False, True),
        ((ROTATION, [Fraction(1), Fraction(-2)], [Fraction(1), Fraction(-1, 2)]), False, True),
        (([Fraction(1), Fraction(-1) - Fraction(1, 10**30)],), False, True),
    ],
)
def test_roots_are_told_apart_exactly(factors, stable, growing):
    assert is_stable(product(*factors)) is stable
    assert is_growing(product(*factors)) is growing


def test_polynomial_of_a_companion_matrix():
    wanted = product(INSIDE, ROTATION)
    matrix = [
        [-wanted[1], -wanted[2], -wanted[3]],
        [Fraction(1), Fraction(0), Fraction(0)],
        [Fraction(0), Fraction(1), Fraction(0)],
    ]
    assert polynomial(matrix) == wanted
    assert blocks(matrix) == [[0, 1, 2]]


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
