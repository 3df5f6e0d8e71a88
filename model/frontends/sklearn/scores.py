"""Estimators whose scores are linear or quadratic in the features: linear models, discriminants, naive Bayes."""

from __future__ import annotations

from typing import Any

import numpy as np
from skinny.model.formula.formula import Formula

from ..affine import Features, Floats, Products, kept
from .attributes import NOISE, floats, refuse, without_noise

__all__ = ["linear", "naive_bayes", "quadratic_discriminant"]

#: A coefficient that changes a score by this much over the spread of its input fits no word beside the others.
LARGEST = 2.0**24
#: Coefficients that a refusal names.
NAMED = 3


def linear(features: Features, estimator: Any, keep_zeros: bool = False) -> tuple[Formula, ...]:
    """``coef_·features + intercept_``."""
    matrix = np.atleast_2d(floats(estimator, "coef_"))
    bias = np.broadcast_to(np.atleast_1d(floats(estimator, "intercept_")), len(matrix))
    if hasattr(estimator, "scalings_"):  # a discriminant leaves rounding noise for columns that were constant
        matrix = without_noise(matrix)
    return features.mapped(kept(matrix, keep_zeros), kept(bias, keep_zeros)).formulas


def naive_bayes(features: Features, estimator: Any, names: tuple[str, ...]) -> tuple[Formula, ...]:
    """The logarithms of the joint probabilities of ``GaussianNB``, without what all classes share."""
    mean, variance = floats(estimator, "theta_"), floats(estimator, "var_")
    square, slope = -1 / (2 * variance), mean / variance
    bias = np.log(floats(estimator, "class_prior_")) - 0.5 * (np.log(2 * np.pi * variance) + mean**2 / variance).sum(1)
    spread = mean.max(0) - mean.min(0) + np.sqrt(variance.max(0))
    alike = (np.ptp(mean, axis=0) == 0) & (np.ptp(variance, axis=0) == 0)
    square[:, alike] = slope[:, alike] = 0.0
    wide = np.argwhere((np.abs(square) * spread**2 > LARGEST).T)
    if len(wide):
        largest = float(np.abs(square).max())
        classes = estimator.classes_.tolist()
        told = ", ".join(f"{names[j] if j < len(names) else j} in class {classes[c]}" for j, c in wide[:NAMED].tolist())
        more = f" and {len(wide) - NAMED:,} more" if len(wide) > NAMED else ""
        refuse(
            estimator,
            f"the coefficients of {told}{more} are out of proportion, up to {largest:.2g}, because their variance is "
            "nearly zero",
            f"fit it with a larger var_smoothing than {estimator.var_smoothing:g}, such as 1e-2",
        )
    return _quadratic(features, [np.diag(row) for row in square], slope, bias)


def quadratic_discriminant(features: Features, estimator: Any) -> tuple[Formula, ...]:
    """The scores of ``QuadraticDiscriminantAnalysis``: the logarithms of the joint probabilities, up to a number and to
    the columns that all classes share, as those that were constant."""
    mean, prior = floats(estimator, "means_"), floats(estimator, "priors_")
    scalings = [np.asarray(part, dtype=np.float64) for part in estimator.scalings_]
    rotations = [np.asarray(part, dtype=np.float64) for part in estimator.rotations_]
    inverses = np.stack([(turn / size) @ turn.T for turn, size in zip(rotations, scalings, strict=True)])
    noise = NOISE * np.abs(inverses).max()
    apart = np.abs(inverses * (1 - np.eye(len(mean[0])))).max(axis=(0, 2)) <= noise
    shared = apart & (np.ptp(np.diagonal(inverses, axis1=1, axis2=2), axis=0) <= noise) & (np.ptp(mean, axis=0) == 0)
    inverses[:, shared] = inverses[:, :, shared] = 0.0
    slopes = np.einsum("cij,cj->ci", inverses, mean)
    spreads = np.array([np.log(size).sum() for size in scalings])
    biases = np.log(prior) - 0.5 * ((slopes * mean).sum(axis=1) + spreads)
    return _quadratic(features, list(-0.5 * inverses), slopes, biases)


def _quadratic(features: Features, squares: list[Floats], slopes: Floats, biases: Floats) -> tuple[Formula, ...]:
    """Quadratic forms of the features, or for two classes their difference, the second less the first. A scaler that
    moves its features stays in front of them: in squares of numbers that are far from zero most digits cancel."""
    if len(squares) == 2:
        squares, slopes, biases = [squares[1] - squares[0]], slopes[1:] - slopes[:1], biases[1:] - biases[:1]
    if not features.separate or features.offset.any():
        features = Features.of(features.formulas)
    matrix = features.matrix
    products = Products(features.values)
    return tuple(
        products.form(matrix.T @ square @ matrix, matrix.T @ slope, float(bias))
        for square, slope, bias in zip(squares, slopes, biases, strict=True)
    )
