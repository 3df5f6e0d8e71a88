"""Prime fields: fractions, and products near the largest word."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skinny.model.errors import InputError
from skinny.model.rings import PrimeField

MERSENNE = (1 << 31) - 1


@given(st.fractions(max_denominator=1000), st.sampled_from([3, 5, 8191, MERSENNE]))
def test_fractions_are_elements_of_a_prime_field_unless_p_divides_them(number, p):
    ring = PrimeField(p)
    if number.denominator % p:
        assert ring.embed(number) * number.denominator % p == number.numerator % p
    else:
        with pytest.raises(InputError, match=f"{p} divides its denominator"):
            ring.embed(number)


def test_the_largest_products_are_right():
    last = np.array([MERSENNE - 1])
    assert PrimeField(MERSENNE).mul(last, last).tolist() == [1]
