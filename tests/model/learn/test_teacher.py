"""The closed form of leaving out rows equals leaving them out."""

import numpy as np
import pytest
from skinny.model.learn.teacher import fit_teacher


def test_rows_left_out_are_predicted_as_without_them():
    rng = np.random.default_rng(0)
    rows = rng.normal(0, 1, (30, 3))
    targets = np.stack([np.sin(rows[:, 0]), rows[:, 1] * rows[:, 2]], axis=1)
    first = fit_teacher(rows, targets, rng)
    again = fit_teacher(rows, targets, rng, first)
    assert (again.gamma, again.ridge) == (first.gamma, first.ridge)
    np.testing.assert_allclose(again.weights, first.weights, atol=1e-9)
    for out in (0, 7, 29):
        others = np.delete(np.arange(30), out)
        gaps = ((rows[others, None] - rows[others]) ** 2).sum(axis=2)
        kernel = np.exp(-first.gamma * gaps) + first.ridge * np.eye(29)
        near = np.exp(-first.gamma * ((rows[out] - rows[others]) ** 2).sum(axis=1))
        expected = near @ np.linalg.solve(kernel, targets[others])
        for teacher in (first, again):
            assert teacher.left_out[out] == pytest.approx(expected, abs=1e-8)


def test_a_smooth_function_is_learned():
    rng = np.random.default_rng(1)
    rows, new = rng.uniform(-1, 1, (200, 2)), rng.uniform(-1, 1, (50, 2))

    def truth(at):
        return (at[:, :1] * at[:, 1:]) ** 2

    teacher = fit_teacher(rows, truth(rows), rng)
    assert np.abs(teacher.predict(new) - truth(new)).mean() < 0.01


def test_equal_rows_are_no_trouble():
    teacher = fit_teacher(np.ones((5, 2)), np.array([[0.0], [1], [0], [1], [0]]), np.random.default_rng(0))
    assert 0 < teacher.predict(np.ones((1, 2)))[0, 0] < 0.5
