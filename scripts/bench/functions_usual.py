"""The functions of ``skinny bench functions``, and the least degree with which a polynomial comes near to one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["FUNCTIONS", "Usual", "least_degree"]

Floats = NDArray[np.float64]
#: A point of a reference is moved by steps down to this part of the box.
FINEST = 1 / 2000


class Usual(NamedTuple):
    """A function of ``x`` as it is written in a formula, its box, and its values in floats."""

    text: str
    low: str
    high: str
    reference: Callable[[Floats], Floats]


def _sigmoid(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-x))


_erf: Any = np.vectorize(math.erf, otypes=[np.float64])

FUNCTIONS = [
    Usual("sin(x)", "-1.6", "1.6", np.sin),
    Usual("sin(x)", "-3.2", "3.2", np.sin),
    Usual("cos(x)", "-1.6", "1.6", np.cos),
    Usual("tan(x)", "-0.8", "0.8", np.tan),
    Usual("exp(x)", "-1", "1", np.exp),
    Usual("exp(-x)", "0", "5", lambda x: np.exp(-x)),
    Usual("log(x)", "1", "2", np.log),
    Usual("log(1 + x)", "0", "1", np.log1p),
    Usual("sqrt(x)", "0.25", "1", np.sqrt),
    Usual("1/sqrt(x)", "1", "4", lambda x: 1 / np.sqrt(x)),
    Usual("1/x", "1", "2", lambda x: 1 / x),
    Usual("3/(1 + x)", "0", "1", lambda x: 3 / (1 + x)),
    Usual("1/(1 + x^2)", "-2", "2", lambda x: 1 / (1 + x * x)),
    Usual("tanh(x)", "-3", "3", np.tanh),
    Usual("sigmoid(x)", "-6", "6", _sigmoid),
    Usual("x*sigmoid(x)", "-4", "4", lambda x: x * _sigmoid(x)),
    Usual("log(1 + exp(x))", "-4", "4", lambda x: np.log1p(np.exp(x))),
    Usual("erf(x)", "-2", "2", _erf),
    Usual("exp(-x^2)", "-2", "2", lambda x: np.exp(-x * x)),
    Usual("sin(cos(x))", "-3", "3", lambda x: np.sin(np.cos(x))),
    Usual("3*sin(x) + exp(-x/2)", "0", "6.3", lambda x: 3 * np.sin(x) + np.exp(-x / 2)),
    Usual("x*log(x)", "0.1", "2", lambda x: x * np.log(x)),
    Usual("sqrt(1 - x^2)", "-0.9", "0.9", lambda x: np.sqrt(1 - x * x)),
]


def least_degree(usual: Usual, error: float) -> int:
    """The least degree that is not ruled out: of all lower ones it is shown that no polynomial is within ``error``."""
    degree = 0
    while _is_ruled_out(usual, degree, error):
        degree += 1
    return degree


def _is_ruled_out(usual: Usual, degree: int, error: float) -> bool:
    """Whether a reference, points at which every polynomial of this degree errs by so much somewhere, was found. The
    points begin as the extremes of a Chebyshev polynomial, one more than needed where that is better, as it is for even
    and odd functions; then each moves as long as that helps."""
    low, high = float(usual.low), float(usual.high)

    def level(points: Floats) -> float:
        # De la Vallée-Poussin: the divided difference of the values over that of alternating signs.
        factors = (points[:, None] - points) * (4 / (high - low)) + np.eye(len(points))
        scales = 1 / np.prod(factors, axis=1)
        return abs(float(scales @ usual.reference(points))) / float(np.sum(np.abs(scales)))

    starts = [(low + high) / 2 - (high - low) / 2 * np.cos(np.linspace(0, np.pi, degree + n)) for n in (2, 3)]
    points = np.clip(max(starts, key=level), low, high)  # rounding may have moved the ends out of the box
    best, step = level(points), (high - low) / (4 * len(points))
    while best <= error and step > FINEST * (high - low):
        moved = np.concatenate([points + step * np.eye(len(points)), points - step * np.eye(len(points))])
        inside = (moved[:, 0] >= low) & (moved[:, -1] <= high) & np.all(np.diff(moved) > 0, axis=1)
        found = max(moved[inside], key=level, default=points)
        if level(found) <= best:
            step /= 2
        else:
            points, best = found, level(found)
    return best > error
