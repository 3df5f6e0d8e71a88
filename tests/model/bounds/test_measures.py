"""Sizes and errors of nodes, step by step."""

import random
from fractions import Fraction

import numpy as np
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


def test_a_variable_that_only_rounding_brings_counts():
    found = StepByStep(
        Graph([Sum(ONE, (), 4), Sum(ZERO, (), 64), Product(ONE, 0, -4)], [], [], [], {}),
        [Factor({0: Fraction(1), 1: Fraction(0)}, {0: Fraction(1), 1: Fraction(1, 16)}, {})],
        1 / 32,
    )
    assert found.variables == [1]
    assert found.touches == {0: [1]}


def positive_graph(rng):
    """Products and sums whose scalars are all positive, larger than one, and larger as rounded: where all inputs are
    one and all roundings are upwards, everything is worst. The exact and the actual values there, in fractions."""
    factors, totals = [], []
    for _ in range(3):
        exact = {v: Fraction(rng.randint(10, 20), rng.randint(10, 19)) for v in (0, 1)}
        used = {v: c + Fraction(1, rng.randint(20, 90)) for v, c in exact.items()}
        noise = Fraction(rng.choice([0, 1]), 64)
        factors.append(Factor(exact, used, {7: float(noise)} if noise else {}))
        totals.append((sum(exact.values()), sum(used.values()) + noise))
    nodes, values = [Sum(ONE, (), 4), Sum(ZERO, (), 64)], [(Fraction(1), Fraction(1)), (Fraction(0), Fraction(0))]
    ways = {}
    for _ in range(8):
        source, form, rounded = rng.choice([0, *range(2, len(nodes))]), rng.randrange(3), rng.random() < 0.7
        nodes.append(Product(source, form, -1 if rounded else 0))
        exact, actual = (total * value for total, value in zip(totals[form], values[source], strict=True))
        values.append((exact, actual + (Fraction(1, 32) if rounded else 0)))
        parent, last, count = rng.choice([0, *range(2, len(nodes))]), len(nodes) - 1, rng.randint(1, 3)
        nodes.append(Sum(parent, ((last, count),), 0))
        values.append(tuple(a + count * b for a, b in zip(values[parent], values[last], strict=True)))
    # A sum that is written out, of three products less two; its way is one product and the node before.
    before, product = len(nodes) - 1, len(nodes) - 2
    nodes.append(Sum(before, ((product, 3), (product, -2)), 0))
    ways[len(nodes) - 1] = (before, product, 1)
    values.append(tuple(a + b for a, b in zip(values[before], values[product], strict=True)))
    return Graph(nodes, [], [], [], ways), factors, values


@pytest.mark.parametrize("seed", range(20))
def test_settled_errors_are_those_of_the_worst_run(seed):
    """Not below them, not even by what floats lose, and hardly above."""
    graph, factors, values = positive_graph(random.Random(seed))
    found = StepByStep(graph, factors, 1 / 32)
    errors = [actual - exact for exact, actual in values]
    # Zero counts as one, with which only products begin.
    assert all(Fraction(error) >= worst for error, worst in zip(found.error_sizes, errors, strict=True))
    assert all(Fraction(top) * (1 + Fraction(1, 10**9)) >= v for top, (v, _) in zip(found.tops, values, strict=True))
    sizes = np.array([float(exact) * (1 + 2.0**-50) for exact, _ in values])
    found.low, found.high = -sizes, -sizes / 2
    assert found.settle([len(values) - 1])
    for error, worst in zip(found.error_sizes, errors, strict=True):
        assert worst <= Fraction(error) <= worst * (1 + Fraction(1, 10**9))
    for number, (size, error) in enumerate(zip(sizes, found.error_sizes, strict=True)):
        low, high = found.range(number)
        assert low <= -Fraction(size) - Fraction(error)
        assert high >= -Fraction(size) / 2 + Fraction(error)
        assert low == pytest.approx(-size - error)
        assert high == pytest.approx(-size / 2 + error)


def test_many_small_errors_are_not_lost_beside_a_large_one():
    """Floats add 2^-60 to 2^-6 in vain, four hundred times; the growth factor covers that."""
    small = Fraction(1, 1 << 60)
    factors = [
        Factor({0: Fraction(1 << 54)}, {0: Fraction(1 << 54)}, {}),
        Factor({0: Fraction(1)}, {0: Fraction(1)}, {}),
    ]
    nodes = [Product(ONE, 1, -1), Product(2, 0, 0), *(Product(ONE, 1, -1) for _ in range(400))]
    nodes.append(Sum(ZERO, tuple((2 + n, 1) for n in range(1, 402)), 0))
    found = StepByStep(Graph([Sum(ONE, (), 4), Sum(ZERO, (), 64), *nodes], [], [], [], {}), factors, float(small))
    exact = small * 2**54 + 400 * small
    assert Fraction(found.error_sizes[-1]) >= exact
    found.low, found.high = np.zeros(len(found.tops)), np.full(len(found.tops), 1e-9)
    assert found.settle([len(found.tops) - 1])
    assert exact <= Fraction(found.error_sizes[-1]) <= exact * (1 + Fraction(1, 10**9))


class Sought(StepByStep):
    """Measures that note of which nodes the error was sought."""

    def error(self, target, enough=0.0):
        self.sought[target] = False
        return self.error_sizes[target]


@pytest.mark.parametrize(("noises", "sought"), [({}, {}), ({7: 1 / 8}, {2: False})])
def test_errors_are_sought_sooner_where_a_form_is_rounded(noises, sought):
    """An error of half a step and the noise is small beside a range of 100, but large for another form's rounding."""
    form = {0: Fraction(100)}
    graph = Graph([Sum(ONE, (), 4), Sum(ZERO, (), 64), Product(ONE, 0, -4)], [], [], [], {})
    found = Sought(graph, [Factor(form, form, noises)], 1 / 4)
    found.low, found.high = np.array([1.0, 0.0, 100.0]), np.array([1.0, 0.0, 100.0])
    assert found.settle([2])
    assert found.sought == sought
    if sought:
        found.later = 10**9
        assert not found.settle([2])
