"""Univariate: polynomials in the bases of three-term recurrences, and the codes that run these."""

from fractions import Fraction
from itertools import product

import pytest
from skinny.model.compiler.code import Affine
from skinny.model.compiler.passes.univariate import coordinates, in_one_form, recurrence, recurrences

X = Affine(((0, 1),))
START = (0, 1, 0)
HALF = Fraction(1, 2)
POINTS = [Fraction(-3), Fraction(-2, 7), Fraction(0), Fraction(5, 11), Fraction(4)]
#: A few polynomials, the constant coefficient first.
POLYNOMIALS = [
    [0, 0, 1],
    [3, -1, 2],
    [1, 0, -4, 0, 5],
    [Fraction(2, 3), Fraction(-1, 5), 0, Fraction(7, 2)],
    [0, 1, 0, Fraction(-1, 6), 0, Fraction(1, 120)],
]


def horner(coefficients, x):
    total = Fraction(0)
    for c in reversed(coefficients):
        total = total * x + c
    return total


def basis_at(x, signs, first, unit_top):
    """The values of the basis at a point: every element is the one before the last, plus or minus x times the last."""
    values = [Fraction(1), signs[0] * first * x]
    for n, sign in enumerate(signs[1:], 2):
        older = 0 if unit_top and n == len(signs) else values[-2]
        values.append(older + sign * x * values[-1])
    return values


def chebyshev(n):
    """The coefficients of T_n, by ``T_(n+1) = 2x·T_n - T_(n-1)``."""
    before, last = [1], [0, 1]
    for _ in range(n - 1):
        after = [0, *(2 * c for c in last)]
        for power, c in enumerate(before):
            after[power] -= c
        before, last = last, after
    return last


@pytest.mark.parametrize("first", [1, HALF])
@pytest.mark.parametrize("unit_top", [False, True])
@pytest.mark.parametrize("polynomial", POLYNOMIALS, ids=str)
def test_coordinates_give_the_polynomial_back(polynomial, unit_top, first):
    for signs in product((1, -1), repeat=len(polynomial) - 1):
        weights = coordinates(polynomial, signs, unit_top, first)
        for x in POINTS:
            basis = basis_at(x, signs, first, unit_top)
            assert sum(w * p for w, p in zip(weights, basis, strict=True)) == horner(polynomial, x)


def test_coordinates_by_hand():
    # With signs + and -: p = 1, x, 1 - x², so that x² = p_0 - p_2.
    assert coordinates([0, 0, 1], (1, -1), False) == [1, 0, -1]
    assert coordinates([0, 0, 1], (1, -1), True) == [0, 0, -1]
    # When the first step is half as large: p = 1, x/2, 1 - x²/2.
    assert coordinates([0, 0, 1], (1, -1), False, HALF) == [2, 0, -2]


@pytest.mark.parametrize("form", [X, Affine(((0, 3),), -2), Affine(((0, HALF), (1, -2)), Fraction(1, 3))], ids=str)
@pytest.mark.parametrize("polynomial", POLYNOMIALS, ids=str)
def test_codes_compute_the_polynomial(blocks, polynomial, form):
    ends = Fraction(-7, 2), Fraction(9)
    codes = [*recurrences(form, polynomial, ends, START)]
    assert len(codes) >= 10
    for code in [*codes, recurrence(form, polynomial, START, True), recurrence(form, polynomial, START, False)]:
        assert len(code) <= 2 * (len(polynomial) - 1) + 1
        for x in POINTS:
            point = [x, x / 3 + 1]
            inner = form.bias + sum(c * point[u] for u, c in form.terms)
            wanted = horner(polynomial, inner)
            assert blocks.run(code.instructions(), point, START)[code.output] == wanted


@pytest.mark.parametrize("n", range(2, 13))
def test_chebyshev_polynomials_are_short(blocks, n):
    code = recurrence(X, chebyshev(n), START, True)
    assert code.cycles <= n + 2
    assert blocks.run(code.instructions(), [Fraction(3, 7)], START)[code.output] == horner(chebyshev(n), Fraction(3, 7))


@pytest.mark.parametrize("n", [4, 10])
def test_one_of_the_codes_keeps_chebyshev_small(blocks, n):
    """Between -1 and 1 every register of some code stays there, as T_n itself does."""
    grid = [Fraction(k, 8) for k in range(-8, 9)]

    def largest(code):
        steps = code.instructions()
        return max(abs(r) for k in range(len(steps) + 1) for x in grid for r in blocks.run(steps[:k], [x], START))

    assert min(map(largest, recurrences(X, chebyshev(n), (Fraction(-1), Fraction(1)), START))) == 1


def test_a_box_of_one_point(blocks):
    codes = [*recurrences(X, [3, -1, 2], (Fraction(2), Fraction(2)), START)]
    assert codes
    assert all(blocks.run(code.instructions(), [Fraction(2)], START)[code.output] == 9 for code in codes)


@pytest.mark.parametrize(
    ("text", "form", "coefficients"),
    [
        ("y = 3*x^2 - x + 5", X, [5, -1, 3]),
        ("y = 2*(a + 3*b)^3 + 4", Affine(((0, 1), (1, 3))), [4, 0, 0, 2]),
    ],
)
def test_in_one_form(blocks, text, form, coefficients):
    table, polynomial = blocks.polynomial_of(text)
    assert in_one_form(polynomial, table.sums, len(table.names)) == (form, coefficients)


@pytest.mark.parametrize("text", ["y = a*b", "y = a + 2*b", "y = a^2 + b", "y = a^2 + b^2"])
def test_not_in_one_form(blocks, text):
    table, polynomial = blocks.polynomial_of(text)
    assert in_one_form(polynomial, table.sums, len(table.names)) is None


@pytest.mark.parametrize("power", range(2, 8))
def test_a_formula_over_the_integers_stays_one(power):
    """Twice the form would be shorter here: 8·a^6 = (2·a)^6/8."""
    code = recurrence(Affine(((0, 1),)), [0] * power + [2 ** (power - 1) - 1 + power % 2], (0, 1, 0), True)
    numbers = [c for scalar in code.scalars for c in (scalar.bias, *(c for _, c in scalar.terms))]
    assert all(Fraction(number).denominator == 1 for number in numbers)
