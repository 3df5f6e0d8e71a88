"""Pointwise: operators that are not affine: rectifiers, the larger of two, powers, and functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from skinny.model.formula.function import sigmoid, tanh

from .affine import alike, windows_of_pool
from .forms import NOTHING, Forms, joined
from .step import Step, Value

__all__ = ["POINTWISE", "clipped"]

#: A bound of Clip from here on, the largest number of 32 bits, bounds nothing.
UNBOUNDED = float(np.finfo(np.float32).max)


def _relu(step: Step) -> Value:
    return step.held.relu(step.forms(), step.name)


def _leaky_relu(step: Step) -> Value:
    return step.held.leaky(step.forms(), step.number("alpha", 0.01), step.name)


def _abs(step: Step) -> Value:
    return step.held.leaky(step.forms(), -1.0, step.name)


def _clip(step: Step) -> Value:
    low, high = step.number("min", -np.inf), step.number("max", np.inf)
    if step.has(1):
        low = float(step.constant(1, "minimum").item())
    if step.has(2):
        high = float(step.constant(2, "maximum").item())
    return clipped(step, step.forms(), low, high)


def clipped(step: Step, forms: Forms, low: float, high: float) -> Forms:
    """``forms`` between ``low`` and ``high``: min(x, high) is high - relu(high - x), so that x is written once."""
    if low > -UNBOUNDED:
        forms = step.held.relu(forms.scaled(1.0, -low), step.name).scaled(1.0, low)
    if high < UNBOUNDED:
        forms = step.held.relu(forms.scaled(-1.0, high), step.name).scaled(-1.0, high)
    return forms


def _extreme(step: Step, sign: float) -> Value:
    """The largest, or with the sign -1 the smallest, of all inputs."""
    out = step.forms(0).scaled(sign)
    for index in range(1, len(step.given)):
        both = alike(step, out, step.forms(index).scaled(sign))
        places = np.stack([both[0].places, both[0].size + both[1].places], axis=-1)
        out = step.held.largest(joined(both), places, step.name)
    return out.scaled(sign)


def _max_pool(step: Step) -> Value:
    if step.outputs > 1:
        step.refuse("the places of its maxima are read", "leave them out: only the maxima themselves are computed")
    forms = step.forms()
    found = windows_of_pool(step, forms)
    planes = np.arange(int(np.prod(forms.shape[:2]))).reshape(*forms.shape[:2], 1, 1) * int(np.prod(forms.shape[2:]))
    columns = np.where(found.places == NOTHING, NOTHING, planes + found.places)
    return step.held.largest(forms, columns, step.name).reshape((*forms.shape[:2], *found.shape))


def _pow(step: Step) -> Value:
    exponents = np.unique(step.constant(1, "exponent"))
    if len(exponents) != 1 or exponents[0] < 0 or exponents[0] != np.floor(exponents[0]):
        step.refuse("its exponent is not one whole number from 0 on", "take such a power, or leave it to the host")
    exponent = int(exponents[0])
    forms, _ = alike(step, step.forms(0), step.forms(1))
    if forms.constant:
        return forms.numbers**exponent
    if exponent == 1:
        return forms
    return step.held.applied(forms, lambda one: one**exponent, step.name, exponent % 2 == 0)


def _sigmoid(step: Step) -> Value:
    forms = step.forms()
    if forms.constant:
        return np.asarray(0.5 + 0.5 * np.tanh(forms.numbers / 2))
    return step.held.applied(forms, sigmoid, step.name)


def _tanh(step: Step) -> Value:
    forms = step.forms()
    return np.tanh(forms.numbers) if forms.constant else step.held.applied(forms, tanh, step.name)


POINTWISE: dict[str, Callable[[Step], Value]] = {
    "Abs": _abs,
    "Clip": _clip,
    "LeakyRelu": _leaky_relu,
    "Max": partial(_extreme, sign=1.0),
    "MaxPool": _max_pool,
    "Min": partial(_extreme, sign=-1.0),
    "Pow": _pow,
    "Relu": _relu,
    "Sigmoid": _sigmoid,
    "Tanh": _tanh,
}
