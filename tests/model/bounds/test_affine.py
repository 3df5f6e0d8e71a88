"""Affine enclosures: every operation holds for all values of the symbols."""

import itertools

import numpy as np
import pytest
from skinny.model.bounds.affine import Symbols

FRAC = 8
ENDS = [(-1.0, 2.0), (0.5, 3.0), (-4.0, -0.25), (-0.5, 0.5)]


def samples(ends):
    return np.linspace(ends[0], ends[1], 9)


def at(value, symbols):
    """The range that the enclosure allows when the first symbols are ``symbols``."""
    known = min(len(symbols), len(value.slopes))
    middle = value.middle + float(np.dot(value.slopes[:known], symbols[:known]))
    radius = float(np.abs(value.slopes[known:]).sum()) + value.rest
    return middle - radius, middle + radius


def symbol(ends, x):
    return (x - (ends[0] + ends[1]) / 2) / ((ends[1] - ends[0]) / 2)


@pytest.mark.parametrize(("left", "right"), list(itertools.product(ENDS, repeat=2)))
def test_products_and_sums_are_enclosed(left, right):
    symbols = Symbols(FRAC, 100)
    a, b = symbols.between(*left, 0), symbols.between(*right, 0)
    product, total = symbols.times(a, b), symbols.plus(a, b, -1)
    for x, y in itertools.product(samples(left), samples(right)):
        known = [symbol(left, x), symbol(right, y)]
        for value, exact in ((product, x * y), (total, x - y)):
            low, high = at(value, known)
            assert low - 1e-9 <= exact <= high + 1e-9
            assert value.low <= exact <= value.high
    corners = [x * y for x in left for y in right]
    assert (product.low, product.high) == pytest.approx((min(corners), max(corners)), abs=1e-9)
    assert (total.low, total.high) == pytest.approx((left[0] - right[1], left[1] - right[0]), abs=1e-9)


@pytest.mark.parametrize("ends", ENDS)
def test_a_square_is_not_below_zero(ends):
    symbols = Symbols(FRAC, 100)
    a = symbols.between(*ends, 0)
    square = symbols.times(a, a)
    assert square.low >= -1e-9
    assert square.high == pytest.approx(max(x * x for x in ends))
    for x in samples(ends):
        low, high = at(square, [symbol(ends, x)])
        assert low - 1e-9 <= x * x <= high + 1e-9


@pytest.mark.parametrize("ends", ENDS)
def test_relu_lies_between_two_lines(ends):
    symbols = Symbols(FRAC, 100)
    a = symbols.between(*ends, 0)
    found = symbols.relu(a)
    for x in samples(ends):
        low, high = at(found, [symbol(ends, x)])
        assert low - 1e-9 <= max(x, 0) <= high + 1e-9
    assert (found.low, found.high) == pytest.approx((max(ends[0], 0), max(ends[1], 0)))


def test_what_is_taken_away_again_cancels():
    symbols = Symbols(FRAC, 100)
    a, b = symbols.between(-1, 1, 0), symbols.between(-1, 1, 0)
    back = symbols.plus(symbols.plus(a, b, 1), b, -1)
    assert (back.low, back.high) == pytest.approx((-1, 1))


def test_errors_of_a_product():
    """Of 2 ± 0.25 and 3 ± 0.5: 2·0.5 + 3·0.25 + 0.125, and half a step."""
    symbols = Symbols(FRAC, 100)
    a, b = symbols.with_error(symbols.between(2, 2, 0), 0.25), symbols.with_error(symbols.between(3, 3, 0), 0.5)
    assert symbols.times(a, b).error == pytest.approx(1.875 + 2**-9)
    assert symbols.plus(a, b, 1).error == pytest.approx(0.75)
    assert a.actual == pytest.approx((1.75, 2.25))


def test_rounding_is_known_by_trailing_zeros():
    symbols = Symbols(FRAC, 100)
    whole, odd = symbols.between(3, 3, FRAC), symbols.between(-1, 1, 0)
    assert symbols.times(whole, odd).error == 0
    assert symbols.times(odd, odd).error == pytest.approx(2**-9)
    assert symbols.times(symbols.between(0.5, 0.5, FRAC - 1), odd).error == pytest.approx(2**-9)
    one = symbols.between(1, 1, FRAC)
    assert symbols.times(one, odd) is odd
    assert symbols.times(odd, one) is odd


def test_no_more_symbols_than_allowed():
    symbols = Symbols(FRAC, 2)
    values = [symbols.between(-1, 1, 0) for _ in range(3)]
    assert [len(value.slopes) for value in values] == [1, 2, 0]
    assert values[2].rest >= 1
    product = symbols.times(values[0], values[1])
    assert len(product.slopes) == 2
    assert (product.low, product.high) == pytest.approx((-1, 1))
    third = symbols.between(-1, 1, 0)
    assert (values[2].rest, third.rest) == pytest.approx((1, 1))
    for sign in (1, -1):
        assert symbols.plus(values[2], third, sign).high == pytest.approx(2)
        assert symbols.plus(values[2], third, sign).rest == pytest.approx(2)


def test_words_alone_hold_what_rounding_makes_of_them():
    symbols = Symbols(3, 100, exact=False)
    weight = symbols.between(0.875, 0.875, 0)
    for word in range(-20, 21):
        found = symbols.times(weight, symbols.between(word / 8, word / 8, 0))
        rounded = (7 * word + 4 >> 3) / 8
        assert found.low <= rounded <= found.high
        assert abs(rounded - found.middle) <= found.radius
        assert found.high - found.low < 0.126
        assert found.error == 0
