"""Values and derivatives of nonlinearities, against what a person differentiates."""

from fractions import Fraction

import pytest
from skinny.model.errors import InputError
from skinny.model.formula.formula import Formula, variables, weight
from skinny.model.formula.function import tanh
from skinny.model.frontends.machines.nonlinearity import applied, expect_nonlinearity, value_and_slope

HALF = Fraction(1, 2)


@pytest.mark.parametrize(
    ("nonlinearity", "at", "pair"),
    [
        (None, 7, (7, 1)),
        ("relu", 3, (3, 1)),
        ("relu", -3, (0, 0)),
        ("relu", 0, (0, 0)),
        ("square", HALF, (HALF**2, 1)),
        (lambda v: v**3 - 2 * v * v + 5, 2, (5, 4)),
        (lambda v: (v + 1) * (v - 1) * v, 3, (24, 26)),
        (lambda v: v**0, 3, (1, 0)),
        (lambda v: weight("k", 3, 0, 5) * v, 2, (6, 3)),
    ],
)
def test_values_and_slopes(nonlinearity, at, pair):
    assert value_and_slope(nonlinearity, Fraction(at)) == pair


def test_formulas():
    (x,) = variables("x")
    assert applied(None, x) is x
    assert str(applied("relu", x)) == "relu(x)"
    assert str(applied("square", x)) == "x^2"


@pytest.mark.parametrize(
    ("nonlinearity", "message"),
    [
        ("tanh", "None, 'relu', 'square' or a function"),
        (3, "not 3"),
        (lambda v: "x", "must give a formula"),
    ],
)
def test_what_is_no_nonlinearity(nonlinearity, message):
    with pytest.raises(InputError, match=message):
        expect_nonlinearity(nonlinearity)


def test_what_has_no_exact_value():
    with pytest.raises(InputError, match=r"tanh\(x\) is no polynomial"):
        value_and_slope(tanh, Fraction(1))
    other = Formula("variable", value="z")
    with pytest.raises(InputError, match="of one value, but it reads 'z' too"):
        value_and_slope(lambda v: v + other, Fraction(1))
