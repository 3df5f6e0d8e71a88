"""The field of two elements: bits of many inferences in a word."""

from fractions import Fraction

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.rings import Boolean


def test_an_even_denominator_is_not_boolean():
    with pytest.raises(InputError) as caught:
        Boolean().embed(Fraction(1, 4))
    assert str(caught.value) == "1/4 is not an element of boolean: its denominator is even"


def test_a_word_holds_64_inferences_from_its_lowest_bit_up():
    assert Boolean().inferences_per_word == 64
    bits = np.zeros(130, dtype=np.uint8)
    bits[[0, 3, 64, 129]] = 1
    assert Boolean().pack(bits).tolist() == [0b1001, 1, 2]


def test_numbers_are_elements_by_their_last_bit():
    assert Boolean().encode(-1) == Boolean().embed(Fraction(7, 3)) == 1
    assert Boolean().embed(-4) == 0
