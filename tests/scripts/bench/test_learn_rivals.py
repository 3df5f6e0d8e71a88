"""Rivals: their cycles are those of programs, and what they reach is plausible."""

import numpy as np
from skinny.model.learn.network import Shape, initial
from skinny.model.learn.pruning import cycles
from skinny.scripts.bench.learn_rivals import linear_cycles, rivals
from sklearn.datasets import load_iris


def test_cycles_are_counted_as_ours():
    weights = np.array([[1.0, 0, 2], [0, 0, 3], [1, 1, 1]])
    models = initial(Shape("linear", 0, 3, 3), 1, np.random.default_rng(0))
    models.kept[0, :, :-1] = weights != 0
    assert linear_cycles(weights, argmax=True) == cycles(models, "classes")[0]
    assert linear_cycles(weights, argmax=False) == cycles(models, "numbers")[0]
    models = initial(Shape("linear", 0, 3, 1), 1, np.random.default_rng(0))
    assert linear_cycles(np.ones((1, 3)), argmax=True) == cycles(models, "sign")[0]


def test_rivals_of_classes_and_of_numbers():
    rows, classes = load_iris(return_X_y=True)
    found = rivals(rows[::2], classes[::2], rows[1::2], classes[1::2], 0, numbers=False)
    assert set(found) == {"logistic", "L1", "tree", "RBF SVM"}
    assert all(score > 0.85 for _, score in found.values())
    assert found["L1"][0] <= found["logistic"][0] == 4 * 3 + 8
    numbers = rivals(rows[::2, :3], rows[::2, 3], rows[1::2, :3], rows[1::2, 3], 0, numbers=True)
    assert numbers["ridge"][0] == 3 + 3
    assert all(score > 0.8 for _, score in numbers.values())
