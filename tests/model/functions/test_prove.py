"""Proofs: the bound is never exceeded by mpmath's values, and is near to the largest of them."""

from fractions import Fraction

import mpmath
import pytest
from skinny.model.formula.parse import parse_formula
from skinny.model.functions.prove import monomials, proven_error, proven_range
from skinny.model.functions.split import split


def tape(text, low, high):
    (part,) = split(parse_formula(text)["y"], {"x": (Fraction(low), Fraction(high))}).parts
    return part.tape


def sampled_error(reference, low, high, chebyshev, points=2000):
    """The largest error on a fine grid, with 50 digits."""
    with mpmath.workdps(50):
        powers = [mpmath.mpf(c.numerator) / c.denominator for c in monomials(chebyshev)]
        worst = mpmath.mpf(0)
        for k in range(points + 1):
            t = mpmath.mpf(2 * k) / points - 1
            x = mpmath.mpf(low) + (t + 1) * (mpmath.mpf(high) - mpmath.mpf(low)) / 2
            worst = max(worst, abs(reference(x) - mpmath.polyval(powers[::-1], t)))
        return worst


def test_monomials_of_chebyshev_polynomials():
    assert monomials([Fraction(0)] * 5 + [Fraction(1)]) == [0, 5, 0, -20, 0, 16]
    assert monomials([Fraction(1), Fraction(2), Fraction(3)]) == [-2, 2, 6]
    assert monomials([Fraction(7)]) == [7]


CASES = [
    ("sin(x)", -2, 2, mpmath.sin, [0, "1.1", 0, "-0.125"]),
    ("exp(x)", 0, 1, mpmath.exp, ["1.7", "0.84", "0.1", "0.01"]),
    ("exp(x)", -4, 4, mpmath.exp, [0]),
    ("log(x)", "0.01", 1, mpmath.log, ["-1.3", "1.5", "-0.6"]),
    ("1/(1 + 25*x^2)", -1, 1, lambda x: 1 / (1 + 25 * x**2), ["0.25", 0, "-0.25"]),
    ("sqrt(x)", 0, 1, mpmath.sqrt, ["0.6366", "0.4244", "-0.0849", "0.03"]),
    ("sqrt(1 - x^2)", -1, 1, lambda x: mpmath.sqrt(1 - x * x), ["0.6366", 0, "-0.4244"]),
    ("erf(x)*tanh(3*x)", -3, 3, lambda x: mpmath.erf(x) * mpmath.tanh(3 * x), ["0.9", 0, "0.1"]),
    ("sin(30*x)", -1, 1, lambda x: mpmath.sin(30 * x), [0, "0.01"]),
]


@pytest.mark.parametrize(("text", "low", "high", "reference", "chebyshev"), CASES)
def test_the_bound_holds_and_is_tight(text, low, high, reference, chebyshev):
    rounded = [Fraction(round(Fraction(c) * 2**30), 2**30) for c in chebyshev]
    bound = proven_error(tape(text, low, high), rounded, Fraction(1, 10**6))
    worst = sampled_error(reference, low, high, rounded)
    assert worst <= mpmath.mpf(bound.numerator) / bound.denominator <= 1.02 * worst


def test_a_wanted_bound_is_proven_more_tightly():
    """Between the error and a percent above it, only what is tight enough can tell."""
    chebyshev = [Fraction(5, 4), Fraction(9, 8), Fraction(1, 4)]
    worst = Fraction(float(sampled_error(mpmath.exp, -1, 1, chebyshev, 20000)))
    exponential = tape("exp(x)", -1, 1)
    wanted = worst * Fraction("1.0005")
    assert worst <= proven_error(exponential, chebyshev, wanted) <= wanted


def test_what_is_not_known_is_none():
    assert proven_error(tape("1/x", -1, 1), [Fraction(0)], Fraction(1)) is None
    assert proven_range(tape("1/x", -1, 1)) is None


def test_a_range_holds_and_is_near():
    low, high = proven_range(tape("x*exp(-x)", 0, 3))
    assert low <= 0 <= low + Fraction(1, 100)
    assert high - Fraction(2, 100) <= Fraction(0.36787944) <= high
