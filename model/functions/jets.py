"""Jets: the first Taylor coefficients of a function, in intervals, by the rule of each operation.

A jet is an :class:`~skinny.model.functions.interval.Interval` of two axes: row ``k`` is ``f^(k)/k!`` and each column is
a point, or an interval of points. Each rule is the differential equation that its function solves.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from .elementary import two_over_root_pi
from .interval import Interval, around_number, dot, point_function

__all__ = ["constant_jet", "function_jet", "power", "product"]


def _like(jet: Interval) -> Interval:
    return Interval(np.zeros_like(jet.low), np.zeros_like(jet.high))


def constant_jet(value: Interval, like: Interval) -> Interval:
    """A number as a jet of the same shape as ``like``."""
    out = _like(like)
    out[0] = value
    return out


def product(left: Interval, right: Interval) -> Interval:
    """The product of two jets."""
    out = _like(left)
    for k in range(len(out.low)):
        out[k] = dot(left[: k + 1], right[k::-1])
    return out


def power(base: Interval, exponent: int) -> Interval:
    """A jet to a power, by squaring."""
    if exponent == 0:
        return constant_jet(_number(1), base)
    out = base
    for bit in bin(exponent)[3:]:
        out = product(out, out)
        out = product(out, base) if bit == "1" else out
    return out


def function_jet(name: str, jet: Interval) -> Interval:
    """A known function of a jet."""
    return _RULES[name](jet)


def _number(value: int | Fraction) -> Interval:
    return around_number(Fraction(value))


def _slopes(jet: Interval) -> Interval:
    """``k`` times row ``k``: the derivative, one row too far down."""
    counts = np.arange(len(jet.low), dtype=np.float64)[:, None]
    return jet * Interval(counts, counts)


def _step(k: int, slopes: Interval, outer: Interval) -> Interval:
    """Row ``k`` of the function whose derivative is ``outer`` times that of the argument."""
    return dot(slopes[1 : k + 1], outer[k - 1 :: -1] if k > 1 else outer[:1]) * _number(Fraction(1, k))


def _exp(jet: Interval) -> Interval:
    slopes, out = _slopes(jet), _like(jet)
    out[0] = point_function("exp", jet[0])
    for k in range(1, len(jet.low)):
        out[k] = _step(k, slopes, out)
    return out


def _log(jet: Interval) -> Interval:
    slopes, inverse, out = _slopes(jet), _inverse(jet), _like(jet)
    out[0] = point_function("log", jet[0])
    for k in range(1, len(jet.low)):
        out[k] = _step(k, slopes, inverse)
    return out


def _circle(jet: Interval) -> tuple[Interval, Interval]:
    slopes, sine, cosine = _slopes(jet), _like(jet), _like(jet)
    sine[0], cosine[0] = point_function("sin", jet[0]), point_function("cos", jet[0])
    for k in range(1, len(jet.low)):
        sine[k], cosine[k] = _step(k, slopes, cosine), -_step(k, slopes, sine)
    return sine, cosine


def _tan(jet: Interval) -> Interval:
    sine, cosine = _circle(jet)
    return product(sine, _inverse(cosine))


def _inverse(jet: Interval) -> Interval:
    out = _like(jet)
    out[0] = jet[0].inverse()
    for k in range(1, len(jet.low)):
        out[k] = -(out[0] * dot(jet[1 : k + 1], out[k - 1 :: -1] if k > 1 else out[:1]))
    return out


def _sqrt(jet: Interval) -> Interval:
    out = _like(jet)
    out[0] = jet[0].sqrt()
    half = (out[0] + out[0]).inverse()
    for k in range(1, len(jet.low)):
        rest = jet[k] - dot(out[1:k], out[k - 1 : 0 : -1]) if k > 1 else jet[k]
        out[k] = rest * half
    return out


def _tanh(jet: Interval) -> Interval:
    one, two = _number(1), _number(2)
    slopes, out, outer = _slopes(jet), _like(jet), _like(jet)  # outer is 1 - tanh², the derivative
    # The exponential stands once, so that the ends of an interval come out as those of tanh.
    out[0] = one - two * (point_function("exp", two * jet[0]) + one).inverse()
    outer[0] = one - out[0] * out[0]
    for k in range(1, len(jet.low)):
        out[k] = _step(k, slopes, outer)
        outer[k] = -dot(out[: k + 1], out[k::-1])
    return out


def _sigmoid(jet: Interval) -> Interval:
    half = _number(Fraction(1, 2))
    return constant_jet(half, jet) + half * _tanh(half * jet)


def _erf(jet: Interval) -> Interval:
    slopes, out = _slopes(jet), _like(jet)
    low, high = two_over_root_pi()
    outer = Interval(np.array([low]), np.array([high])) * _exp(-product(jet, jet))
    out[0] = point_function("erf", jet[0])
    for k in range(1, len(jet.low)):
        out[k] = _step(k, slopes, outer)
    return out


_RULES = {
    "sin": lambda jet: _circle(jet)[0],
    "cos": lambda jet: _circle(jet)[1],
    "tan": _tan,
    "exp": _exp,
    "log": _log,
    "sqrt": _sqrt,
    "tanh": _tanh,
    "sigmoid": _sigmoid,
    "erf": _erf,
    "inverse": _inverse,
}
