"""Arrays of intervals between floats, whose operations round outwards.

The floats of IEEE 754 are the nearest to the result of every sum, product, quotient and root, so a step of one float
outwards encloses it. What is not a number stands for "nothing is known" and stays so.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .elementary import POINT_FUNCTIONS, extremes_between

__all__ = ["Floats", "Interval", "around", "dot", "point_function"]

Floats = NDArray[np.float64]

#: At least twice what rounding to the nearest changes, in relation to the result.
ROUNDING = 2.0**-52


def _down(values: Floats) -> Floats:
    return np.nextafter(values, -np.inf)


def _up(values: Floats) -> Floats:
    return np.nextafter(values, np.inf)


class Interval:
    """From ``low`` to ``high``, element by element."""

    __slots__ = ("high", "low")

    def __init__(self, low: Floats, high: Floats) -> None:
        self.low = low
        self.high = high

    def __getitem__(self, key: Any) -> Interval:
        return Interval(self.low[key], self.high[key])

    def __setitem__(self, key: Any, value: Interval) -> None:
        self.low[key] = value.low
        self.high[key] = value.high

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __add__(self, other: Interval) -> Interval:
        return Interval(_down(self.low + other.low), _up(self.high + other.high))

    def __sub__(self, other: Interval) -> Interval:
        return self + -other

    def __mul__(self, other: Interval) -> Interval:
        corners = (self.low * other.low, self.low * other.high, self.high * other.low, self.high * other.high)
        low = np.minimum(np.minimum(corners[0], corners[1]), np.minimum(corners[2], corners[3]))
        high = np.maximum(np.maximum(corners[0], corners[1]), np.maximum(corners[2], corners[3]))
        return Interval(_down(low), _up(high))

    def inverse(self) -> Interval:
        """One over it; nothing is known where it reaches zero."""
        known = np.where((self.low > 0) | (self.high < 0), 1.0, np.nan)
        return Interval(_down(known / self.high), _up(known / self.low))

    def sqrt(self) -> Interval:
        """The square root, of what is not below zero; nothing is known where all of it is."""
        low = np.where(self.high < 0, np.nan, np.maximum(self.low, 0.0))
        return Interval(np.maximum(_down(np.sqrt(low)), 0.0), _up(np.sqrt(self.high)))

    def magnitude(self) -> Floats:
        """The largest absolute value."""
        return np.maximum(np.abs(self.low), np.abs(self.high))


def around(numerators: Any, denominator: int) -> Interval:
    """Whole numbers over a common denominator; a quotient of whole numbers is the nearest float."""
    values = np.array([int(value) / denominator for value in np.ravel(numerators)], dtype=np.float64)
    values = values.reshape(np.shape(numerators))
    return Interval(_down(values), _up(values))


def around_number(value: Fraction) -> Interval:
    """One number."""
    return around([value.numerator], value.denominator)


def dot(left: Interval, right: Interval) -> Interval:
    """The sum over the first axis of all products."""
    products = left * right
    if len(products.low) == 1:
        return products[0]
    # A sum of n floats in any order is off by less than n·2^-53 times the sum of their sizes.
    rounding = ROUNDING * len(products.low)
    low = products.low.sum(axis=0) - rounding * np.abs(products.low).sum(axis=0)
    high = products.high.sum(axis=0) + rounding * np.abs(products.high).sum(axis=0)
    return Interval(_down(low), _up(high))


def point_function(name: str, values: Interval) -> Interval:
    """A function of :data:`~skinny.model.functions.elementary.POINT_FUNCTIONS` of one row of intervals."""
    bounds = [_bounds(name, low, high) for low, high in zip(values.low.tolist(), values.high.tolist(), strict=True)]
    low, high = np.array(bounds, dtype=np.float64).reshape(-1, 2).T
    return Interval(low.copy(), high.copy())


def _bounds(name: str, low: float, high: float) -> tuple[float, float]:
    if not (np.isfinite(low) and np.isfinite(high)) or (name == "log" and low <= 0):
        return np.nan, np.nan
    function = POINT_FUNCTIONS[name]
    first, last = function(low), function(high)
    if name not in ("sin", "cos"):  # all others rise
        return first[0], last[1]
    turns = extremes_between(low, high)
    crest = 1 if name == "sin" else 0
    return (
        -1.0 if (crest + 2) % 4 in turns else min(first[0], last[0]),
        1.0 if crest in turns else max(first[1], last[1]),
    )
