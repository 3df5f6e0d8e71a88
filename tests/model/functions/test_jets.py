"""Jets: Taylor coefficients of mpmath lie inside, at points and all over an interval."""

import mpmath
import numpy as np
import pytest
from skinny.model.formula.function import FUNCTIONS
from skinny.model.functions.interval import Interval
from skinny.model.functions.jets import constant_jet, function_jet, power, product

ORDER = 8
REFERENCES = {
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "exp": mpmath.exp,
    "log": mpmath.log,
    "sqrt": mpmath.sqrt,
    "tanh": mpmath.tanh,
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "erf": mpmath.erf,
    "inverse": lambda x: 1 / x,
}


def jet_of(low, high):
    """The variable itself, from ``low`` to ``high``."""
    out = Interval(np.zeros((ORDER + 1, 1)), np.zeros((ORDER + 1, 1)))
    out.low[0], out.high[0] = low, high
    out.low[1] = out.high[1] = 1.0
    return out


def assert_inside(jet, reference, x):
    with mpmath.workprec(200):
        for k, value in enumerate(mpmath.taylor(reference, mpmath.mpf(x), ORDER)):
            assert mpmath.mpf(jet.low[k, 0]) <= value <= mpmath.mpf(jet.high[k, 0]), k


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("x", [0.3, 1.25])
def test_a_point_is_enclosed_tightly(name, x):
    jet = function_jet(name, jet_of(x, x))
    assert_inside(jet, REFERENCES[name], x)
    assert np.all(jet.high - jet.low <= 1e-11 * (1 + jet.magnitude()))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_interval_is_enclosed(name):
    jet = function_jet(name, jet_of(0.5, 0.75))
    for x in (0.5, 0.6, 0.7, 0.75):
        assert_inside(jet, REFERENCES[name], x)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_functions(name):
    inner = product(jet_of(0.5, 0.5), function_jet("exp", jet_of(0.5, 0.5)))
    assert_inside(function_jet(name, inner), lambda x: REFERENCES[name](x * mpmath.exp(x)), 0.5)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 7, 12])
def test_powers(exponent):
    assert_inside(power(function_jet("sin", jet_of(1.0, 1.0)), exponent), lambda x: mpmath.sin(x) ** exponent, 1)


def test_a_number_has_no_slope():
    jet = constant_jet(Interval(np.array([2.0]), np.array([2.0])), jet_of(0.0, 0.0))
    assert jet.low[:, 0].tolist() == [2.0] + [0.0] * ORDER
