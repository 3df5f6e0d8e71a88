"""The polynomials of ``skinny bench precision`` are those that their names say."""

from fractions import Fraction

import numpy as np
import pytest
from skinny.model.formula.parse import parse_formula
from skinny.scripts.bench.precision import chosen_polynomials
from skinny.scripts.bench.precision_polynomials import POLYNOMIALS
from skinny.scripts.bench.precision_text import Text


@pytest.mark.parametrize("polynomial", POLYNOMIALS, ids=lambda polynomial: polynomial.name)
def test_a_polynomial_has_a_range_for_each_input(polynomial):
    text = Text(parse_formula(polynomial.text), polynomial.ranges)
    assert {step.value for step in text.steps if step.kind == "input"} == set(range(len(polynomial.ranges)))


def test_chebyshev_and_legendre_are_what_they_are_called():
    at = Fraction(1, 4)
    values = {p.name: Text(parse_formula(p.text), p.ranges).exact([at])[0] for p in chosen_polynomials("cheb,leg")}
    assert values["Chebyshev T5"] == 16 * at**5 - 20 * at**3 + 5 * at
    assert float(values["Chebyshev T10"]) == pytest.approx(np.cos(10 * np.arccos(0.25)))
    assert values["Legendre P5"] == (63 * at**5 - 70 * at**3 + 15 * at) / 8
    assert float(values["Legendre P10"]) == pytest.approx(np.polynomial.legendre.legval(0.25, [0] * 10 + [1]))


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("heart dipole", -1.36775, 1.74345327935),
        ("caprasse", -3.1800966258, 4.4852773332),
        ("butcher", -1.4393333333, 0.219),
        ("reaction", -36.71269068, 10.40560403),
        ("Lotka-Volterra 3", -9.35, 14.8),
        ("Lotka-Volterra 4", -20.8, 22.8),
        ("magnetism", -0.25, 280),
        ("hunecke", -1436.515078155, 161.120543283),
        ("styblinski", -78.33234, 250),
    ],
)
def test_ranges_are_the_published_ones(name, low, high):
    polynomial = next(p for p in POLYNOMIALS if p.name == name)
    text = Text(parse_formula(polynomial.text), polynomial.ranges)
    assert text.limits[:, text.results[0]].tolist() == pytest.approx([low, high], rel=2e-3, abs=1e-3)
