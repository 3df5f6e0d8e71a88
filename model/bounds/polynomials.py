"""Polynomials of many variables with few terms, whose coefficients are whole numbers over a power of two.

Nothing is ever rounded, so that what a program takes away again is gone. The range of a polynomial is the sum of the
ranges of its terms; it is kept up to date while terms are added.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from fractions import Fraction
from math import floor

from .enclosures import UNIT

__all__ = ["ONE", "Monomials", "Polynomial"]

#: Ranges of monomials are whole numbers of steps of 2^-_RANGE_BITS.
_RANGE_BITS = 40


class Polynomial:
    """``Σ c·monomial / 2^shift``, with ``low`` and ``high`` in steps of ``2^-(shift + _RANGE_BITS)``."""

    __slots__ = ("high", "low", "shift", "terms")

    def __init__(self, constant: int = 0) -> None:
        self.terms = {0: constant} if constant else {}
        self.shift = 0
        self.low = self.high = constant << _RANGE_BITS

    def copy(self) -> Polynomial:
        out = Polynomial()
        out.terms, out.shift, out.low, out.high = self.terms.copy(), self.shift, self.low, self.high
        return out

    def range(self) -> tuple[float, float]:
        """Bounds of the value."""
        low, high = (_quotient(end, self.shift + _RANGE_BITS) for end in (self.low, self.high))
        return low - abs(low) * UNIT, high + abs(high) * UNIT

    def size(self) -> float:
        """A bound of the absolute value."""
        return _quotient(max(-self.low, self.high), self.shift + _RANGE_BITS) * (1 + UNIT)

    def shorten(self) -> None:
        """Cancel the powers of two that all coefficients have in common."""
        if self.shift:
            bits = 0
            for c in self.terms.values():
                bits |= c
            down = min(self.shift, (bits & -bits).bit_length() - 1) if bits else self.shift
            self.terms = {key: c >> down for key, c in self.terms.items()}
            self.shift -= down
            self.low >>= down
            self.high = -(-self.high >> down)


#: The polynomial one, which nobody changes.
ONE = Polynomial(1)


def _quotient(steps: int, shift: int) -> float:
    """``steps / 2^shift``, infinite when no float holds it."""
    try:
        return steps / (1 << shift)
    except OverflowError:
        return float("inf") if steps > 0 else float("-inf")


class Monomials:
    """The monomials of one analysis by key, the sum of the random numbers of their variables (zero: the monomial one),
    with their ranges. ``work`` counts the terms that were added, more for long coefficients.

    Two monomials are taken for one with a probability below number² / 2^120."""

    def __init__(self) -> None:
        self.ranges = {0: (1 << _RANGE_BITS, 1 << _RANGE_BITS)}
        self.work = 0
        self._random = random.Random(3)

    def variable(self, low: Fraction, high: Fraction) -> int:
        """The key of a new variable between ``low`` and ``high``."""
        key = self._random.getrandbits(120)
        self.ranges[key] = floor(low * (1 << _RANGE_BITS)), -floor(-high * (1 << _RANGE_BITS))
        return key

    def polynomial(self, terms: Iterable[tuple[int, int]], shift: int) -> Polynomial:
        """``Σ c·key / 2^shift`` for pairs ``(key, c)``."""
        plain, out = Polynomial(), Polynomial()
        plain.terms, plain.shift = {key: c for key, c in terms if c}, shift
        self.add(out, plain, ONE)
        return out

    def add(self, out: Polynomial, a: Polynomial, b: Polynomial, count: int = 1) -> None:
        """Add ``count·a·b`` to ``out``."""
        shift = a.shift + b.shift
        if shift > out.shift:
            up = shift - out.shift
            out.terms = {key: c << up for key, c in out.terms.items()}
            out.shift, out.low, out.high = shift, out.low << up, out.high << up
        terms, ranges, low, high, down = out.terms, self.ranges, out.low, out.high, out.shift - shift
        for other, n in b.terms.items():
            n = count * n << down
            for key, c in a.terms.items():
                product = key + other
                least, most = ranges.get(product) or self._multiplied(key, other)
                old = terms.get(product, 0)
                new = old + c * n
                if new:
                    terms[product] = new
                else:
                    del terms[product]
                # What a term adds to the range depends on its sign.
                if old > 0:
                    low -= old * least
                    high -= old * most
                elif old:
                    low -= old * most
                    high -= old * least
                if new > 0:
                    low += new * least
                    high += new * most
                elif new:
                    low += new * most
                    high += new * least
        out.low, out.high = low, high
        self.work += len(a.terms) * len(b.terms) * (1 + (out.shift >> 10))

    def _multiplied(self, key: int, other: int) -> tuple[int, int]:
        """The range of a product of two monomials that is not known yet."""
        ends = [a * b for a in self.ranges[key] for b in self.ranges[other]]
        found = self.ranges[key + other] = min(ends) >> _RANGE_BITS, -(-max(ends) >> _RANGE_BITS)
        return found
