"""One part of a formula on its way to a polynomial: the nearest of every degree, and the error of the one taken.

A part of known functions is looked at on :data:`POINTS` points, and its error is proven. One with a Python callable is
looked at on the same points, and its error is the largest on other ones. One with a table has no other points than the
table's, and no polynomial of a degree that says nothing about what is between them.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache, cached_property

import numpy as np
from skinny.model.errors import CheckError, InputError
from skinny.model.formula.formula import formula_text
from skinny.model.formula.function import Sampled

from .domain import check_domain
from .interval import Floats
from .minimax import Nearest, nearest_polynomial
from .prove import proven_error, proven_range
from .split import Part

__all__ = ["HIGHEST_DEGREE", "Polynomial", "Search"]

#: What needs a higher degree is refused.
HIGHEST_DEGREE = 40
#: Points on which a polynomial is looked for: some 50 for each wave of the error at the highest degree.
POINTS = 2048
#: Points on which the error of a callable is sampled.
SAMPLES = 5000
#: Coefficients below this, in relation to the largest, are noise.
NOISE = 1e-13
#: Errors below this, in relation to the largest value, cannot be proven with floats.
PROVABLE = 2.0**-46
#: The coefficients are rounded so that this part of the error is lost at most.
ROUNDED = 1000


class Polynomial:
    """Chebyshev coefficients over the form of a part mapped to -1 to 1, with the error; ``proven`` says whether that is
    a bound or the largest of samples."""

    def __init__(self, part: Part, chebyshev: tuple[Fraction, ...], error: Fraction, proven: bool) -> None:
        self.source = part.node
        self.form = part.form
        self.chebyshev = chebyshev
        self.error = error
        self.proven = proven

    @property
    def degree(self) -> int:
        """The degree in the form."""
        return len(self.chebyshev) - 1


@cache
def _chebyshev_points(count: int) -> Floats:
    return -np.cos(np.linspace(0.0, np.pi, count + 1))


def _vander(points: Floats, degree: int) -> Floats:
    """The Chebyshev polynomials up to ``degree`` at points."""
    return np.asarray(np.polynomial.chebyshev.chebvander(points, degree), dtype=np.float64)


@cache
def _basis(degree: int) -> Floats:
    return _vander(_chebyshev_points(POINTS), degree)


class Search:
    """The nearest polynomials of a part."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.known: dict[int, Nearest] = {}
        tables = [step for step in part.tape.sampled if step.value.call is None]
        self.table = bool(tables)
        self.points = self._table_points() if tables else _chebyshev_points(POINTS)
        self.values = part.tape.floats(self.points)
        if self.proven:
            check_domain(part.tape)
        self.highest = HIGHEST_DEGREE
        if tables:
            # Up to twice the root of the number of points a polynomial that is small at even steps is small between.
            self.highest = min(HIGHEST_DEGREE, math.isqrt(4 * len(self.points)), len(self.points) - 2)
        self.basis = _vander(self.points, self.highest) if tables else _basis(self.highest + 1)

    @property
    def proven(self) -> bool:
        """Whether the error is proven."""
        return not self.part.tape.sampled

    @property
    def name(self) -> str:
        """The part, as messages name it."""
        return formula_text(self.part.node, 60)

    def _table_points(self) -> Floats:
        tape = self.part.tape
        found: set[tuple[float, ...]] = set()
        for step in tape.sampled:
            if step.value.call is not None:
                continue
            argument = tape.steps[step.args[0]]
            if argument.kind != "affine" or argument.value[0] == 0:
                raise InputError(
                    f"the argument of {step.value.name}, {formula_text(argument.source, 40)}, must be one affine form "
                    "of the inputs, such as x or 2*x - y"
                )
            slope, offset = argument.value
            found.add(_inside(step.value, slope, offset))
        if len(found) > 1:
            raise InputError(f"{self.name} has two tables with different points: give both the same points")
        return np.array(found.pop())

    @cached_property
    def coefficients(self) -> Floats:
        """Chebyshev coefficients of the part itself, as many as a polynomial may have and one more."""
        weights = np.full(POINTS + 1, 2 / POINTS)
        weights[[0, -1]] = 1 / POINTS
        found: Floats = self.basis.T @ (weights * self.values)
        found[0] /= 2
        return found

    def range(self) -> tuple[Fraction, Fraction]:
        """Numbers that the part stays between, as far as that can be known."""
        if not self.proven:
            return Fraction(float(np.min(self.values))), Fraction(float(np.max(self.values)))
        found = proven_range(self.part.tape)
        if found is None:
            raise CheckError(f"no bound was found for {self.name} on this box: take a smaller box")
        return found

    def nearest(self, degree: int) -> Nearest:
        """The polynomial of ``degree`` that is nearest."""
        if degree not in self.known:
            self.known[degree] = nearest_polynomial(self.points, self.basis, self.values, degree)
        return self.known[degree]

    @property
    def reachable(self) -> float:
        """An error that can be reached, and proven in floats."""
        # Of a function that turns too often nothing may be found at the highest degree that is better than a number.
        nearest = min(self.nearest(degree).error for degree in (0, self.highest))
        return nearest + PROVABLE * float(np.max(np.abs(self.values)))

    def degree(self, error: float, least: int = 0) -> int | None:
        """The least degree from ``least`` on whose polynomial is within ``error``; None when there is none."""
        if not self.table:
            # No polynomial of a degree is nearer than π/4 of a Chebyshev coefficient beyond it.
            beyond = np.flatnonzero(np.abs(self.coefficients) * math.pi / 4 > error)
            least = max(least, int(beyond[-1])) if len(beyond) else least
        return next((n for n in range(least, self.highest + 1) if self.nearest(n).error <= error), None)

    def polynomial(self, degree: int, wanted: Fraction) -> Polynomial:
        """The polynomial of ``degree`` with short coefficients and its error, tight enough to see whether it is
        ``wanted``."""
        nearest = self.nearest(degree)
        coefficients = nearest.coefficients.copy()
        if not self.table:
            # What is even or odd has a nearest polynomial that is so too.
            sizes = np.abs(self.coefficients)
            for parity in (0, 1):
                if np.max(sizes[parity::2]) <= NOISE * np.max(sizes):
                    coefficients[parity::2] = 0.0
        room = max(nearest.error, float(wanted) / ROUNDED) / (ROUNDED * (degree + 1))
        scale = Fraction(2) ** max(0, math.ceil(-math.log2(room)))
        chebyshev = [Fraction(round(Fraction(value) * scale)) / scale for value in coefficients.tolist()]
        while len(chebyshev) > 1 and not chebyshev[-1]:
            chebyshev.pop()
        if self.proven:
            bound = proven_error(self.part.tape, chebyshev, wanted)
            if bound is None:
                raise CheckError(f"no bound was found for {self.name} on this box: take a smaller box")
            error = bound
        else:
            points = self.points if self.table else _chebyshev_points(SAMPLES)
            values = self.values if self.table else self.part.tape.floats(points)
            found = np.polynomial.chebyshev.chebval(points, np.array([float(value) for value in chebyshev]))
            error = Fraction(float(np.max(np.abs(values - found))))
        return Polynomial(self.part, tuple(chebyshev), error, self.proven)


def _inside(table: Sampled, slope: Fraction, offset: Fraction) -> tuple[float, ...]:
    """The points of a table over ``t``, those from -1 to 1."""
    first, last = table.points[0][0], table.points[-1][0]
    low, high = sorted((offset - slope, offset + slope))
    if low < first or high > last:
        raise InputError(
            f"{table.name} has points from {float(first):g} to {float(last):g}, and its argument goes from "
            f"{float(low):g} to {float(high):g} on this box"
        )
    inside = sorted(t for x, _ in table.points if -1 <= (t := (x - offset) / slope) <= 1)
    if len(inside) < 3:
        raise InputError(f"{table.name} has {len(inside)} points on this box: at least 3 are needed")
    return tuple(float(t) for t in inside)
