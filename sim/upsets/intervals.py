"""Confidence intervals of a share: exact, after Clopper and Pearson."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, lgamma, log, log1p

__all__ = ["interval"]


def interval(hits: int, count: int, confidence: float = 0.95) -> tuple[float, float]:
    """Bounds of the probability of a hit when ``hits`` of ``count`` trials were one: each bound is wrong with
    probability at most ``(1 - confidence) / 2``, whatever the probability is."""
    if not count:
        return 0.0, 1.0
    rest = (1 - confidence) / 2
    low = _solve(lambda p: _beta(p, hits, count - hits + 1) < rest) if hits else 0.0
    high = _solve(lambda p: _beta(p, hits + 1, count - hits) < 1 - rest) if hits < count else 1.0
    return low, high


def _solve(below: Callable[[float], bool]) -> float:
    """The point between 0 and 1 at which ``below`` turns from true to false."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
    return high


def _beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function: the probability of at least ``a`` hits in ``a + b - 1`` trials."""
    if not 0 < x < 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # there the continued fraction converges fast
        return 1 - _beta(1 - x, b, a)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)) / a
    # Lentz's method from the front: ratios of successive numerators and denominators.
    tiny = 1e-300
    c, d = 1.0, 1 / max(1 - (a + b) * x / (a + 1), tiny)
    total = d
    for m in range(1, 100_000):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + term * d or tiny)
            c = 1 + term / c or tiny
            total *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return front * total
