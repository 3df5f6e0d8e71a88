"""Models as arrays equal the programs that are built from them, and their gradients exact differentiation."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from skinny.model.learn.network import Shape, initial
from skinny.model.learn.sparse import build, sparse
from skinny.model.learn.training import with_one
from skinny.model.rings import parse_ring
from skinny.model.run.golden import run

EXACT = parse_ring("exact")
SHAPES = [Shape("linear", 0, 3, 2), Shape("squares", 2, 3, 2), Shape("products", 2, 3, 2), Shape("separate", 4, 3, 2)]


def small_models(shape, seed=0, count=1):
    """Models whose numbers are few quarters, so that floats compute with them exactly."""
    rng = np.random.default_rng(seed)
    models = initial(shape, count, rng, np.float64)
    for values, signs_only in ((models.forms, False), (models.reads, not shape.shared)):
        if not signs_only:
            values[...] = rng.choice([-8, -5, -3, -2, 1, 2, 3, 7], values.shape) / 4
    models.mask()
    return models


def small_rows(shape, count=3, seed=1):
    return np.random.default_rng(seed).integers(-4, 5, (count, shape.inputs)) / 4


def exact_outputs(models, rows):
    """What the program gives, as rationals of shape ``(rows, outputs)``."""
    found = sparse(models, 0, np.zeros(rows.shape[1]), np.ones(rows.shape[1]), "numbers")
    exact = found._replace(**{name: EXACT.encode_all(getattr(found, name)) for name in ("factors", "outputs", "reads")})
    names = [(f"y{k}", 0) for k in range(models.shape.outputs)]
    program = build(exact, [f"x{u}" for u in range(rows.shape[1])], names, "")
    return run(program, EXACT, EXACT.encode_all(rows)).outputs


@pytest.mark.parametrize("shape", [*SHAPES, Shape("relu", 3, 3, 2)], ids=lambda shape: shape.family)
def test_arrays_equal_the_program(shape):
    models, rows = small_models(shape), small_rows(shape)
    _, _, outputs = models.values(with_one(rows))
    assert (exact_outputs(models, rows) == outputs[0].T).all()


def weights_of(shape, models):
    """Every weight that is trained, as the name of its array and its place."""
    for place in np.ndindex(models.forms.shape[1:]):
        yield "forms", (0, *place)
    for place in np.ndindex(models.reads.shape[1:] if shape.shared else (0,)):
        yield "reads", (0, *place)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.family)
def test_gradients_equal_exact_differentiation(shape):
    """An output is a polynomial of degree two at most in each weight, so that the difference of its values on both
    sides of the weight is exactly its derivative."""
    models, rows = small_models(shape), small_rows(shape)
    errors = np.array([[1.0, -0.5, 0.25], [2.0, 0.75, -1.0]])[None]
    factors, units, _ = models.values(with_one(rows))
    gradient = models.backwards(with_one(rows), factors, units, errors)
    mean_squares = models.squares(with_one(rows), factors, units, errors)
    scale = [[Fraction(value) for value in row] for row in errors[0].tolist()]
    for name, place in weights_of(shape, models):
        sides = []
        for move in (1, -1):
            moved = replace(models, **{name: getattr(models, name).copy()})
            getattr(moved, name)[place] += move
            sides.append(exact_outputs(moved, rows))
        slopes = [
            sum(scale[k][row] * (sides[0][row][k] - sides[1][row][k]) / 2 for k in range(shape.outputs))
            for row in range(len(rows))
        ]
        assert getattr(gradient, name)[place] == pytest.approx(float(sum(slopes) / len(rows)), abs=1e-12), (name, place)
        squares = sum(slope * slope for slope in slopes) / len(rows)
        assert getattr(mean_squares, name)[place] == pytest.approx(float(squares), abs=1e-12), (name, place)


def test_models_of_a_batch_do_not_meet():
    shape = SHAPES[2]
    models, rows = small_models(shape, count=4), small_rows(shape)
    together = models.values(with_one(rows))[2]
    for number in range(4):
        alone = models.part([number]).values(with_one(rows))[2]
        np.testing.assert_allclose(together[number], alone[0], rtol=1e-12)


def test_what_is_left_out_has_no_gradient():
    shape = SHAPES[1]
    models, rows = small_models(shape), small_rows(shape)
    models.kept[0, 0, 1] = models.read[0, 1, 0] = False
    models.mask()
    factors, units, outputs = models.values(with_one(rows))
    gradient = models.backwards(with_one(rows), factors, units, np.ones_like(outputs))
    assert gradient.forms[0, 0, 1] == gradient.reads[0, 1, 0] == 0
    assert np.count_nonzero(gradient.forms) > 3
