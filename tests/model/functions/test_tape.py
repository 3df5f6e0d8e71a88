"""Tapes: the same values in floats and in jets, and refusals where a function is not defined."""

import math
from fractions import Fraction

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.formula.formula import variables
from skinny.model.formula.function import Sampled
from skinny.model.formula.parse import parse_formula
from skinny.model.functions.split import split

(x,) = variables("x")


def tape(formula, low, high):
    formula = parse_formula(formula)["y"] if isinstance(formula, str) else formula
    (part,) = split(formula, {"x": (Fraction(low), Fraction(high))}).parts
    return part.tape


CASES = [
    ("sin(x) + x^2*cos(x)", lambda v: math.sin(v) + v * v * math.cos(v)),
    ("exp(-x/2)*3 - tan(x/4)", lambda v: 3 * math.exp(-v / 2) - math.tan(v / 4)),
    ("log(1 + sqrt(x))/(1 + x)", lambda v: math.log(1 + math.sqrt(v)) / (1 + v)),
    ("tanh(x) + erf(x)*sigmoid(x)", lambda v: math.tanh(v) + math.erf(v) / (1 + math.exp(-v))),
]


@pytest.mark.parametrize(("text", "reference"), CASES)
def test_floats_and_jets_agree_with_the_formula(text, reference):
    found = tape(text, 1, 3)
    points = [Fraction(k, 8) for k in range(-8, 9)]
    expected = [reference(2 + float(t)) for t in points]
    np.testing.assert_allclose(found.floats(np.array(points, dtype=float)), expected, rtol=1e-13)
    jet = found.jet(points, points, 1)
    np.testing.assert_allclose(jet.low[0], expected, rtol=1e-13)
    np.testing.assert_allclose(jet.high[0], expected, rtol=1e-13)
    slopes = [(reference(2 + float(t) + 1e-5) - reference(2 + float(t) - 1e-5)) / 2e-5 for t in points]
    np.testing.assert_allclose(jet.low[1], slopes, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("text", "low", "high", "message"),
    [
        ("log(x - 1)", 1, 3, "log is defined above zero only, and its argument goes from 0 to 2"),
        ("sqrt(x)", -1, 3, "sqrt is defined from zero on only, and its argument goes from -1 to 3"),
        ("1/x", -1, 3, "1/x has a pole at zero, and its argument goes from -1 to 3"),
        ("1/x", 0, 3, "1/x has a pole at zero, and its argument goes from 0 to 3"),
        ("tan(x)", 1, 2, "tan has a pole at π/2 and so on, and its argument goes from 1 to 2"),
    ],
)
def test_what_is_not_defined_is_refused(text, low, high, message):
    with pytest.raises(InputError) as caught:
        tape(text, low, high).floats(np.linspace(-1, 1, 101))
    assert str(caught.value) == f"{text} cannot be computed on this box: {message}"


@pytest.mark.parametrize("text", ["exp(x)", "exp(x/9)^9", "exp(x/5)"])
def test_what_overflows_is_refused(text):
    with pytest.raises(InputError) as caught:
        tape(text, 0, 1000).floats(np.linspace(-1, 1, 101))
    name = text.replace("/", "*1/")
    assert str(caught.value) == f"{name} gets larger than 2^256 on this box, too large to be computed with"


def test_a_callable_is_called_with_the_argument():
    found = tape(Sampled(lambda v: v * v)(2 * x + 1), 0, 2)
    assert found.floats(np.array([-1.0, 0.0, 1.0])).tolist() == [1.0, 9.0, 25.0]
    assert len(found.sampled) == 1


def fails(value):
    if value > 1:
        raise KeyError("no such row")
    return value


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (fails, "fails fails at 2: KeyError: 'no such row'"),
        (lambda v: math.nan if v > 1 else v, "lambda is nan at 2, which is no number"),
        (lambda v: math.inf, "lambda is inf at 0, which is no number"),
        (lambda v: "text", "lambda fails at 0: ValueError: could not convert string to float: 'text'"),
        (lambda v: None, "lambda fails at 0: TypeError: float() argument must be a string or a real number"),
    ],
)
def test_a_callable_that_fails_is_named(function, message):
    with pytest.raises(InputError) as caught:
        tape(Sampled(function)(x), 0, 2).floats(np.array([-1.0, 1.0]))
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_a_table_has_its_values_at_its_points():
    found = tape(Sampled([(0, 1), (1, 5), (4, 2)])(x), 0, 4)
    assert found.floats(np.array([-1.0, -0.5, 1.0])).tolist() == [1.0, 5.0, 2.0]
