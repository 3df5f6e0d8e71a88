"""Enclosures: polynomials in symbols between -1 and 1, with float coefficients and a bound of all that floats lose.

A term's key is a *noise* (above bit 40, at most one) times a *monomial* of variables (below); zero stands for "none"
and for "one". Noises and variables both lie between -1 and 1, so every monomial does, and a coefficient's
error is at most an error of that size in the value.
"""

from __future__ import annotations

import itertools
from bisect import insort
from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

__all__ = ["TINY", "UNIT", "Algebra", "Enclosure"]

#: A generous relative bound of the rounding of a few float operations (one rounds by at most 2^-53).
UNIT = 2.0**-50
#: Coefficients below this are added to the slop, so that the others never underflow when they are multiplied.
TINY = 1e-200
#: The range of each variable is cut into so many pieces, or into fewer when terms times cells exceed the work.
_MOST_PIECES, _CELL_WORK = 8, 40_000_000
_NOISE = 40
_MONOMIAL = (1 << _NOISE) - 1


class Algebra:
    """The variables, noises and monomials of one analysis."""

    def __init__(self) -> None:
        self._monomials: list[tuple[int, ...]] = [()]
        self._numbers: dict[tuple[int, ...], int] = {(): 0}
        self._multiples: list[dict[int, int]] = [{}]
        self._noises = 0
        #: How many enclosures were replaced by a single symbol.
        self.collapses = 0
        #: Monomials other than one that are never negative: every exponent is even.
        self.squares: set[int] = set()

    def variable(self) -> int:
        """A new variable. Variable 0 is the constant one."""
        self._multiples.append({})
        return len(self._multiples) - 1

    def noise(self) -> int:
        """The key of a new noise."""
        self._noises += 1
        return self._noises << _NOISE

    def multiples(self, monomials: Iterable[int], variable: int) -> list[int]:
        """The monomials ``monomial · variable``."""
        known = self._multiples[variable]
        return [known[m] if m in known else self._multiply(m, variable) for m in monomials]

    def _multiply(self, monomial: int, variable: int) -> int:
        factors = list(self._monomials[monomial])
        insort(factors, variable)
        key = tuple(factors)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._monomials)
            self._monomials.append(key)
            if key[::2] == key[1::2]:
                self.squares.add(number)
        self._multiples[variable][monomial] = number
        return number

    def add_times(
        self, out: dict[int, float], terms: dict[int, float], factor: float, variable: int, noise: int = 0
    ) -> None:
        """``out += factor · variable · noise · terms``, in floats; with a noise the terms must have none."""
        if variable == 0:
            for key, c in terms.items():
                key += noise
                out[key] = out.get(key, 0.0) + factor * c
            return
        known = self._multiples[variable]
        for key, c in terms.items():
            monomial = key & _MONOMIAL
            multiple = known.get(monomial)
            if multiple is None:
                multiple = self._multiply(monomial, variable)
            key += multiple - monomial + noise
            out[key] = out.get(key, 0.0) + factor * c

    def collapsed(self, low: float, high: float, noise: bool) -> Enclosure:
        """An enclosure of all of [low, high], ``middle + radius · symbol``, whose symbol is a new noise or variable."""
        self.collapses += 1
        middle = (low + high) / 2
        radius = max(high - middle, middle - low) + UNIT * (abs(low) + abs(high))
        symbol = self.noise() if noise else self._multiply(0, self.variable())
        return self.enclosure({key: c for key, c in ((0, middle), (symbol, radius)) if c})

    def without_noise(self, terms: dict[int, float]) -> tuple[dict[int, float], float]:
        """The terms that have no noise, and a bound of the sum of the others."""
        pure = {key: c for key, c in terms.items() if key <= _MONOMIAL}
        if len(pure) == len(terms):
            return pure, 0.0
        return pure, sum(abs(c) for key, c in terms.items() if key > _MONOMIAL) * (1 + len(terms) * UNIT)

    def enclosure(self, terms: dict[int, float]) -> Enclosure:
        """The enclosure of exactly these terms, without slop."""
        low = high = norm = 0.0
        for key, c in terms.items():
            norm += abs(c)
            least, most = self._range(key, c)
            low += least
            high += most
        return Enclosure(terms, low, high, len(terms) * UNIT * norm)

    def _range(self, key: int, c: float) -> tuple[float, float]:
        if key == 0:
            return c, c
        if key in self.squares:
            return (0.0, c) if c > 0 else (c, 0.0)
        return -abs(c), abs(c)

    def joint_size(self, enclosure: Enclosure) -> float:
        """A bound of the absolute value that is tighter than :meth:`Enclosure.size`, by a pass over the terms.

        The range of each noise's whole coefficient is taken: ``(1 - x²)·n`` is at most 1, where term by term it would
        be 2. When the terms are few, the box is also cut into cells, since the coefficients of different noises are
        not all largest at the same place.
        """
        terms = sorted(enclosure.terms.items())
        monomials = sorted({key & _MONOMIAL for key, _ in terms})
        variables = sorted({variable for monomial in monomials for variable in self._monomials[monomial]})
        pieces = _MOST_PIECES
        while pieces > 1 and len(terms) * pieces ** len(variables) > _CELL_WORK:
            pieces -= 1
        size = self._size_by_noise(terms) if pieces == 1 else self._size_in_cells(terms, monomials, variables, pieces)
        # Sums, powers and the ends of the cells are rounded.
        degree = max((len(self._monomials[monomial]) for monomial in monomials), default=0)
        return size + enclosure.slop + (len(terms) + 4 * degree) * UNIT * enclosure.norm()

    def _size_by_noise(self, terms: list[tuple[int, float]]) -> float:
        ranges: dict[int, tuple[float, float]] = {}
        for key, c in terms:
            low, high = ranges.get(key >> _NOISE, (0.0, 0.0))
            least, most = self._range(key & _MONOMIAL, c)
            ranges[key >> _NOISE] = (low + least, high + most)
        return sum(max(-low, high) for low, high in ranges.values())

    def _size_in_cells(
        self, terms: list[tuple[int, float]], monomials: list[int], variables: list[int], pieces: int
    ) -> float:
        """The sum over the noises in the cell where it is largest; ``terms`` are sorted."""
        cells = pieces ** len(variables)
        lower = {
            variable: 2 * (np.arange(cells) // pieces**place % pieces) / pieces - 1
            for place, variable in enumerate(variables)
        }
        ranges: dict[int, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
        for monomial in monomials:
            least, most = np.ones(cells), np.ones(cells)
            for variable, power in Counter(self._monomials[monomial]).items():
                low, high = lower[variable] ** power, (lower[variable] + 2 / pieces) ** power
                if power % 2 == 0:
                    across = (lower[variable] < 0) & (lower[variable] + 2 / pieces > 0)
                    low, high = np.where(across, 0.0, np.minimum(low, high)), np.maximum(low, high)
                corners = least * low, least * high, most * low, most * high
                least, most = np.minimum.reduce(corners), np.maximum.reduce(corners)
            ranges[monomial] = (least, most)
        total = np.zeros(cells)
        for _, group in itertools.groupby(terms, key=lambda term: term[0] >> _NOISE):
            low, high = np.zeros(cells), np.zeros(cells)
            for key, c in group:
                least, most = ranges[key & _MONOMIAL] if c > 0 else ranges[key & _MONOMIAL][::-1]
                low += c * least
                high += c * most
            total += np.maximum(-low, high)
        return float(total.max(initial=0.0))


class Enclosure:
    """A polynomial of the symbols, ``Σ c·m``, known up to ``± slop``: it surely contains the value that it stands for.

    ``low`` and ``high`` are running sums of the terms' ranges, themselves known up to ``± blur``.
    """

    __slots__ = ("blur", "high", "low", "slop", "terms")

    def __init__(self, terms: dict[int, float], low: float = 0.0, high: float = 0.0, blur: float = 0.0) -> None:
        self.terms, self.low, self.high, self.blur, self.slop = terms, low, high, blur, 0.0

    def add(self, other: Enclosure, sign: int, squares: set[int]) -> None:
        """Add ``other``, which has no slop, or take it away when ``sign`` is -1."""
        terms, low, high, slop = self.terms, self.low, self.high, self.slop
        moved = 0.0
        for key, c in other.terms.items():
            change = c if sign > 0 else -c
            old = terms.get(key, 0.0)
            new = old + change
            moved += abs(c)
            if old:
                # Knuth's two-sum: exactly what the addition lost, usually nothing.
                back = new - old
                slop += abs((old - (new - back)) + (change - back))
                if abs(new) <= 1e-12 * abs(change):
                    slop += abs(new)
                    new = 0.0
            if new:
                terms[key] = new
            elif old:
                del terms[key]
            if key == 0:
                low += new - old
                high += new - old
            elif key in squares:
                low += min(new, 0.0) - min(old, 0.0)
                high += max(new, 0.0) - max(old, 0.0)
            else:
                grown = abs(new) - abs(old)
                low -= grown
                high += grown
        self.low, self.high, self.slop = low, high, slop
        # The running sums stay below their last value plus what was added.
        self.blur += len(other.terms) * UNIT * (abs(low) + abs(high) + moved)

    def range(self) -> tuple[float, float]:
        """The least and the greatest value, every loss included."""
        pad = (self.slop + self.blur) * (1 + UNIT)
        return self.low - pad, self.high + pad

    def size(self) -> float:
        """A bound of the absolute value."""
        low, high = self.range()
        return max(-low, high)

    def norm(self) -> float:
        """The sum of the coefficients' absolute values."""
        return sum(map(abs, self.terms.values()))
