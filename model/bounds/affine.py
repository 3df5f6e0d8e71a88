"""Affine enclosures of values with their errors: what a product, a sum and the relu of bounded values are bounded by.

A value of the program is enclosed by ``middle + slopes·symbols ± rest``, with symbols between -1 and 1: one for each
input, one for each named weight, and one for what was left over by each product of two values that vary. The ends
``low`` and ``high`` bound it as well. ``error`` bounds the distance of the word in the register from it. Floats lose
something in every step, and that is always added to ``rest`` or ``error``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from .registers import MANY_ZEROS

__all__ = ["Symbols", "Value"]

#: What a float operation may lose, relative to the sizes of its operands; sums of up to 2^12 floats are inside.
LOSS = 2.0**-40


@dataclass(frozen=True, eq=False, slots=True)
class Value:
    """An enclosure of the exact value, and the error of the actual one; ``zeros`` trailing bits of its word are
    certain to be zero."""

    middle: float
    slopes: NDArray[np.float64]
    rest: float
    low: float
    high: float
    error: float
    zeros: int

    @property
    def radius(self) -> float:
        """The most by which the value differs from ``middle``."""
        return float(np.abs(self.slopes).sum()) * (1 + LOSS) + self.rest

    @property
    def size(self) -> float:
        """The greatest absolute value."""
        return max(-self.low, self.high)

    @property
    def actual(self) -> tuple[float, float]:
        """The least and the greatest value that the register may hold."""
        return self.low - self.error, self.high + self.error

    @property
    def is_one(self) -> bool:
        return self.low == self.high == 1 and self.error == 0


class Symbols:
    """The symbols of one analysis, and the operations on values. ``half`` is half a step of the format with ``frac``
    fraction bits. No more than ``most`` symbols are made; what comes later is not told apart any more. Without
    ``exact`` a value is the word itself, so that what rounding may change is a part of it, and no error."""

    def __init__(self, frac: int, most: int, exact: bool = True) -> None:
        self.frac, self.half, self.most, self.exact = frac, 2.0 ** -(frac + 1), most, exact
        self.count = 0

    def value(
        self,
        middle: float,
        slopes: NDArray[np.float64],
        rest: float,
        ends: tuple[float, float],
        error: float,
        zeros: int,
    ) -> Value:
        """A value, with its ends narrowed to what the symbols allow."""
        whole = Value(middle, slopes, rest, -inf, inf, error, zeros)
        radius = whole.radius + LOSS * abs(middle)
        low, high = max(ends[0], middle - radius), min(ends[1], middle + radius)
        if not low <= high:  # Only the losses of floats can part the two.
            low, high = min(low, high), max(low, high)
        return Value(middle, slopes, rest, low, high, error, min(zeros, MANY_ZEROS))

    def between(self, low: float, high: float, zeros: int, loss: float = 0.0) -> Value:
        """Any value from ``low`` to ``high``, which are known up to ``loss``: a new symbol, unless it is a constant."""
        middle, radius = low / 2 + high / 2, high / 2 - low / 2
        ends = low - loss, high + loss
        if low == high:
            return self.value(low, np.zeros(0), loss, ends, 0.0, zeros)
        slopes, rest = self._symbol(np.zeros(0), radius * (1 + LOSS) + LOSS * abs(middle))
        return self.value(middle, slopes, rest + loss, ends, 0.0, zeros)

    def with_error(self, value: Value, error: float) -> Value:
        """The same value with so much more error."""
        if not error:
            return value
        total = (value.error + error) * (1 + LOSS)
        return Value(value.middle, value.slopes, value.rest, value.low, value.high, total, value.zeros)

    def plus(self, a: Value, b: Value, sign: int) -> Value:
        """``a + sign·b``."""
        slopes = _sum(a.slopes, b.slopes, sign)
        ends = (a.low + b.low, a.high + b.high) if sign > 0 else (a.low - b.high, a.high - b.low)
        size = abs(a.middle) + abs(b.middle) + a.radius + b.radius
        lost = LOSS * max(size, abs(ends[0]), abs(ends[1]))
        return self.value(
            a.middle + sign * b.middle,
            slopes,
            a.rest + b.rest + lost,
            (ends[0] - lost, ends[1] + lost),
            (a.error + b.error) * (1 + LOSS),
            min(a.zeros, b.zeros),
        )

    def signed(self, a: Value, sign: int) -> Value:
        """``a`` or ``-a``."""
        if sign > 0:
            return a
        return Value(-a.middle, -a.slopes, a.rest, -a.high, -a.low, a.error, a.zeros)

    def times(self, a: Value, b: Value) -> Value:
        """The rounded product. The part with two symbols is left over: its squares are not below zero, and the rest
        gets a symbol of its own."""
        if a.is_one or b.is_one:
            return b if a.is_one else a
        wide_a, wide_b = a.radius, b.radius
        common = min(len(a.slopes), len(b.slopes))
        squares = a.slopes[:common] * b.slopes[:common]
        diagonal, sizes = float(squares.sum()), float(np.abs(squares).sum())
        middle = a.middle * b.middle + diagonal / 2
        slopes = _sum(b.slopes * a.middle, a.slopes * b.middle, 1)
        left = max(0.0, wide_a * wide_b - sizes / 2)
        lost = LOSS * (abs(a.middle) + wide_a) * (abs(b.middle) + wide_b)
        zeros = a.zeros + b.zeros - self.frac
        rounding = self.half if zeros < 0 else 0.0
        moved = 0.0 if self.exact else rounding
        rest = abs(a.middle) * b.rest + abs(b.middle) * a.rest + left + lost + moved
        corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
        low, high = min(corners), max(corners)
        if a is b and low < 0:
            low = 0.0
        loss = LOSS * max(abs(low), abs(high)) + moved
        if left or moved:
            slopes, rest = self._symbol(slopes, rest)
        error = a.size * b.error + b.size * a.error + a.error * b.error
        error = error * (1 + LOSS) + rounding - moved
        return self.value(middle, slopes, rest, (low - loss, high + loss), error, max(0, zeros))

    def relu(self, a: Value) -> Value:
        """``max(a, 0)``: between two parallel lines, where ``a`` may have either sign."""
        if a.low >= 0:
            return a
        if a.high <= 0:
            return self.value(0.0, np.zeros(0), 0.0, (0.0, 0.0), a.error if a.high + a.error > 0 else 0.0, a.zeros)
        slope = a.high / (a.high - a.low)
        gap = -slope * a.low / 2
        lost = LOSS * (a.size + a.radius + abs(a.middle))
        slopes, rest = self._symbol(slope * a.slopes, slope * a.rest + gap + lost)
        return self.value(slope * a.middle + gap, slopes, rest, (0.0, a.high), a.error, a.zeros)

    def _symbol(self, slopes: NDArray[np.float64], size: float) -> tuple[NDArray[np.float64], float]:
        """The slopes with a new symbol of ``size``, and what is left over: all of it when there are symbols enough."""
        if self.count >= self.most:
            return slopes, size
        longer = np.zeros(self.count + 1)
        longer[: len(slopes)] = slopes
        longer[self.count] = size
        self.count += 1
        return longer, 0.0


def _sum(a: NDArray[np.float64], b: NDArray[np.float64], sign: int) -> NDArray[np.float64]:
    """``a + sign·b`` of slopes; the shorter one has no further symbols."""
    longer, shorter = (a, b) if len(a) >= len(b) else (sign * b, a)
    out = longer.copy()
    out[: len(shorter)] += shorter if longer is not a else sign * shorter
    return out
