"""One part: degrees, rounding, and what callables and tables allow."""

import math
from fractions import Fraction

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.formula.formula import variables
from skinny.model.formula.function import Sampled, apply
from skinny.model.functions.part import HIGHEST_DEGREE, Search
from skinny.model.functions.split import split

(x,) = variables("x")


def search(formula, low=-1, high=1):
    (part,) = split(formula, {"x": (Fraction(low), Fraction(high))}).parts
    return Search(part)


def table(function, count, low=0, high=1):
    return Sampled([(v, function(v)) for v in np.linspace(low, high, count).tolist()])


def test_the_least_degree_is_found():
    """Minimax errors of exp on -1:1 for degrees 2 to 4: 0.045, 0.0055, 0.00055."""
    found = search(apply("exp", x))
    assert [found.degree(error) for error in (0.046, 0.044, 0.0056, 0.0054, 0.00056, 0.00054)] == [2, 3, 3, 4, 4, 5]
    assert found.degree(1.0, least=6) == 6
    assert search(apply("sin", 100 * x)).degree(0.01) is None


def test_even_and_odd_parts_stay_so():
    odd = search(apply("sin", x)).polynomial(7, Fraction(1, 10**5))
    even = search(apply("cos", 3 * x)).polynomial(8, Fraction(1, 10**3))
    assert set(odd.chebyshev[0::2]) == {0}
    assert set(even.chebyshev[1::2]) == {0}
    assert (odd.degree, even.degree) == (7, 8)


def test_coefficients_are_short():
    found = search(apply("exp", x)).polynomial(5, Fraction(1, 10**4))
    assert max(c.denominator for c in found.chebyshev) <= 2**28
    assert found.error < Fraction("4.6e-5")


def test_a_callable_is_sampled():
    found = search(Sampled(lambda v: math.exp(-v * v))(x))
    polynomial = found.polynomial(found.degree(1e-3), Fraction(1, 1000))
    assert not polynomial.proven
    assert 0 < polynomial.error <= Fraction("0.00101")


def test_a_table_is_met_at_its_points():
    found = search(table(math.exp, 40)(x), 0, 1)
    polynomial = found.polynomial(found.degree(1e-3), Fraction(1, 1000))
    assert (polynomial.degree, polynomial.proven, len(found.points)) == (3, False, 40)
    assert polynomial.error < Fraction(1, 1000)


@pytest.mark.parametrize(("count", "degree"), [(3, 1), (4, 2), (9, 6), (25, 10), (1000, HIGHEST_DEGREE)])
def test_few_points_allow_low_degrees_only(count, degree):
    assert search(table(math.exp, count)(x), 0, 1).highest == degree


@pytest.mark.parametrize(
    ("formula", "low", "high", "message"),
    [
        (table(math.exp, 9)(x), 0, 2, "table has points from 0 to 1, and its argument goes from 0 to 2 on this box"),
        (
            table(math.exp, 9)(2 * x),
            0,
            1,
            "table has points from 0 to 1, and its argument goes from 0 to 2 on this box",
        ),
        (table(math.exp, 9)(x), 0.5, 0.7, "table has 2 points on this box: at least 3 are needed"),
        (
            table(math.exp, 9)(x * x),
            0,
            1,
            "the argument of table, x*x, must be one affine form of the inputs, such as ",
        ),
        (
            table(math.exp, 9)(x) + table(math.sin, 8)(x),
            0,
            1,
            "table(x) + table(x) has two tables with different points",
        ),
    ],
)
def test_a_table_that_does_not_fit_is_refused(formula, low, high, message):
    with pytest.raises(InputError) as caught:
        search(formula, low, high)
    assert str(caught.value).startswith(message)


def test_tables_with_the_same_points_go_together():
    assert len(search(table(math.exp, 9)(x) * table(math.sin, 9)(x), 0, 1).points) == 9
