"""Affine maps and quadratic forms as formulas, against numpy."""

import numpy as np
import pytest
from skinny.model.formula.formula import evaluate, postorder, variables
from skinny.model.frontends.affine import Features, Products, affine, kept, rows
from skinny.model.rings import Real

REAL = Real()
VALUES = variables("a b c")
POINT = np.array([0.5, -2.0, 3.0])


def at_point(formula):
    return float(evaluate(formula, {v.value: np.array([x]) for v, x in zip(VALUES, POINT, strict=True)}, REAL)[0])


def test_terms_stand_in_order_and_zeros_are_left_out():
    assert repr(affine(VALUES, [2, 0, 1], 0.5)) == "2*a + c + 1/2"
    assert repr(affine(VALUES, [0, 0, 0], 0)) == "0"
    assert repr(affine(VALUES, [0, 1, 0], 0)) == "b"
    assert [repr(row) for row in rows(VALUES, np.array([[1.0, 2, 0], [0, 0, 3]]), np.array([0.0, 1]))] == [
        "a + 2*b",
        "3*c + 1",
    ]


def test_quadratic_forms_share_their_products():
    rng = np.random.default_rng(1)
    products = Products(VALUES)
    squares, slope, bias = rng.normal(size=(2, 3, 3)), rng.normal(size=3), 0.25
    forms = [products.form(square, slope, bias) for square in squares]
    for form, square in zip(forms, squares, strict=True):
        assert at_point(form) == pytest.approx(POINT @ square @ POINT + slope @ POINT + bias)
    kinds = [node for node in postorder(*forms) if node.kind == "power" or node in products.nodes]
    assert len(kinds) == len(products.nodes) == 6


def test_maps_are_folded_where_that_has_no_more_terms():
    rng = np.random.default_rng(2)
    scale, wide, narrow = np.diag(rng.normal(size=3)), rng.normal(size=(5, 3)), rng.normal(size=(2, 3))
    start = Features.of(VALUES)
    scaled = start.mapped(scale, np.ones(3))
    assert scaled.separate
    assert scaled.values == tuple(VALUES)
    folded = scaled.mapped(narrow, np.zeros(2))
    assert folded.values == tuple(VALUES)
    assert [at_point(f) for f in folded.formulas] == pytest.approx((narrow @ (scale @ POINT + 1)).tolist())
    thin = start.mapped(rng.normal(size=(1, 3)), np.zeros(1))
    assert not thin.separate
    behind = thin.mapped(wide[:, :1], np.zeros(5))
    assert behind.values == thin.formulas, "5 weights on one value are fewer than 15 on three"


def test_features_are_the_same_nodes_each_time():
    features = Features.of(VALUES).mapped(np.ones((1, 3)), np.zeros(1))
    assert features.formulas[0] is features.formulas[0]


def test_zeros_that_are_kept_are_terms():
    row = kept(np.array([2.0, 0, 1]), True)
    assert repr(affine(VALUES, row, float(kept(np.zeros(1), True)[0]))) == "2*a + 0*b + c + 0"
    assert kept(np.array([2.0, 0]), False).tolist() == [2, 0]
    folded = Features.of(VALUES).mapped(np.diag([3.0, 5, 7]), np.zeros(3)).mapped(row[None], np.array([0.5]))
    assert [repr(formula) for formula in folded.formulas] == ["6*a + 0*b + 7*c + 1/2"], "a scaler in front"
