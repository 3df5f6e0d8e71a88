"""The text as written is computed as an engineer would by hand, and the worst error is found."""

from fractions import Fraction

import numpy as np
import pytest
from skinny.model.formula.parse import parse_formula
from skinny.scripts.bench.precision_text import Text, worst_point


def text_of(formula, **ranges):
    return Text(parse_formula(formula), {name: tuple(map(Fraction, ends)) for name, ends in ranges.items()})


def rounded(product):
    """A product of 8 fraction bits twice, brought back, half up."""
    return (product + 128) // 256


def test_the_text_is_computed_as_an_engineer_would_write_it():
    text = text_of("let s = x*x; y = 1 - 0.7*s*x + s/3 + x^6", x=(-1, 1))
    for x in range(-256, 257):
        s = rounded(x * x)
        term = rounded(rounded(179 * s) * x)
        third = (2 * s + 3) // 6
        cube = rounded(s * x)
        expected = 256 - term + third + rounded(cube * cube)
        assert text.fixed([x], 8)[text.results[0]] == expected


def test_the_exact_value_is_that_of_the_formula():
    text = text_of("let s = x*x; y = 1 - 0.7*s*x + s/3 + x^6", x=(-1, 1))
    x = Fraction(77, 256)
    assert text.exact([Fraction(77, 256)]) == [1 - Fraction(7, 10) * x**3 + x**2 / 3 + x**6]


@pytest.mark.parametrize(
    ("formula", "frac"),
    [
        ("x", 14),
        ("0.9*x*x", 14),
        ("5*x", 12),  # the constant
        ("x + x + x - x - x", 13),  # a sum on the way
        ("x*x*(3*x)", 13),  # an inner value
        ("100000*x", None),
        ("32767*x", 0),
        ("4*(x - x*x)", 12),  # the least word, -8
    ],
)
def test_the_most_fraction_bits_that_fit(formula, frac):
    assert text_of(formula, x=(-1, 1)).best_frac(16) == frac


def test_an_extreme_inside_the_box_counts():
    # It is 2 at 1, and 0 at the ends of the box.
    assert text_of("x*(2 - x)*2", x=(0, 2)).best_frac(16) == 13


def test_the_worst_error_of_a_product_is_half_a_step():
    assert text_of("x*y", x=(-1, 1), y=(-1, 1)).error(12) == 2.0**-13


def test_few_points_are_all_tried():
    found = worst_point(lambda points: (points == [77, 155]).all(axis=1), [(-100, 200), (0, 400)])
    assert found.tolist() == [77, 155]


def test_climbing_finds_a_narrow_peak():
    peak = np.array([123_456, -654_321, 77])
    box = [(-1_000_000, 1_000_000)] * 3
    found = worst_point(lambda points: -np.abs(points - peak).sum(axis=1).astype(float), box)
    assert np.abs(found - peak).max() <= 1
