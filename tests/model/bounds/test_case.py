"""A case holds what is given in one format."""

from fractions import Fraction

import pytest
from skinny.model.bounds.case import Case
from skinny.model.rings import FixedPoint


@pytest.mark.parametrize("frac", [0, 1, 12])
def test_raw_words_count_steps_of_the_format(frac):
    ring = FixedPoint(16, frac)
    case = Case(None, frac, [], [ring.encode(Fraction(3))], [], {})
    assert case.weights[0] * case.unit == 3
