"""Steps in front of an estimator: scalers, selections and PCA, which are affine, and polynomial features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from skinny.model.formula.formula import product

from ..affine import Features
from .attributes import floats, known_class, refuse, without_noise

__all__ = ["TRANSFORMS", "transformed"]

#: Polynomial features that are so many are not written down.
MOST_FEATURES = 20_000


def transformed(features: Features, step: Any) -> Features:
    """``features`` behind ``step``, which must be one of :data:`TRANSFORMS`."""
    name = known_class(step, TRANSFORMS)
    if name is None:
        refuse(step, "this step has no front end", f"the steps that have are {', '.join(TRANSFORMS)}")
    found = TRANSFORMS[name](features, step)
    return found


def _scaled(features: Features, scale: Any, offset: Any) -> Features:
    """``scale·feature + offset``, a number of each or one for all."""
    count = len(features.offset)
    return features.mapped(np.diag(np.broadcast_to(scale, count)), np.broadcast_to(offset, count).astype(np.float64))


def _standard(features: Features, step: Any) -> Features:
    scale = 1 / floats(step, "scale_") if step.with_std else np.ones(len(features.offset))
    mean = floats(step, "mean_") if step.with_mean else np.zeros(len(features.offset))
    return _scaled(features, scale, -mean * scale)


def _min_max(features: Features, step: Any) -> Features:
    if step.clip:
        refuse(step, "clip=True cuts its values off, which takes two relus a feature", "fit it with clip=False")
    return _scaled(features, floats(step, "scale_"), floats(step, "min_"))


def _max_abs(features: Features, step: Any) -> Features:
    if getattr(step, "clip", False):
        refuse(step, "clip=True cuts its values off, which takes two relus a feature", "fit it with clip=False")
    return _scaled(features, 1 / floats(step, "scale_"), 0.0)


def _robust(features: Features, step: Any) -> Features:
    count = len(features.offset)
    scale = 1 / floats(step, "scale_") if step.with_scaling else np.ones(count)
    center = floats(step, "center_") if step.with_centering else np.zeros(count)
    return _scaled(features, scale, -center * scale)


def _pca(features: Features, step: Any) -> Features:
    matrix = without_noise(floats(step, "components_"))
    if step.whiten:
        matrix = matrix / np.sqrt(floats(step, "explained_variance_"))[:, None]
    return features.mapped(matrix, -matrix @ floats(step, "mean_"))


def _projected(features: Features, step: Any) -> Features:
    matrix = without_noise(floats(step, "components_"))
    return features.mapped(matrix, np.zeros(len(matrix)))


def _selected(features: Features, step: Any) -> Features:
    matrix = np.eye(len(features.offset))[step.get_support()]
    return features.mapped(matrix, np.zeros(len(matrix)))


def _powers(features: Features, step: Any) -> Features:
    exponents = floats(step, "powers_").astype(int)
    if len(exponents) > MOST_FEATURES:
        refuse(step, f"it makes {len(exponents):,} features", "take a lower degree, or PCA in front of it")
    values = features.formulas
    products, matrix, offset = [], [], np.zeros(len(exponents))
    for number, row in enumerate(exponents):
        factors = [
            value**power if power > 1 else value for value, power in zip(values, row.tolist(), strict=True) if power
        ]
        if not factors:
            offset[number] = 1.0
            continue
        matrix.append(number)
        products.append(factors[0] if len(factors) == 1 else product(factors))
    return Features(tuple(products), np.eye(len(exponents))[:, matrix], offset)


def _plain(features: Features, step: Any) -> Features:
    if step.func is not None:
        refuse(step, "its function is Python, not a formula", "leave it out, and apply the function to the inputs")
    return features


TRANSFORMS: dict[str, Callable[[Features, Any], Features]] = {
    "StandardScaler": _standard,
    "MinMaxScaler": _min_max,
    "MaxAbsScaler": _max_abs,
    "RobustScaler": _robust,
    "PCA": _pca,
    "TruncatedSVD": _projected,
    "PolynomialFeatures": _powers,
    "VarianceThreshold": _selected,
    "SelectKBest": _selected,
    "SelectPercentile": _selected,
    "SelectFromModel": _selected,
    "FunctionTransformer": _plain,
}
