"""SkinnyClassifier and SkinnyRegressor, whose affine forms take the scalers in front of them in."""

from __future__ import annotations

from typing import Any

import numpy as np
from skinny.model.formula.formula import Formula, constant, product, total

from ..affine import Features
from ..imported import Layer
from .attributes import expect_fitted

__all__ = ["learned"]


def learned(features: Features, estimator: Any) -> tuple[tuple[Formula, ...], list[Layer]]:
    """The outputs in floats, and the units as a layer."""
    expect_fitted(estimator, "learned_")
    found = estimator.learned_
    return _units(features, found) if hasattr(found, "reads") else _pattern(features, found)


def _units(features: Features, found: Any) -> tuple[tuple[Formula, ...], list[Layer]]:
    """Outputs that are affine in the features and in units: a form's square, a product of two, or a form where it is
    above zero."""
    units, per, columns = found.factors.shape
    forms = np.concatenate([found.factors.reshape(units * per, columns), found.outputs])
    mapped = features.mapped(forms[:, :-1], forms[:, -1])
    first = mapped.part(slice(units * per)).formulas
    values = []
    for number in range(units):
        one, other = first[number * per], first[number * per + per - 1]
        if found.family == "relu":
            values.append(Formula("relu", (one,)))
        else:
            values.append(product([one, other]) if per == 2 else one**2)
    rest = mapped.part(slice(units * per, None))
    outputs = Features((*rest.values, *values), np.hstack([rest.matrix, found.reads]), rest.offset)
    return outputs.formulas, [Layer("units", tuple(values))] * bool(values)


def _pattern(features: Features, found: Any) -> tuple[tuple[Formula, ...], list[Layer]]:
    """The output of a searched pattern: register 0 after the steps, from the start ``(0, 1, 0)``."""
    forms = found.model.forms[0]
    scalars = features.mapped(forms[:, :-1], forms[:, -1]).formulas
    one = constant(1)
    registers: list[Formula | None] = [None, one, None]
    steps = zip(found.model.dst[0].tolist(), found.model.src[0].tolist(), scalars, strict=True)
    for dst, src, scalar in steps:
        held, before = registers[src], registers[dst]
        if held is not None:
            added = scalar if held is one else product([scalar, held])
            registers[dst] = added if before is None else total([before, added])
    out = registers[0] or constant(0)
    return (out if found.size == 1 else product([constant(found.size), out]),), []
