"""Measure: the ranges of a model's layers at rows, and how far fixed point is from them.

Values in fixed point are computed layer after layer, in the order of the formulas: what the program computes may differ
from them in the last bit, where it multiplies in another order.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from skinny.model.program.units import scaled as times
from skinny.model.rings import Array, FixedPoint

from .imported import Imported
from .ranges import Floats, row_values
from .scale import Scaled

__all__ = ["LayerMeasure", "decided", "measure_layers", "scores"]


class LayerMeasure(NamedTuple):
    """The range of a layer's values at rows in floats, and the power of two that they are divided by in fixed point,
    the part of the word's range that they use there, their largest error and the root of the mean of its square, None
    without a format."""

    name: str
    values: int
    low: float
    high: float
    exponent: int | None
    used: float | None
    largest_error: float | None
    mean_error: float | None


def scores(imported: Imported, columns: Mapping[str, Floats]) -> Floats:
    """The outputs of the model itself at rows, functions and all, in floats: of shape ``(rows, outputs)``."""
    return np.stack(row_values(columns, list(imported.outputs.values())), axis=1)


def decided(values: Floats) -> NDArray[np.int64]:
    """The numbers of the classes by their scores, of shape ``(rows, outputs)``."""
    chosen = values[:, 0] > 0 if values.shape[1] == 1 else values.argmax(axis=1)
    return chosen.astype(np.int64)


def measure_layers(
    imported: Imported, columns: Mapping[str, Floats], scaled: Scaled | None, ring: FixedPoint | None
) -> list[LayerMeasure]:
    """The inputs as the first layer, then the layers in order. ``columns`` are rows in the user's units."""
    nodes = [value for layer in imported.layers for value in layer.values]
    found = iter(row_values(columns, nodes))
    floats = [list(columns.values())] + [[next(found) for _ in layer.values] for layer in imported.layers]
    names = ["inputs", *(layer.name for layer in imported.layers)]
    if scaled is None or ring is None:
        return [_measure(name, values, None, [], ring) for name, values in zip(names, floats, strict=True)]
    words = {
        name: np.floor(np.ldexp(column, ring.frac - scaled.input_exponents[name]) + 0.5).astype(np.int64)
        for name, column in columns.items()
    }
    held = iter(row_values(words, [value for layer in scaled.layers for value in layer.values], ring))
    exponents = [[scaled.input_exponents[name] for name in columns], *map(list, scaled.layer_exponents)]
    fixed = [list(words.values())] + [[next(held) for _ in layer.values] for layer in scaled.layers]
    return [
        _measure(name, values, powers, elements, ring)
        for name, values, powers, elements in zip(names, floats, exponents, fixed, strict=True)
    ]


def _measure(
    name: str, values: list[Floats], exponents: list[int] | None, elements: list[Array], ring: FixedPoint | None
) -> LayerMeasure:
    low = min((float(value.min()) for value in values), default=0.0)
    high = max((float(value.max()) for value in values), default=0.0)
    if exponents is None or ring is None or not values:
        return LayerMeasure(name, len(values), low, high, None, None, None, None)
    errors = [
        np.abs(np.ldexp(element.astype(np.float64), exponent - ring.frac) - value)
        for value, element, exponent in zip(values, elements, exponents, strict=True)
    ]
    largest = max(int(np.abs(element).max()) for element in elements)
    return LayerMeasure(
        name,
        len(values),
        low,
        high,
        max(exponents),
        float(times(Fraction(largest), 1 - ring.bits)),
        max(float(error.max()) for error in errors),
        float(np.sqrt(np.mean([np.mean(error**2) for error in errors]))),
    )
