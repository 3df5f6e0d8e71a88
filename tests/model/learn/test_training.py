"""Losses have the derivatives that are said, and training lowers them, the same way each time."""

import numpy as np
import pytest
from skinny.model.learn.network import Shape, initial
from skinny.model.learn.training import Batches, errors_of, losses_of, outputs_of, train, with_one


@pytest.mark.parametrize("task", ["classes", "sign", "numbers"])
def test_errors_are_the_derivatives_of_the_loss(task):
    rng = np.random.default_rng(3)
    count = 1 if task == "sign" else 3
    outputs = rng.normal(0, 1, (2, count, 5))
    targets = rng.random((5, count))
    if task == "classes":
        targets /= targets.sum(axis=1, keepdims=True)
    errors = errors_of(task, outputs, targets[None])
    for place in np.ndindex(outputs.shape):
        sides = []
        for move in (1e-5, -1e-5):
            moved = outputs.copy()
            moved[place] += move
            sides.append(losses_of(task, moved, targets[None])[place[0], place[2]])
        assert errors[place] == pytest.approx((sides[0] - sides[1]) / 2e-5, abs=1e-8)


def test_the_loss_of_classes_is_cross_entropy():
    outputs = np.log(np.array([[0.5, 0.1], [0.25, 0.1], [0.25, 0.8]]))[None]
    targets = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    losses = losses_of("classes", outputs, targets[None])
    assert losses[0] == pytest.approx([-np.log(0.5), -np.log(0.8)])


def trained(seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(0, 0.5, (300, 2)).astype(np.float32)
    targets = (rows[:, :1] * rows[:, 1:] > 0).astype(np.float32)
    models = initial(Shape("products", 2, 2, 1), 3, rng)
    batches = Batches(rows, targets, np.zeros(2, np.float32))
    train(models, "sign", batches, rng, 400, (3e-2, 1e-3))
    return models, rows, targets


def test_a_product_learns_what_no_form_can():
    models, rows, targets = trained(0)
    right = ((outputs_of(models, rows)[:, 0] > 0) == (targets[:, 0] > 0)).mean(axis=1)
    assert right.max() > 0.95


def test_training_is_reproducible_to_the_bit():
    first, again, other = trained(1)[0], trained(1)[0], trained(2)[0]
    assert first.forms.tobytes() == again.forms.tobytes()
    assert first.forms.tobytes() != other.forms.tobytes()


def test_noise_is_fresh_and_only_where_it_is_asked_for():
    rows = np.ones((64, 2), np.float32)
    batches = Batches(rows, rows, np.array([0.5, 0], np.float32))
    rng = np.random.default_rng(0)
    first, second = batches.draw(rng)[0], batches.draw(rng)[0]
    assert (first[..., 1:] == 1).all()
    assert not np.array_equal(first[..., 0], second[..., 0])
    assert 0.3 < first[..., 0].std() < 0.7
    assert with_one(rows).shape == (1, 64, 3)


def test_groups_are_the_rows_of_models_of_their_own():
    rows = np.arange(20, dtype=np.float32)[:, None]
    drawn, targets = Batches(rows, rows, np.zeros(1, np.float32), (5, 15)).draw(np.random.default_rng(0))
    assert drawn.shape == (2, 32, 2)
    assert (drawn[..., :1] == targets).all()
    assert (drawn[0, :, 0] < 5).all()
    assert (drawn[1, :, 0] >= 5).all()
    models = initial(Shape("squares", 1, 1, 1), 4, np.random.default_rng(1), np.float64)
    factors, units, outputs = models.values(drawn)
    errors = errors_of("numbers", outputs, targets)
    gradient = models.backwards(drawn, factors, units, errors)
    losses = losses_of("numbers", outputs, targets)
    for number in range(4):
        one, group = models.part([number]), slice(number // 2, number // 2 + 1)
        factors, units, alone = one.values(drawn[group])
        np.testing.assert_allclose(outputs[number], alone[0])
        slopes = one.backwards(drawn[group], factors, units, errors_of("numbers", alone, targets[group]))
        np.testing.assert_allclose(gradient.forms[number], slopes.forms[0])
        np.testing.assert_allclose(losses[number], ((alone[0] - targets[group][0].T) ** 2)[0] / 2)
