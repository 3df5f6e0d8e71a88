"""Minimax: the polynomial of a degree that is nearest to values at points, by the exchange algorithm of Remez.

Polynomials are Chebyshev coefficients over ``t`` from -1 to 1, in which the equations are well conditioned.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .interval import Floats

__all__ = ["Nearest", "nearest_polynomial"]

#: Exchanges after which the best polynomial so far is taken.
EXCHANGES = 40
#: The largest error is this near to the least possible one when the exchange ends.
NEAR = 1.0005
#: How far the first reference is drawn to one side.
SKEW = 0.05
#: Errors below this, in relation to the largest value, are those of the floats.
NOISE = 2.0**-49


class Nearest(NamedTuple):
    """The Chebyshev coefficients, the largest error at the points, and an error that no polynomial of this degree is
    below at those points (de la Vallée-Poussin)."""

    coefficients: Floats
    error: float
    least: float


def nearest_polynomial(points: Floats, basis: Floats, values: Floats, degree: int) -> Nearest:
    """The polynomial of ``degree`` that is nearest to ``values`` at ``points``, which rise. Row ``i`` of ``basis`` has
    the Chebyshev polynomials at point ``i``."""
    reference = _first_reference(points, degree + 2)
    columns = basis[:, : degree + 1]
    signs = (-1.0) ** np.arange(degree + 2)
    noise = NOISE * float(np.max(np.abs(values)))
    best = Nearest(np.zeros(degree + 1), np.inf, 0.0)
    for _ in range(EXCHANGES):
        equations = np.column_stack([columns[reference], signs])
        solution = np.linalg.solve(equations, values[reference])
        errors = values - columns @ solution[:-1]
        worst = float(np.max(np.abs(errors)))
        if worst < best.error:
            best = best._replace(coefficients=solution[:-1].astype(np.float64), error=worst)
        best = best._replace(least=max(best.least, abs(float(solution[-1]))))
        exchanged = _alternation(errors, degree + 2)
        if best.error <= max(NEAR * best.least, noise) or len(exchanged) < degree + 2 or exchanged == reference:
            break
        reference = exchanged
    return best


def _first_reference(points: Floats, count: int) -> list[int]:
    """Points near the extremes of a Chebyshev polynomial, drawn to one side: on a symmetric reference an even or odd
    function may show no error at all, and nothing would ever be exchanged."""
    ideal = -np.cos(np.linspace(0.0, np.pi, count))
    ideal += SKEW * (1 - ideal**2)
    found = np.unique(np.abs(points[:, None] - ideal).argmin(axis=0))
    return found.tolist() if len(found) == count else list(range(count))


def _alternation(errors: Floats, count: int) -> list[int]:
    """Up to ``count`` points at which the errors are large and of alternating sign."""
    signs = np.signbit(errors)
    starts = np.flatnonzero(np.r_[True, signs[1:] != signs[:-1]])
    sizes = np.abs(errors)
    ends = np.r_[starts[1:], len(errors)]
    found = [int(start + np.argmax(sizes[start:end])) for start, end in zip(starts, ends, strict=True)]
    while len(found) > count:
        # Taking away an end keeps the signs alternating, and so does taking two neighbours from the inside.
        ends_drop = 0 if sizes[found[0]] <= sizes[found[-1]] else len(found) - 1
        if len(found) == count + 1:
            del found[ends_drop]
            continue
        pairs = [max(sizes[found[i]], sizes[found[i + 1]]) for i in range(len(found) - 1)]
        pair = int(np.argmin(pairs))
        if sizes[found[ends_drop]] <= pairs[pair]:
            del found[ends_drop]
        else:
            del found[pair : pair + 2]
    return found
