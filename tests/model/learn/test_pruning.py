"""What is counted as a cycle is one, and pruning reaches each budget and keeps what matters."""

import numpy as np
import pytest
from skinny.model.learn.network import Shape, initial
from skinny.model.learn.pruning import cycles, drop_dead, prune_path, prune_to, slopes
from skinny.model.learn.sparse import build, sparse
from skinny.model.learn.training import Batches, with_one
from skinny.model.rings import parse_ring

SHAPES = [
    Shape("linear", 0, 6, 3),
    Shape("squares", 4, 6, 3),
    Shape("products", 4, 6, 3),
    Shape("separate", 6, 6, 3),
    Shape("relu", 3, 6, 3),
]


def program_cycles(models, task):
    """Words of the program that is built, those that send or compare included."""
    shape = models.shape
    found = sparse(models, 0, np.full(shape.inputs, 0.3), np.ones(shape.inputs), task)
    exact = found._replace(
        **{n: parse_ring("exact").encode_all(getattr(found, n)) for n in ("factors", "outputs", "reads")}
    )
    outputs = [(f"y{k}", 0) for k in range(shape.outputs)]
    argmax = "" if task == "numbers" else "class"
    program = build(exact, [f"x{u}" for u in range(shape.inputs)], outputs, argmax)
    return program.words + program.emits


@pytest.mark.parametrize("task", ["classes", "numbers"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.family)
def test_cycles_are_those_of_the_program(shape, task):
    rng = np.random.default_rng(5)
    for density in (1.0, 0.7, 0.4):
        models = initial(shape, 1, rng)
        models.kept[..., :-1] &= rng.random(models.kept[..., :-1].shape) < density
        models.kept[:, shape.factors :, 0] = True  # an output of a constant alone takes a cycle less
        if shape.shared:
            models.read &= rng.random(models.read.shape) < density
        models.forms[..., -1] = rng.normal(0, 1, models.forms.shape[:2])
        models.mask()
        drop_dead(models)
        assert program_cycles(models, task) == cycles(models, task)[0]


def test_cycles_of_a_single_sign():
    models = initial(Shape("squares", 2, 4, 1), 1, np.random.default_rng(0))
    assert program_cycles(models, "sign") == cycles(models, "sign")[0] == 2 * (4 + 1 + 2) + (4 + 1 + 2 + 1) + 2


def test_dead_units_are_dropped():
    models = initial(Shape("products", 3, 2, 1), 1, np.random.default_rng(0))
    models.read[0, 0, 0] = False  # nobody reads it
    models.kept[0, 3, :-1] = False  # the second form of unit 1 is a constant
    drop_dead(models)
    assert models.read[0, 0].tolist() == [False, False, True]
    assert not models.kept[0, :4].any()


def data(rng, count=400):
    """Two classes, told apart by the first of six inputs and, a little, by the second."""
    rows = rng.normal(0, 0.5, (count, 6)).astype(np.float32)
    targets = (rows[:, :1] + 0.3 * rows[:, 1:2] > 0).astype(np.float32)
    return Batches(rows, targets, np.full(6, 0.05, np.float32))


@pytest.mark.parametrize("family", ["linear", "squares", "products"])
def test_budgets_are_reached_and_inputs_that_matter_kept(family):
    rng = np.random.default_rng(0)
    batches = data(rng)
    models = initial(Shape(family, 0 if family == "linear" else 2, 6, 1), 2, rng)
    seen = {}
    few = 7 if family == "linear" else 14
    prune_path(models, "sign", batches, rng, [1000, 20, few], lambda b, m: seen.setdefault(b, m), pace=0.3, rate=3e-3)
    assert list(seen) == [1000, 20, few]
    assert (cycles(seen[20], "sign") <= 20).all()
    assert (cycles(seen[few], "sign") <= few).all()
    assert seen[few].kept[:, -1, 0].any()
    assert seen[1000].kept.all()


def test_the_least_important_weight_goes_first():
    """With a linear output the loss rises by half of its square times the mean squared slope: brute force over all
    single weights agrees."""
    rng = np.random.default_rng(2)
    batches = data(rng)
    models = initial(Shape("linear", 0, 6, 1), 1, rng)
    models.forms[0, 0] = [2, 0.5, 0.01, 1, 1, 1, 0.2]
    rows = with_one(batches.rows)
    before = cycles(models, "sign")
    prune_to(models, "sign", rows, batches.targets[None], before - 1)
    assert models.kept[0, 0].tolist() == [True, True, False, True, True, True, True]


def test_the_unit_that_matters_least_goes_first():
    rng = np.random.default_rng(3)
    rows = with_one(rng.normal(0, 1, (200, 3)))
    models = initial(Shape("squares", 2, 3, 1), 1, rng, np.float64)
    models.forms[0] = [[1, 1, 0.5, 0], [1, -1, 0.5, 0], [0.5, 0.5, 0.5, 0]]
    models.reads[0] = [1, 0.01]
    targets = models.values(rows)[2].swapaxes(1, 2) + rng.normal(0, 0.5, (1, 200, 1))
    prune_to(models, "numbers", rows, targets, cycles(models, "numbers") - 7)
    assert models.read[0].tolist() == [[True, False]]
    assert models.kept[0, 0].all()


def test_slopes_count_what_is_left_out():
    rng = np.random.default_rng(2)
    batches = data(rng)
    models = initial(Shape("linear", 0, 6, 1), 1, rng)
    models.kept[0, 0, 0] = False
    models.mask()
    slope, fisher = slopes(models, "sign", with_one(batches.rows), batches.targets[None])
    assert slope.forms[0, 0, 0] != 0
    assert fisher.forms[0, 0, 0] > 0
