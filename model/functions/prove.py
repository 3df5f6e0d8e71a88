"""Prove: how far a polynomial is from a formula, for every point and not for samples.

The range of ``t`` is cut into pieces. On a piece the formula is its Taylor polynomial at the middle and a remainder,
both in intervals (:mod:`skinny.model.functions.jets`), and the polynomial is its own, in whole numbers. Of their
difference the first three terms are bounded by the extremes of a parabola and the others by their size. Pieces whose
bound is not yet near to the largest error that was seen are halved.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from skinny.model.limits import check

from .interval import Floats, Interval, around
from .tape import Tape

__all__ = ["monomials", "proven_error", "proven_range"]

#: The order of the remainder.
ORDER = 8
#: The bound is at most so many times the error that was seen, unless that takes too many pieces.
TIGHT = 1.01
#: The same where a bound between the two is wanted.
TIGHTEST = 1.0002
#: A bound below this part of the wanted one may be as loose as it likes.
SMALL = 1e-3
#: Halvings of the range, and pieces in all.
DEEPEST = 64
MOST_PIECES = 6000
#: Pieces for a range.
RANGE_PIECES = 128

Piece = tuple[int, int]  # the middle is number/2^level and the half length 1/2^level


def monomials(chebyshev: Sequence[Fraction]) -> list[Fraction]:
    """The coefficients of the powers of ``t``."""
    out = [Fraction(0)] * len(chebyshev)
    before: list[int] = []
    current: list[int] = [1]
    for coefficient in chebyshev:
        for power, factor in enumerate(current):
            out[power] += coefficient * factor
        following = [0, *(factor * (2 if before else 1) for factor in current)]
        for power, factor in enumerate(before):
            following[power] -= factor
        before, current = current, following
    return out


def proven_error(tape: Tape, chebyshev: Sequence[Fraction], wanted: Fraction) -> Fraction | None:
    """A bound of the distance between the tape and the polynomial, wherever the tape is defined; None when none was
    found. It is tight, and tighter where that shows that it is no more than ``wanted``."""
    coefficients = monomials(chebyshev)
    denominator = max(coefficient.denominator for coefficient in coefficients)  # powers of two, all of them
    powers = [int(coefficient * denominator) for coefficient in coefficients]
    level = max(3, len(coefficients).bit_length())
    pieces: list[Piece] = [(2 * j + 1 - (1 << level), level) for j in range(1 << level)]
    settled = seen = 0.0
    count = 0
    while pieces:
        check()
        count += len(pieces)
        below, above = _bounds(tape, powers, denominator, pieces)
        seen = max(seen, float(np.max(below)))
        near = max(min(TIGHT * seen, max(float(wanted), TIGHTEST * seen)), SMALL * float(wanted))
        open_pieces = [index for index in range(len(pieces)) if not above[index] <= near]
        settled = max([settled, *above[above <= near].tolist()])
        deepest = pieces[0][1] >= DEEPEST or count + 2 * len(open_pieces) > MOST_PIECES
        if open_pieces and deepest:
            settled = max([settled, *above[open_pieces].tolist()])
            break
        halves = [pieces[index] for index in open_pieces]
        pieces = [(2 * number + side, level + 1) for number, level in halves for side in (-1, 1)]
    return Fraction(settled) if np.isfinite(settled) else None


def proven_range(tape: Tape) -> tuple[Fraction, Fraction] | None:
    """Numbers that the tape stays between; None where none were found."""
    edges = [Fraction(2 * j, RANGE_PIECES) - 1 for j in range(RANGE_PIECES + 1)]
    values = tape.jet(edges[:-1], edges[1:], 0)[0]
    low, high = float(np.min(values.low)), float(np.max(values.high))
    return (Fraction(low), Fraction(high)) if np.isfinite(low) and np.isfinite(high) else None


def _bounds(tape: Tape, powers: list[int], denominator: int, pieces: list[Piece]) -> tuple[Floats, Floats]:
    """For each piece an error that is reached at its middle, and one that is exceeded nowhere."""
    middles = [Fraction(number, 1 << level) for number, level in pieces]
    lengths = [Fraction(1, 1 << level) for _, level in pieces]
    low = middles + [middle - length for middle, length in zip(middles, lengths, strict=True)]
    high = middles + [middle + length for middle, length in zip(middles, lengths, strict=True)]
    jet = tape.jet(low, high, ORDER)
    points, ranges = jet[:, : len(pieces)], jet[:, len(pieces) :]
    polynomial = _taylor(powers, denominator, pieces)  # in units of the half length
    with np.errstate(all="ignore"):
        scale = np.array([[2.0 ** (-level * k) for _, level in pieces] for k in range(ORDER + 1)])
        rows = Interval(points.low.copy(), points.high.copy())
        rows[ORDER] = ranges[ORDER]
        difference = rows * Interval(scale, scale)
        common = min(ORDER + 1, len(powers))
        difference[:common] = difference[:common] - polynomial[:common]
        rest = difference[3:].magnitude().sum(axis=0) + polynomial[ORDER + 1 :].magnitude().sum(axis=0)
        fine = _parabola(difference[:3]) + rest
        # Where a derivative is infinite, as that of the root at zero, the values themselves still say something.
        coarse = (ranges[0] - polynomial[0]).magnitude() + polynomial[1:].magnitude().sum(axis=0)
        # Sums of at most some hundred sizes are off by less than that.
        above = np.fmin(fine, coarse) * (1 + 1e-12)
        below = np.maximum(np.maximum(difference.low[0], -difference.high[0]), 0.0)
    return np.where(np.isfinite(below), below, 0.0), np.where(np.isnan(above), np.inf, above)


def _parabola(rows: Interval) -> Floats:
    """The largest size of ``a + b·s + c·s²`` for ``s`` from -1 to 1, with each coefficient from an interval."""
    middle = 0.5 * rows.low + 0.5 * rows.high
    spread = np.maximum(rows.high - middle, middle - rows.low).sum(axis=0)
    a, b, c = middle
    inside = np.abs(b) < 2 * np.abs(c)
    vertex = np.where(inside, a - b * b / np.where(inside, 4 * c, 1.0), a)
    largest = np.maximum(np.maximum(np.abs(a + b + c), np.abs(a - b + c)), np.abs(vertex))
    # Each of these is a handful of roundings of numbers no larger than the coefficients.
    return np.asarray(largest + spread + 2.0**-48 * np.abs(middle).sum(axis=0))


def _taylor(powers: list[int], denominator: int, pieces: list[Piece]) -> Interval:
    """The polynomial around the middle of each piece, in units of the half length: row ``k`` has the ``k``-th power."""
    degree = len(powers) - 1
    level = pieces[0][1]
    centres = np.array([number for number, _ in pieces], dtype=object)
    # In s = 2^level·t all numbers are whole; a middle is a whole s, and the half length is 1.
    rows = [np.full(len(pieces), power << level * (degree - k), dtype=object) for k, power in enumerate(powers)]
    for first in range(degree):
        for k in range(degree - 1, first - 1, -1):
            rows[k] = rows[k] + centres * rows[k + 1]
    return around(np.array(rows, dtype=object), denominator << level * degree)
