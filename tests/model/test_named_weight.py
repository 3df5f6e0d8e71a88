"""Named weights know their range."""

from fractions import Fraction

import pytest
from skinny.model.errors import InputError
from skinny.model.named_weight import NamedWeight


def test_a_value_outside_the_range_is_refused_by_name():
    weight = NamedWeight("kp", Fraction(4, 5), Fraction(0), Fraction(2))
    for value in (0, Fraction(4, 5), 2):
        assert weight._replace(value=Fraction(value)).checked().value == value
    for value in (Fraction(-1, 100), 3):
        with pytest.raises(InputError, match=f"^weight kp: {value} is outside its range 0:2$"):
            weight._replace(value=value).checked()


def test_a_range_the_wrong_way_round_is_refused_as_such():
    with pytest.raises(InputError, match=r"^weight kp: the least value of its range, 2, is above the greatest, 0$"):
        NamedWeight("kp", Fraction(4, 5), Fraction(2), Fraction(0)).checked()
