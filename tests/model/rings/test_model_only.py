"""Rationals and floats keep the numbers that they are given."""

from fractions import Fraction

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.rings import Exact, Real


def test_the_number_is_kept():
    assert Exact().encode(Fraction(1, 3)) == Fraction(1, 3)
    assert Exact().encode(0.1) == Fraction(0.1) != Fraction(1, 10)
    assert Real().encode(Fraction(1, 4)) == 0.25


def test_a_rational_beyond_the_floats_is_refused():
    with pytest.raises(InputError, match=r"does not fit real \(64-bit floats\)$"):
        Real().encode(Fraction(10) ** 400)


@pytest.mark.parametrize("ring", [Exact(), Real()], ids=repr)
def test_arithmetic_is_that_of_python_numbers(ring):
    numbers = [(Fraction(3, 8), Fraction(-5, 4), Fraction(7)), (Fraction(1, 2), Fraction(9), Fraction(-1, 16))]
    a, b, c = (ring.encode_all(column) for column in zip(*numbers, strict=True))
    assert ring.add(a, b).tolist() == [x + y for x, y, _ in numbers]
    assert ring.sub(a, b).tolist() == [x - y for x, y, _ in numbers]
    assert ring.mul(a, b).tolist() == [x * y for x, y, _ in numbers]
    for sign in (1, -1):
        target = c.copy()
        ring.accumulate(target, a, b, sign, np.empty_like(target))
        assert target.tolist() == [z + sign * x * y for x, y, z in numbers]
