"""Responses of a stable recurrence, summed over all times, in floats with everything that they lose.

With ``P(k) = A^k·U`` the sum of ``|C·P(k)|`` over all ``k`` bounds what bounded inputs can do. A float recursion gives
``P(k+1) = A·P(k) + D(k)`` with a known bound of ``D``, and with ``gain`` at least the sum of the norms of all powers of
``A`` the true ``P`` differs by at most ``gain`` times the sum of the ``D``, over all times together. The same argument
bounds the gain itself, and what comes after the last step: ``gain`` times the last ``P``.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .poles import Matrix

__all__ = ["Responses", "respond"]

_Floats = NDArray[np.float64]
#: Steps until the norm of a power of the matrix must be below one half, and steps in all.
_MOST_HALVING, _MOST_STEPS = 20_000, 200_000
#: Responses are followed until what may come is below this part of their sum.
_ENOUGH = 2.0**-20


class Responses(NamedTuple):
    """For each row: the sum of its absolute responses, and the least and the greatest sum of the responses to the
    first impulse up to any time."""

    size: _Floats
    low: _Floats
    high: _Floats


def _floats(matrix: Sequence[Sequence[Fraction]], columns: int) -> _Floats:
    return np.array([[float(entry) for entry in row] for row in matrix], dtype=np.float64).reshape(-1, columns)


def respond(a: Matrix, inputs: Matrix, impulse: Sequence[Fraction], rows: Matrix) -> Responses | None:
    """The responses of ``rows`` of the state to ``inputs`` (a row for each state, a column for each input) at all
    times and to ``impulse`` at the first; None when that takes too many steps. The matrix ``a`` must be stable."""
    size = len(a)
    if not size or not rows:
        none = np.zeros(len(rows))
        return Responses(none, none, none)
    matrix, out = _floats(a, size), _floats(rows, size)
    column_count = len(inputs[0]) + 1
    loss = (size + column_count + 8) * 2.0**-51
    now = _floats([[*row, first] for row, first in zip(inputs, impulse, strict=True)], column_count)
    norm = float(np.abs(matrix).sum(axis=1).max()) * (1 + loss)
    gain = _gain(matrix, norm, loss)
    if gain is None:
        return None
    total, centre, least, most = (np.zeros(len(rows)) for _ in range(4))
    weight = np.abs(out).sum(axis=1) * (1 + loss)
    seen = lost = loss * float(np.abs(now).max(axis=0).sum())
    for step in range(_MOST_STEPS):
        response = out @ now
        total += np.abs(response[:, :-1]).sum(axis=1)
        centre += response[:, -1]
        least, most = np.minimum(least, centre), np.maximum(most, centre)
        largest = float(np.abs(now).max(axis=0).sum())
        seen += largest
        lost += loss * (norm + 1) * largest
        now = matrix @ now
        if step % 64 == 0:
            last = float(np.abs(now).max(axis=0).sum())
            # Beyond the second limit what comes later is less than what the sums have lost.
            if gain * last <= loss * seen or (weight * gain * last <= _ENOUGH * (total + most - least)).all():
                break
    last = float(np.abs(now).max(axis=0).sum())
    # What the recursion lost, what the products with the rows and the sums lost, and what comes later.
    off = weight * (gain * (lost + loss * seen) + (step + 2) * loss * seen + gain * (last + gain * lost))
    # The products of two tiny floats lose up to 2^-1074 each, however small they are.
    off = off * 1.001 + (1 + weight) * 2.0**-900
    return Responses(total + off, np.minimum(least, centre) - off, np.maximum(most, centre) + off)


def _gain(matrix: _Floats, norm: float, loss: float) -> float | None:
    """A bound of the sum of the norms of all powers of ``matrix``."""
    power, total = np.eye(len(matrix)), 0.0
    for _ in range(_MOST_HALVING):
        total += float(np.abs(power).sum(axis=1).max()) * (1 + loss)
        power = matrix @ power
        lost = loss * (norm + 1) * total
        if lost >= 1 / 4 or not np.isfinite(total):
            return None
        first = total / (1 - lost)
        rest = float(np.abs(power).sum(axis=1).max()) * (1 + loss) + first * lost
        if rest < 1 / 2:
            return first / (1 - rest) * 1.001
    return None
