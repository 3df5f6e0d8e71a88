"""Degrees against polynomials that are written out."""

from fractions import Fraction

import pytest
from skinny.model.bounds import degrees as degrees_module
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


def test_values_take_exact_weights_and_derivatives_rounded_ones():
    # 2: x, 3: a quarter of x, exactly a third; 4: three times that less x; 5: y times it.
    factors = {
        0: FACTORS[X],
        1: ({0: Fraction(1, 3)}, {0: Fraction(1, 4)}),
        2: ({2: Fraction(1)}, {2: Fraction(1)}),
    }
    nodes = [Product(ONE, 0, -1), Product(2, 1, -1), Sum(ZERO, ((3, 3), (2, -1)), 0), Product(4, 2, -1)]
    graph = Graph([Sum(ONE, (), 0), Sum(ZERO, (), 64), *nodes], [], [], [], {})
    degrees = Degrees(graph, factors, [1, 2], 4)
    assert degrees.values()[4:] == [[0, 0], [0, 0]]
    # The derivative by x is y·(3/4 - 1), and not zero.
    assert degrees.derivatives(5, [5, 4, 3, 2])[3] == [0, 1]


def test_products_that_cancel_in_a_derivative():
    # 3 and 4 are both x times 2, and 5 is their difference, which does not depend on 2 at all; nor do 9 and 12, which
    # are x·x·(1 - x) times 2 in different orders.
    nodes = [
        Product(ONE, X, -1),
        Product(2, X, -1),
        Product(2, X, -1),
        Sum(ZERO, ((3, 1), (4, -1)), 0),
        Product(2, X, -1),
        Product(6, X, -1),
        Product(7, ONE_MINUS_X, -1),
        Sum(ZERO, ((8, 1),), 0),
        Product(2, ONE_MINUS_X, -1),
        Product(10, X, -1),
        Product(11, X, -1),
        Sum(9, ((12, -1),), 0),
    ]
    degrees = degrees_of(nodes)
    assert degrees.values()[5] == [0, 0]
    assert degrees.values()[12:] == [[4, 0], [0, 0]]
    assert degrees.derivatives(5, [5, 4, 3, 2])[-1] == [0, 0]
    assert degrees.derivatives(13, [13, 12, 11, 10, 9, 8, 7, 6, 2])[-1] == [0, 0]


@pytest.mark.parametrize("unlucky", [0, 1])
def test_one_unlucky_point_does_not_lower_a_degree(monkeypatch, unlucky):
    """``x·(y - 7)``, and one of the two points has 7 for y."""
    points = [[5, 8], [5, 8]]
    points[unlucky][1] = 7
    monkeypatch.setattr(degrees_module, "random_point", lambda *_: points.pop(0))
    factors = {0: FACTORS[X], 1: ({0: Fraction(-7), 2: Fraction(1)}, {0: Fraction(-7), 2: Fraction(1)})}
    nodes = [Product(ONE, 0, -1), Product(2, 1, -1)]
    graph = Graph([Sum(ONE, (), 0), Sum(ZERO, (), 64), *nodes], [], [], [], {})
    assert Degrees(graph, factors, [1, 2], 2).values()[3] == [1, 1]
