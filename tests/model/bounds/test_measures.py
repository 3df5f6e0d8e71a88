"""Sizes and errors of nodes, step by step."""

from fractions import Fraction

import pytest
from skinny.model.bounds.graph import ONE, ZERO, Graph, Product, Sum
from skinny.model.bounds.measures import Factor, Measures

#: 3·x, and a third that is rounded to 5/16.
FACTORS = [
    Factor({1: Fraction(3)}, {1: Fraction(3)}, {}),
    Factor({0: Fraction(1, 3)}, {0: Fraction(5, 16)}, {}),
]


class StepByStep(Measures):
    """Measures that know no closer error."""

    def error(self, target, enough=0.0):
        return self.error_sizes[target]


def measures_of(*nodes):
    return StepByStep(Graph([Sum(ONE, (), 4), Sum(ZERO, (), 64), *nodes], [], [], [], {}), FACTORS, 1 / 32)


def test_errors_grow_step_by_step():
    # 2: 3x, exact; 3: as a sum; 4: 3x·3x, rounded; 5: their difference; 6: a third of it.
    found = measures_of(
        Product(ONE, 0, 0),
        Sum(ZERO, ((2, 1),), 0),
        Product(3, 0, -4),
        Sum(3, ((4, -1),), 0),
        Product(5, 1, -4),
    )
    assert found.known
    # Zero counts as one here, so that sums are a little too large.
    assert found.tops[2:5] == pytest.approx([3, 4, 12])
    assert found.error_sizes[:6] == pytest.approx([0, 0, 0, 0, 1 / 32, 1 / 32])
    # The scalar counts as one at least.
    assert found.error_sizes[6] == pytest.approx(1 / 32 + 1 / 32 + found.tops[5] / 48)


def test_hopeless_sizes_are_given_up():
    nodes = [Product(ONE, 0, -4)]
    for number in range(2, 400):
        nodes.append(Product(number, 0, -4))
    assert not measures_of(*nodes).known
    assert measures_of(*nodes[:100]).known
