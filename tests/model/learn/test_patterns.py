"""Patterns of influences: gradients without stored activations, random patterns and grown ones."""

import numpy as np
import pytest
from skinny.model.learn.patterns import COUNT, KEPT, STEPS, Patterns, grown_patterns, random_patterns


def small(inputs=2):
    """Two patterns of four steps whose numbers are few quarters."""
    rng = np.random.default_rng(3)
    dst, src = np.array([[2, 0, 1, 0], [0, 2, 0, 1]]), np.array([[1, 2, 0, 1], [1, 0, 2, 0]])
    forms = rng.choice([-3, -2, -1, 1, 2, 5], (2, 4, inputs + 1)) / 4
    return Patterns(dst, src, forms, np.ones(forms.shape, bool))


def test_gradients_are_exact_differences():
    """Each weight stands in one step, so that the output is linear in it: a difference is exactly the derivative."""
    models = small()
    rows = np.array([[0.5, -0.25, 1], [1, 2, 1], [-1.5, 0.75, 1]])
    errors = np.array([[1, -0.5, 2], [0.25, 1, -1]])
    scalars, registers = models.run(rows)
    outputs = registers[:, 0].copy()
    gradient, squares = models.backwards(rows, scalars, registers, errors)
    np.testing.assert_allclose(registers, np.broadcast_to([[[0], [1], [0]]], registers.shape), atol=1e-12)
    for place in np.ndindex(models.forms.shape):
        moved = models.part(np.arange(2))
        moved.forms[place] += 1
        slopes = (moved.run(rows)[1][:, 0] - outputs)[place[0]] * errors[place[0]]
        assert gradient[place] == pytest.approx(slopes.mean(), abs=1e-12)
        assert squares[place] == pytest.approx((slopes * slopes).mean(), abs=1e-12)


def test_random_patterns_read_what_was_written():
    models = random_patterns(4, np.random.default_rng(0))
    assert models.forms.shape == (COUNT, STEPS, 5)
    assert (models.dst != models.src).all()
    assert (models.src[:, 0] == 1).all()
    assert len({tuple(row) for row in (3 * models.dst + models.src).tolist()}) > COUNT // 2
    outputs = models.run(np.array([[0.3, 0.2, -0.5, 0.7, 1]]))[1][:, 0]
    assert (outputs != 0).all()


def test_grown_patterns_are_different_and_have_all_steps():
    rng = np.random.default_rng(2)
    rows = np.column_stack([rng.uniform(-1, 1, (400, 3)), np.ones(400)])
    targets = rows[:, :1] * rows[:, 1:2] + rows[:, 2:3]
    ticks = []
    models = grown_patterns("numbers", rows, targets, np.random.default_rng(0), 0.2, lambda: ticks.append(1))
    assert models.dst.shape == (KEPT, STEPS)
    assert models.forms.shape == (KEPT, STEPS, 4)
    assert len({tuple(row) for row in (3 * models.dst + models.src).tolist()}) == KEPT
    assert (models.src[:, 0] == 1).all()
    assert ticks
    outputs = models.run(rows)[1][:, 0]
    # The first has the least loss, and a form alone cannot compute a product.
    wrong = ((outputs - targets[:, 0]) ** 2).mean(axis=1)
    assert (np.diff(wrong) >= -1e-9).all()
    assert wrong[0] < 0.1 * targets.var()
