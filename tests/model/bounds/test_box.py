"""Boxes, weights and start vectors that do not fit are refused by name."""

from fractions import Fraction

import pytest
from skinny.model.bounds.bounds import bound
from skinny.model.errors import InputError
from skinny.model.program.forms import Weight
from skinny.model.rings import FixedPoint


@pytest.mark.parametrize(
    ("ring", "box", "message"),
    [
        (FixedPoint(8, 4), [(0, 1)], "the box must have a range for each of the 2 inputs, not 1"),
        (FixedPoint(8, 4), [(0, 1), (0, 9)], r"input b: 9 does not fit fixed:8.4 \(-8.0 to 7.9375\)"),
        (FixedPoint(8, 4), [(1, 0), (0, 1)], "input a: the range 1 to 0 is empty"),
        (FixedPoint(8, 4), [(0, float("nan")), (0, 1)], "input a: the range 0 to nan is empty"),
        (FixedPoint(4, 1), [(0, 1), (0, 1)], r"weight w\[0\]: 5 does not fit fixed:4.1 .*"),
        (FixedPoint(8, 7), [(0, 0), (0, 0)], r"weight w\[0\]: 5 does not fit fixed:8.7 .*"),
    ],
)
def test_what_does_not_fit_is_named(reference, ring, box, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        bound(reference.program_of([(0, 1, 1, 0)], "ab", [Fraction(5)], [Weight(0)]), ring, box)
