"""The usual functions against mpmath, and their least degrees against errors that are known in closed form."""

import mpmath
import numpy as np
import pytest
from skinny.scripts.bench.functions_usual import FUNCTIONS, Usual, least_degree


def sigmoid(x):
    return 1 / (1 + mpmath.exp(-x))


NAMES = {name: getattr(mpmath, name) for name in ("sin", "cos", "tan", "exp", "log", "sqrt", "tanh", "erf")}


@pytest.mark.parametrize("usual", FUNCTIONS, ids=lambda usual: f"{usual.text} {usual.low}:{usual.high}")
def test_references_are_the_functions_of_the_formulas(usual):
    points = np.linspace(float(usual.low), float(usual.high), 30)
    formula = compile(usual.text.replace("^", "**"), "formula", "eval")
    with mpmath.workdps(30):
        exact = [eval(formula, NAMES | {"sigmoid": sigmoid, "x": mpmath.mpf(x)}) for x in points]
        assert max(abs(a - b) for a, b in zip(exact, usual.reference(points), strict=True)) < 1e-14


def test_there_are_twenty_and_some():
    assert len({(usual.text, usual.low) for usual in FUNCTIONS}) == len(FUNCTIONS) >= 20


@pytest.mark.parametrize("degree", range(1, 12))
def test_powers_need_the_degree_that_chebyshev_found(degree):
    """The nearest polynomial to ``x^(n+1)`` of degree ``n`` is off by ``2^-n``."""
    power = Usual("", "-1", "1", lambda x: x ** (degree + 1))
    assert least_degree(power, 1.001 * 2.0**-degree) <= degree
    assert least_degree(power, 0.999 * 2.0**-degree) == degree + 1


@pytest.mark.parametrize("degree", range(12))
def test_poles_need_the_degree_that_chebyshev_found(degree):
    """The nearest polynomial of degree ``n`` to ``1/(x - a)`` is off by ``(a - √(a² - 1))^n/(a² - 1)``."""
    pole = Usual("", "-1", "1", lambda x: 1 / (x - 1.5))
    least = (1.5 - np.sqrt(1.25)) ** degree / 1.25
    assert least_degree(pole, 1.01 * least) == degree
    assert least_degree(pole, 0.99 * least) == degree + 1
