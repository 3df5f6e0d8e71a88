"""A learned program in the units of the data."""

import numpy as np
import pytest
from skinny.model.learn.network import Shape, initial
from skinny.model.learn.sparse import build, sparse
from skinny.model.learn.training import with_one
from skinny.model.rings import parse_ring
from skinny.model.run.golden import run

REAL = parse_ring("real")
FAMILIES = [
    Shape("linear", 0, 4, 3),
    Shape("squares", 3, 4, 3),
    Shape("products", 3, 4, 3),
    Shape("separate", 6, 4, 3),
    Shape("relu", 3, 4, 3),
]


@pytest.mark.parametrize("shape", FAMILIES, ids=lambda shape: shape.family)
def test_scaling_is_folded_into_the_weights(shape):
    rng = np.random.default_rng(1)
    models = initial(shape, 2, rng, np.float64)
    models.read[1, 0, : shape.units // 2] = False
    models.mask()
    center, span = rng.normal(5, 3, 4), rng.uniform(1, 30, 4)
    rows = rng.normal(0, 20, (7, 4))
    expected = models.values(with_one((rows - center) / span))[2][1].T
    found = sparse(models, 1, center, span, "numbers")
    np.testing.assert_allclose(found.values(rows), expected, rtol=1e-9, atol=1e-9)


def test_a_constant_of_all_classes_is_taken_away():
    models = initial(Shape("squares", 2, 3, 3), 1, np.random.default_rng(0), np.float64)
    models.forms[0, 2:, -1] = [3, 4, 5]
    rows = np.random.default_rng(1).normal(0, 1, (5, 3))
    found = sparse(models, 0, np.zeros(3), np.ones(3), "classes")
    assert found.outputs[:, -1].tolist() == [0, 1, 2]
    np.testing.assert_allclose(found.values(rows), models.values(with_one(rows))[2][0].T - 3, rtol=1e-12)


@pytest.mark.parametrize(("shape", "width"), list(zip(FAMILIES, (3, 5, 5, 3, 5), strict=True)))
def test_the_program_computes_it_on_few_registers(shape, width):
    rng = np.random.default_rng(3)
    models = initial(shape, 1, rng, np.float64)
    found = sparse(models, 0, rng.normal(0, 1, 4), np.ones(4), "numbers")
    exact = found._replace(
        **{n: parse_ring("exact").encode_all(getattr(found, n)) for n in ("factors", "outputs", "reads")}
    )
    program = build(exact, "abcd", [("y0", 0), ("y1", 0), ("y2", 0)], "", "a title")
    rows = rng.normal(0, 1, (6, 4))
    assert program.width == found.width == width
    assert program.title == "a title"
    np.testing.assert_allclose(run(program, REAL, rows).outputs, found.values(rows), rtol=1e-9, atol=1e-9)
