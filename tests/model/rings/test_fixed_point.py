"""Fixed point: how numbers and products are rounded."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skinny.model.errors import InputError
from skinny.model.rings import FixedPoint


@pytest.mark.parametrize(
    ("a", "b", "raw"), [(1, 8, 1), (-1, 8, 0), (3, 8, 2), (-3, 8, -1), (1, 7, 0), (-1, 9, -1), (127, 127, -16)]
)
def test_fixed_point_rounds_half_up_then_wraps(a, b, raw):
    ring = FixedPoint(8, 4)
    assert ring.mul(np.array([a]), np.array([b])).tolist() == [raw]


@given(st.integers(2, 32), st.data())
def test_fixed_point_encodes_the_nearest_number(bits, data):
    frac = data.draw(st.integers(0, bits - 1))
    ring = FixedPoint(bits, frac)
    number = data.draw(st.fractions(-1, 1)) * (1 << (bits - frac - 1)) * Fraction(15, 16)
    try:
        raw = ring.encode(number)
    except InputError:
        assert number * 2**frac >= 2 ** (bits - 1) - Fraction(1, 2)
        return
    error = Fraction(ring.decode(raw)) - number
    assert -Fraction(1, 2) < error * 2**frac <= Fraction(1, 2)


def test_rounding_comes_before_the_range():
    assert FixedPoint(8, 4).encode(Fraction(-257, 32)) == -128


def test_the_largest_products_are_right():
    low = np.array([-(1 << 31)])
    assert FixedPoint(32, 0).mul(low, low).tolist() == [0]
    assert FixedPoint(32, 31).mul(low, low).tolist() == [-(1 << 31)]
