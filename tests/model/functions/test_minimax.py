"""The exchange algorithm: known minimax polynomials, and the alternation that makes them so."""

import math

import numpy as np
import pytest
from skinny.model.functions.minimax import nearest_polynomial

T = -np.cos(np.linspace(0, np.pi, 2001))
BASIS = np.polynomial.chebyshev.chebvander(T, 41)


def nearest(function, degree):
    return nearest_polynomial(T, BASIS, np.vectorize(function)(T), degree)


@pytest.mark.parametrize("degree", [1, 2, 5, 12, 25])
def test_the_power_that_is_one_higher(degree):
    """x^(n+1) less the Chebyshev polynomial is the nearest, and 2^-n away."""
    found = nearest(lambda t: t ** (degree + 1), degree)
    assert found.error == pytest.approx(2.0**-degree, rel=1e-3)
    assert found.least <= found.error <= 1.001 * found.least


def test_published_figures():
    """exp at 21 points from 0 to 1 to degree 5 is 1.09e-6 away (NAG, e02alc), and |t| to degree 2 is 1/8 away."""
    points = np.linspace(-1, 1, 21)
    basis = np.polynomial.chebyshev.chebvander(points, 5)
    found = nearest_polynomial(points, basis, np.exp((points + 1) / 2), 5)
    assert found.error == pytest.approx(1.09e-6, rel=0.005)
    found = nearest(abs, 2)
    assert found.error == pytest.approx(1 / 8, rel=1e-3)
    np.testing.assert_allclose(found.coefficients, [5 / 8, 0, 1 / 2], atol=1e-3)


@pytest.mark.parametrize("degree", [1, 3, 4, 7, 8])
def test_odd_functions(degree):
    """On a symmetric reference the first level of an odd function would be zero."""
    found = nearest(math.sin, degree)
    odd = degree - (degree + 1) % 2
    assert found.error == pytest.approx(nearest(math.sin, odd).error, rel=2e-3)
    assert found.least > 0.99 * found.error
    assert np.max(np.abs(found.coefficients[0::2])) <= 2e-2 * found.error


def test_the_errors_alternate():
    found = nearest(lambda t: 1 / (t + 1.5), 6)
    errors = np.vectorize(lambda t: 1 / (t + 1.5))(T) - np.polynomial.chebyshev.chebval(T, found.coefficients)
    large = errors[np.abs(errors) > 0.99 * found.error]
    assert 1 + np.count_nonzero(np.diff(np.sign(large))) == 8


def test_a_polynomial_is_itself():
    found = nearest(lambda t: 3 * t**2 - 1, 4)
    np.testing.assert_allclose(found.coefficients, [0.5, 0, 1.5, 0, 0], atol=1e-14)
