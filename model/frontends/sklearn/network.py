"""Networks: MLPClassifier and MLPRegressor."""

from __future__ import annotations

from typing import Any

import numpy as np
from skinny.model.formula.formula import Formula
from skinny.model.formula.function import apply

from ..affine import Features, kept
from ..imported import Layer
from .attributes import expect_fitted, refuse

__all__ = ["network"]

#: What a hidden layer's activation is called in a formula; identity is none.
ACTIVATIONS = {"identity": "", "relu": "relu", "tanh": "tanh", "logistic": "sigmoid"}
#: Output activations that leave the order of the outputs as it is; the host computes them.
ORDERED = ("identity", "logistic", "softmax")


def network(features: Features, estimator: Any, keep_zeros: bool = False) -> tuple[tuple[Formula, ...], list[Layer]]:
    """The outputs before their activation, and the hidden layers."""
    expect_fitted(estimator, "coefs_")
    activation = estimator.activation
    if activation not in ACTIVATIONS:
        refuse(estimator, f"the activation {activation!r} has no front end", f"take {', '.join(ACTIVATIONS)}")
    if estimator.out_activation_ not in ORDERED:
        refuse(
            estimator, f"the output activation {estimator.out_activation_!r} has no front end", "take a squared loss"
        )
    layers: list[Layer] = []
    pairs = list(zip(estimator.coefs_, estimator.intercepts_, strict=True))
    for number, (weights, bias) in enumerate(pairs):
        parts = (np.asarray(part, dtype=np.float64).T for part in (weights, bias))
        features = features.mapped(*(kept(part, keep_zeros) for part in parts))
        if number == len(pairs) - 1:
            break
        values = features.formulas
        if ACTIVATIONS[activation]:
            values = tuple(apply(ACTIVATIONS[activation], value) for value in values)
            layers.append(Layer(f"hidden layer {number + 1}", values))
            features = Features.of(values)
    return features.formulas, layers
