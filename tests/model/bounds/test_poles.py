"""The poles of recurrences, against products of factors whose roots are known."""

from fractions import Fraction

import pytest
from skinny.model.bounds.poles import blocks, is_growing, is_stable, polynomial


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
