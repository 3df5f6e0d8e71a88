"""What is read of a fitted estimator, and how one is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np
from skinny.model.errors import InputError

from ..affine import Floats

__all__ = ["NOISE", "class_name", "expect_fitted", "floats", "known_class", "refuse", "without_noise"]

#: The packages that estimators come from.
HOMES = ("sklearn", "skinny")
#: Coefficients that are smaller than the largest by this are what rounding left of zero.
NOISE = 1e-12


def known_class(estimator: Any, known: Mapping[str, Any]) -> str | None:
    """The name of the nearest class of scikit-learn, or of ours, that is ``known``: subclasses count as what they
    extend."""
    for base in type(estimator).__mro__:
        if base.__module__.partition(".")[0] in HOMES and base.__name__ in known:
            return base.__name__
    return None


def class_name(estimator: Any) -> str:
    """How messages name an estimator."""
    return type(estimator).__name__


def refuse(estimator: Any, why: str, instead: str) -> NoReturn:
    """Raise the :exc:`InputError` that says why ``estimator`` cannot become a program and what to do instead."""
    raise InputError(f"{class_name(estimator)}: {why}; {instead}")


def expect_fitted(estimator: Any, attribute: str) -> None:
    """Refuse an ``estimator`` that was not fitted, which has no ``attribute``."""
    if not hasattr(estimator, attribute):
        refuse(estimator, "it is not fitted", "call fit(X, y) before compiling it")


def floats(estimator: Any, attribute: str) -> Floats:
    """A fitted attribute as finite numbers."""
    expect_fitted(estimator, attribute)
    found = getattr(estimator, attribute)
    if hasattr(found, "toarray"):  # a sparse matrix
        found = found.toarray()
    values = np.asarray(found, dtype=np.float64)
    if not np.isfinite(values).all():
        refuse(estimator, f"{attribute} holds what is no finite number", "fit it on data without infinities")
    return values


def without_noise(matrix: Floats) -> Floats:
    """``matrix`` with zeros in columns that hold rounding noise alone, which a column that was constant leaves."""
    sizes = np.abs(matrix).max(axis=0)
    return np.where(sizes < NOISE * sizes.max(), 0.0, matrix)
