"""Probabilities: what a host makes of the results of a program that sends the scores of classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["PROBABILITIES", "probabilities"]

#: Of each result for itself, or of all results of a row together.
PROBABILITIES = ("sigmoid", "softmax")


def probabilities(kind: str, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """``scores`` of shape ``(rows, results)`` by the function of :data:`PROBABILITIES`, or themselves if there is none.
    Nothing overflows, however large they are."""
    match kind:
        case "sigmoid":
            return np.asarray(0.5 + 0.5 * np.tanh(scores / 2))
        case "softmax":
            powers = np.exp(scores - scores.max(axis=1, keepdims=True))
            return np.asarray(powers / powers.sum(axis=1, keepdims=True))
        case _:
            return scores
