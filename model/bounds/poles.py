"""The poles of a linear recurrence: whether all are inside of the unit circle, decided exactly.

The matrix of a recurrence falls apart into blocks of states that depend on each other in circles; its poles are those
of the blocks. Whether a block's characteristic polynomial has a root on or outside of the unit circle is decided in
rationals, by the test of Schur and Cohn. Where the poles lie, which is only said, is computed in floats.
"""

from __future__ import annotations

from cmath import phase
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

__all__ = ["Matrix", "blocks", "is_growing", "is_stable", "outermost_pole", "polynomial"]

Matrix = Sequence[Sequence[Fraction]]


def blocks(matrix: Matrix) -> list[list[int]]:
    """The states in groups: two are in one if each depends on the other, directly or through others."""
    size = len(matrix)
    reach = np.array([[bool(entry) for entry in row] for row in matrix], dtype=bool).reshape(size, size)
    for middle in range(size):
        reach |= np.outer(reach[:, middle], reach[middle])
    mutual = reach & reach.T
    seen: set[int] = set()
    out = []
    for first in range(size):
        if first not in seen:
            group = sorted({first, *np.flatnonzero(mutual[first]).tolist()})
            seen.update(group)
            out.append(group)
    return out


def polynomial(matrix: Matrix) -> list[Fraction]:
    """The characteristic polynomial, highest power first, by the recursion of Faddeev and LeVerrier."""
    size = len(matrix)
    out = [Fraction(1)]
    product = [[Fraction(0)] * size for _ in range(size)]
    for step in range(1, size + 1):
        for i in range(size):
            product[i][i] += out[-1]
        product = [
            [sum((a * product[k][j] for k, a in enumerate(row) if a), Fraction(0)) for j in range(size)]
            for row in matrix
        ]
        out.append(-sum((product[i][i] for i in range(size)), Fraction(0)) / step)
    return out


def is_stable(coefficients: Sequence[Fraction]) -> bool:
    """Whether all roots of a polynomial, highest power first, are inside of the unit circle."""
    p = list(coefficients)
    while len(p) > 1:
        first, last = p[0], p[-1]
        if not abs(last) < abs(first):
            return False
        p = [first * a - last * b for a, b in zip(p[:-1], reversed(p[1:]), strict=True)]
        # Only ratios count; without this the numbers would double their length in each step.
        p = [a / p[0] for a in p]
    return True


def is_growing(coefficients: Sequence[Fraction]) -> bool:
    """Whether a root of a polynomial, highest power first, is outside of the unit circle.

    The roots that a polynomial shares with its mirror image lie on the circle, or in pairs on both sides of it. They
    are all on the circle if the derivative of the shared part has none outside (Cohn)."""
    p = _trimmed(coefficients)
    while len(p) > 1:
        shared = _divisor(p, _trimmed(p[::-1]))
        if not is_stable(_divided(p, shared)[0]):
            return True
        degree = len(shared) - 1
        p = [c * (degree - power) for power, c in enumerate(shared[:-1])]
    return False


def _trimmed(p: Sequence[Fraction]) -> list[Fraction]:
    """The polynomial without zeros in front."""
    first = next((place for place, c in enumerate(p) if c), len(p))
    return list(p[first:])


def _divided(p: Sequence[Fraction], divisor: Sequence[Fraction]) -> tuple[list[Fraction], list[Fraction]]:
    """Quotient and remainder."""
    rest, quotient = list(p), []
    while len(rest) >= len(divisor):
        quotient.append(rest[0] / divisor[0])
        for place, c in enumerate(divisor):
            rest[place] -= quotient[-1] * c
        rest.pop(0)
    return quotient, _trimmed(rest)


def _divisor(p: list[Fraction], q: list[Fraction]) -> list[Fraction]:
    """The greatest common divisor, with one in front."""
    while q:
        p, q = q, _divided(p, q)[1]
    return [c / p[0] for c in p]


def outermost_pole(coefficients: Sequence[Fraction]) -> str:
    """The root of a polynomial that is farthest out, as a text."""
    pole = complex(max(np.roots([float(c) for c in coefficients]), key=abs))
    real = abs(pole.imag) < 1e-9
    across = round(pole.real, 9) + 0.0  # No negative zero.
    text = f"{pole.real:.6g}" if real else f"{across:.6g} ± {abs(pole.imag):.6g}i"
    return f"{text} (magnitude {abs(pole):.6g}, angle {np.degrees(abs(phase(pole))):.4g}°)"
