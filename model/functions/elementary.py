"""Values of elementary functions between two floats, proven: whole numbers do the work, what they cut off is counted.

A value is computed with :data:`BITS` bits after the point. All that is cut off on the way is below ``2^-110``, of the
value or of one, whichever is more; so the nearest float and a step of one float outwards enclose it, and near zero
:data:`SLACK` does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache

__all__ = [
    "POINT_FUNCTIONS",
    "cosine",
    "error_function",
    "exponential",
    "extremes_between",
    "logarithm",
    "sine",
    "two_over_root_pi",
]

#: Bits after the point of the numbers below.
BITS = 176
ONE = 1 << BITS
#: More than what is cut off of a value below one, and less than any float step of a value above 2^-37.
SLACK = 2.0**-90
#: The arguments of sine and cosine: beyond this, the error of π counts.
LARGEST_ANGLE = 2.0**40
#: The exponential of what is beyond this is no float, or is zero.
LARGEST_EXPONENT = 760.0
#: From here on the error function is one, up to 2^-130.
ERROR_FUNCTION_ENDS = 10.0

Enclosure = tuple[float, float]


def _series(square: int, first: int, sign: int) -> int:
    """``Σ sign^k·first·square^k/(2k + 1)``: arctan for sign -1, artanh for sign 1."""
    total, power, divisor = 0, first, 1
    while power:
        total += power // divisor if sign > 0 or divisor % 4 == 1 else -(power // divisor)
        power = power * square >> BITS
        divisor += 2
    return total


@cache
def _half_pi() -> int:
    """π/2, by Machin's formula."""
    fifth, other = ONE // 5, ONE // 239
    return 8 * _series(ONE // 25, fifth, -1) - 2 * _series(ONE // 239**2, other, -1)


@cache
def _log_two() -> int:
    return 2 * _series(ONE // 9, ONE // 3, 1)


@cache
def _two_over_root_pi() -> int:
    return math.isqrt((2 << 3 * BITS) // _half_pi())


def _scaled(x: float) -> int:
    numerator, denominator = x.as_integer_ratio()
    return (numerator << BITS) // denominator


def _around(value: int, exponent: int = 0) -> Enclosure:
    """Floats around ``value·2^exponent``, a value that is as exact in relation to its size as it must be."""
    middle = math.ldexp(value / ONE, exponent)
    return math.nextafter(middle, -math.inf), math.nextafter(middle, math.inf)


def _around_small(value: int) -> Enclosure:
    """Floats around a value that may be near zero."""
    middle = value / ONE
    return math.nextafter(middle - SLACK, -math.inf), math.nextafter(middle + SLACK, math.inf)


def two_over_root_pi() -> Enclosure:
    """``2/√π``, the derivative of the error function at zero."""
    return _around(_two_over_root_pi())


def _exponential(x: int) -> tuple[int, int]:
    """The exponential as ``value·2^exponent``, its value from one to two."""
    exponent, rest = divmod(x, _log_two())
    rest >>= 8
    total = term = ONE
    count = 1
    while term:
        term = (term * rest >> BITS) // count
        total += term
        count += 1
    for _ in range(8):
        total = total * total >> BITS
    return total, exponent


@lru_cache(1 << 16)
def exponential(x: float) -> Enclosure:
    """``e^x``."""
    if x > LARGEST_EXPONENT:
        return math.ldexp(1.0, 1023), math.inf
    if x < -LARGEST_EXPONENT:
        return 0.0, math.ulp(0.0)
    value, exponent = _exponential(_scaled(x))
    if exponent > 1022:
        return math.ldexp(1.0, 1023), math.inf
    low, high = _around(value, exponent)
    return max(low, 0.0), high


@lru_cache(1 << 16)
def logarithm(x: float) -> Enclosure:
    """The natural logarithm of ``x`` above zero."""
    mantissa, exponent = math.frexp(x)
    scaled = _scaled(mantissa)
    ratio = ((scaled - ONE) << BITS) // (scaled + ONE)
    size = -_series(ratio * ratio >> BITS, -ratio, 1)
    return _around_small(2 * size + exponent * _log_two())


@lru_cache(1 << 16)
def _circle(x: float) -> tuple[int, int]:
    """Sine and cosine of ``x``."""
    quarter, rest = divmod(_scaled(x) + _half_pi() // 2, _half_pi())
    rest -= _half_pi() // 2
    parts = [0, 0]
    term, count = ONE, 0
    while term not in (0, -1):
        parts[count % 2] += -term if count % 4 > 1 else term
        count += 1
        term = (term * rest >> BITS) // count
    cosine, sine = parts
    for _ in range(quarter % 4):
        sine, cosine = cosine, -sine
    return sine, cosine


def sine(x: float) -> Enclosure:
    """The sine of an angle."""
    return _around_small(_circle(x)[0]) if abs(x) <= LARGEST_ANGLE else (-1.0, 1.0)


def cosine(x: float) -> Enclosure:
    """The cosine of an angle."""
    return _around_small(_circle(x)[1]) if abs(x) <= LARGEST_ANGLE else (-1.0, 1.0)


def extremes_between(low: float, high: float) -> set[int]:
    """Which of the four quarter turns, 0 to 3 times π/2, lie from ``low`` to ``high``; too many rather than too few."""
    if not (low >= -LARGEST_ANGLE and high <= LARGEST_ANGLE):
        return {0, 1, 2, 3}
    guard = 1 << BITS // 2
    first = -((guard - _scaled(low)) // _half_pi())
    last = (_scaled(high) + guard) // _half_pi()
    return {turn % 4 for turn in range(first, min(last, first + 3) + 1)}


@lru_cache(1 << 16)
def error_function(x: float) -> Enclosure:
    """``erf(x)``, by its series of positive terms, ``2/√π·e^(-x²)·Σ 2^n x^(2n+1)/(1·3·…·(2n+1))``."""
    if x < 0:
        low, high = error_function(-x)
        return -high, -low
    if x >= ERROR_FUNCTION_ENDS:
        return _around_small(ONE)
    scaled = _scaled(x)
    square = scaled * scaled >> BITS
    total, term, count = 0, scaled, 1
    while term:
        total += term
        count += 2
        term = (2 * term * square >> BITS) // count
    value, exponent = _exponential(-square)
    return _around_small((total * value >> BITS) * _two_over_root_pi() >> BITS - exponent)


#: The functions that whole numbers compute, by name.
POINT_FUNCTIONS: dict[str, Callable[[float], Enclosure]] = {
    "exp": exponential,
    "log": logarithm,
    "sin": sine,
    "cos": cosine,
    "erf": error_function,
}
