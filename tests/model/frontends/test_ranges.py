"""Values and ranges of nodes, against numpy and random points."""

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.formula.formula import constant, product, total, variables
from skinny.model.formula.function import apply
from skinny.model.frontends.ranges import Range, box_ranges, own_nodes, row_ranges, row_values, term
from skinny.model.rings import FixedPoint

a, b = variables("a b")
INNER = total([product([constant(2), a]), product([constant(-3), b]), constant(1)])
PARTS = [INNER, apply("relu", INNER), INNER**2, INNER**3, product([a, b]), apply("tanh", INNER), apply("sigmoid", a)]


def wanted(x, y):
    inner = 2 * x - 3 * y + 1
    return [inner, np.maximum(inner, 0), inner**2, inner**3, x * y, np.tanh(inner), 1 / (1 + np.exp(-x))]


def columns(rows=200):
    x, y = np.random.default_rng(0).uniform((-1, 0.25), (2, 0.5), (rows, 2)).T
    return {"a": x, "b": y}


def test_values_are_those_of_numpy():
    given = columns()
    for found, expected in zip(row_values(given, PARTS), wanted(given["a"], given["b"]), strict=True):
        assert found == pytest.approx(expected, abs=1e-12)


def test_ranges_of_rows_are_the_ends():
    given = columns()
    found = row_ranges(PARTS, given)
    for part, expected in zip(PARTS, wanted(given["a"], given["b"]), strict=True):
        assert found[id(part)] == pytest.approx((expected.min(), expected.max()), abs=1e-12)


def test_ranges_on_a_box_hold_for_all_points_and_are_sharp_for_forms():
    found = box_ranges(PARTS, {"a": Range(-1, 2), "b": Range(0.25, 0.5)})
    given = columns(5000)
    for part, expected in zip(PARTS, wanted(given["a"], given["b"]), strict=True):
        assert found[id(part)].low <= expected.min()
        assert expected.max() <= found[id(part)].high
    assert found[id(INNER)] == pytest.approx((-2.5, 4.25))
    assert found[id(PARTS[2])] == pytest.approx((0, 4.25**2))
    assert found[id(PARTS[4])] == pytest.approx((-0.5, 1))


def test_terms_round_one_by_one_in_fixed_point():
    """3/4 + 3/4 of one step each round to two steps, their sum 3/2 would round to two as well, 1/4 + 1/4 to none."""
    form = total([product([constant(0.25), a]), product([constant(0.25), b])])
    ring = FixedPoint(8, 4)
    (found,) = row_values({"a": np.array([1, 2, 3]), "b": np.array([1, 2, 3])}, [form], ring)
    assert found.tolist() == [0, 2, 2]


def test_terms_of_sums_have_no_value_of_their_own():
    assert [node.kind for node in own_nodes([INNER])] == ["variable", "variable", "sum"]
    assert term(constant(2))[1] is None
    assert term(a) == (None, a)


def test_other_functions_are_refused():
    with pytest.raises(InputError, match=r"exp\(a\) is no activation: tanh and sigmoid are"):
        row_values({"a": np.zeros(2)}, [apply("exp", a)])
