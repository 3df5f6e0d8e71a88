"""Degrees against polynomials that are written out."""

from fractions import Fraction

import pytest
from skinny.model.bounds.degrees import Degrees
from skinny.model.bounds.graph import ONE, ZERO, Graph, Product, Sum

X, Y, ONE_MINUS_X = 0, 1, 2
FACTORS = {
    X: ({1: Fraction(1)}, {1: Fraction(1)}),
    Y: ({2: Fraction(1, 3)}, {2: Fraction(1, 4)}),
    ONE_MINUS_X: ({0: Fraction(1), 1: Fraction(-1)}, {0: Fraction(1), 1: Fraction(-1)}),
}


def degrees_of(nodes, most=8):
    graph = Graph([Sum(ONE, (), 0), Sum(ZERO, (), 64), *nodes], [], [], [], {})
    return Degrees(graph, FACTORS, [1, 2], most)


def test_what_cancels_lowers_the_degree():
    # 2: x, 3: x as a sum, 4: x·x, 5: (1 - x)·x, 6: their sum, which is x, 7: y/3·x.
    nodes = [
        Product(ONE, X, -1),
        Sum(ZERO, ((2, 1),), 0),
        Product(3, X, -1),
        Product(3, ONE_MINUS_X, -1),
        Sum(ZERO, ((4, 1), (5, 1)), 0),
        Product(6, Y, -1),
    ]
    degrees = degrees_of(nodes)
    assert degrees.values() == [[0, 0], [0, 0], [1, 0], [1, 0], [2, 0], [2, 0], [1, 0], [1, 1]]
    # The derivative of the last one by x·x is y/3, by x it is y/3·(x + 1 - x).
    order = [7, 6, 5, 4, 3, 2]
    assert degrees.derivatives(7, order) == [[0, 0], [0, 1], [0, 1], [0, 1], [0, 1], [0, 1]]


def test_a_degree_that_is_too_high_is_said_so():
    nodes = [Product(ONE, X, -1)]
    for number in range(2, 12):
        nodes.append(Product(number, X, -1))
    assert degrees_of(nodes, most=11).values()[-1] == [11, 0]
    with pytest.raises(OverflowError):
        degrees_of(nodes, most=10).values()
