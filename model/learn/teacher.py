"""Teachers. The usual one is ridge regression with a Gaussian kernel, whose width and ridge are chosen by leaving out
each row.

With the kernel matrix ``K = Q·diag(e)·Q'`` the prediction of row i by all the others is, in closed form,
``y_i − c_i / G_ii`` with ``G = (K + r·I)^-1`` and ``c = G·y``, so that all ridges share one decomposition.

Of few rows of several classes linear discriminant analysis is another: it has no choice to make, and few numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .network import Array

__all__ = ["Teacher", "discriminant", "fit_teacher"]

#: Widths, in parts of the median squared distance of two rows, and ridges that are tried.
WIDTHS = (0.1, 0.2, 0.4, 0.8, 1.6)
RIDGES = tuple(10.0**power for power in np.arange(-4, 1.1, 0.5))
#: Rows that the teacher is fitted to, at most: its work grows with their cube.
MOST = 1500
#: The part of the mean variance that the covariance of a class has in all directions.
EVEN = 0.01


class Teacher(NamedTuple):
    """What was fitted: rows, their weights for each output, the width; ``left_out`` are the predictions of the rows
    by the others."""

    rows: Array
    weights: Array
    gamma: float
    ridge: float
    left_out: Array

    def predict(self, rows: Array) -> Array:
        """The outputs for ``rows``, of shape ``(rows, outputs)``."""
        blocks = [
            _kernel(rows[at : at + 2048], self.rows, self.gamma) @ self.weights for at in range(0, len(rows), 2048)
        ]
        return np.concatenate(blocks)


def fit_teacher(rows: Array, targets: Array, rng: np.random.Generator, like: Teacher | None = None) -> Teacher:
    """The teacher of ``targets`` (of shape ``(rows, outputs)``) with the least squared error of rows left out, or with
    the width and the ridge of another that is ``like`` it."""
    chosen = np.arange(len(rows)) if len(rows) <= MOST else np.sort(rng.permutation(len(rows))[:MOST])
    rows, targets = rows[chosen].astype(np.float64), targets[chosen].astype(np.float64)
    distances = _distances(rows, rows)
    if like is not None:
        inverse = np.linalg.inv(np.exp(-like.gamma * distances) + like.ridge * np.eye(len(rows)))
        weights = inverse @ targets
        return Teacher(rows, weights, like.gamma, like.ridge, targets - weights / np.diag(inverse)[:, None])
    usual = float(np.median(distances[distances > 0])) if (distances > 0).any() else 1.0
    best: tuple[float, Teacher] | None = None
    for width in WIDTHS:
        gamma = 1 / (width * usual)
        values, vectors = np.linalg.eigh(np.exp(-gamma * distances))
        inside = vectors.T @ targets
        for ridge in RIDGES:
            scale = 1 / (np.maximum(values, 0) + ridge)
            weights = vectors @ (scale[:, None] * inside)
            diagonal = (vectors * vectors) @ scale
            wrong = weights / diagonal[:, None]
            error = float((wrong * wrong).mean())
            if best is None or error < best[0]:
                best = error, Teacher(rows, weights, gamma, ridge, targets - wrong)
    assert best is not None
    return best[1]


def discriminant(rows: Array, classes: Array, count: int) -> Array:
    """Affine forms of ``rows``, of shape ``(count, inputs + 1)``, whose softmax is the probability of each class if all
    are normal with one covariance: linear discriminant analysis. ``classes`` are numbers."""
    rows = rows.astype(np.float64)
    ones = np.eye(count)[classes]
    sizes = np.maximum(ones.sum(axis=0), 0.5)  # a class may be missing
    means = ones.T @ rows / sizes[:, None]
    inside = rows - means[classes]
    covariance = inside.T @ inside / len(rows)
    even = EVEN * np.trace(covariance) / len(covariance) + 1e-9
    slopes = np.linalg.solve((1 - EVEN) * covariance + even * np.eye(len(covariance)), means.T).T
    return np.column_stack([slopes, np.log(sizes / len(rows)) - (slopes * means).sum(axis=1) / 2])


def _distances(a: Array, b: Array) -> Array:
    squared = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1) - 2 * a @ b.T
    return np.asarray(np.maximum(squared, 0))


def _kernel(a: Array, b: Array, gamma: float) -> Array:
    return np.asarray(np.exp(-gamma * _distances(a.astype(np.float64), b)))
