"""The closed form of leaving out rows equals leaving them out, and a discriminant that of scikit-learn."""

import numpy as np
import pytest
from skinny.model.learn.teacher import EVEN, discriminant, fit_teacher
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis


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


def three_classes(count):
    rng = np.random.default_rng(2)
    classes = np.arange(count) % 7 % 3  # not equally many
    return rng.normal(0, 1, (count, 4)) @ rng.normal(0, 1, (4, 4)) + 2 * np.eye(3, 4)[classes], classes


def test_the_discriminant_is_that_of_scikit_learn():
    rows, classes = three_classes(60)
    outputs = np.column_stack([rows, np.ones(60)]) @ discriminant(rows, classes, 3).T
    powers = np.exp(outputs)
    theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=EVEN).fit(rows, classes)
    np.testing.assert_allclose(powers / powers.sum(axis=1, keepdims=True), theirs.predict_proba(rows), atol=1e-7)


def test_discriminants_of_poor_tables_are_finite():
    """A class that is missing, a constant column, fewer rows than columns, and rows that are all the same."""
    rows, classes = three_classes(8)
    wide = np.column_stack([rows, np.ones(8), rows**2, rows**3])
    forms = discriminant(wide[classes < 2], classes[classes < 2], 3)
    assert np.isfinite(forms).all()
    assert np.isfinite(discriminant(np.ones((4, 2)), np.array([0, 1, 2, 0]), 3)).all()
