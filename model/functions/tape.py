"""Tapes: a formula of one affine form of the inputs, in the order in which it is computed.

The form is mapped to ``t`` from -1 to 1. A tape is computed in floats, to look for a polynomial, and in jets, to prove
how near the polynomial is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from skinny.model.errors import InputError
from skinny.model.formula.formula import Formula, formula_text
from skinny.model.formula.function import Sampled

from . import jets
from .interval import Floats, Interval, around

__all__ = ["PARTLY_DEFINED", "Step", "Tape", "undefined"]

#: The functions that are not defined everywhere, and where they are not.
PARTLY_DEFINED = {
    "log": "is defined above zero only",
    "sqrt": "is defined from zero on only",
    "inverse": "has a pole at zero",
    "tan": "has a pole at π/2 and so on",
}

#: Larger values are not near to any word, whatever its scale.
LARGEST = 2.0**256

_FLOATS: dict[str, Callable[[Any], Any]] = {
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "sigmoid": lambda u: 0.5 + 0.5 * np.tanh(0.5 * u),
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "inverse": lambda u: 1 / u,
}


class Step(NamedTuple):
    """One operation: ``kind`` of a formula, or ``affine`` with the value ``(slope, offset)`` of ``slope·t + offset``;
    ``args`` are numbers of earlier steps, ``source`` is the formula that it computes."""

    kind: str
    args: tuple[int, ...]
    value: Any
    source: Formula


class Tape:
    """Steps, the last of which is the result."""

    def __init__(self, steps: list[Step]) -> None:
        self.steps = steps

    @property
    def source(self) -> Formula:
        """The formula that is computed."""
        return self.steps[-1].source

    @property
    def sampled(self) -> list[Step]:
        """The functions that are known by their values only."""
        return [step for step in self.steps if step.kind == "function" and isinstance(step.value, Sampled)]

    def floats(self, t: Floats) -> Floats:
        """The values at ``t``, rounded anyhow. A function outside of where it is defined is refused."""
        known: list[Floats] = []
        with np.errstate(all="ignore"):
            for step in self.steps:
                args = [known[arg] for arg in step.args]
                match step.kind:
                    case "affine":
                        slope, offset = step.value
                        value = float(slope) * t + float(offset)
                    case "sum":
                        value = np.sum(args, axis=0)
                    case "product":
                        value = np.prod(args, axis=0)
                    case "power":
                        value = args[0] ** step.value
                    case _:
                        value = _function_values(step, args[0])
                known.append(value)
        if not np.all(np.abs(known[-1]) <= LARGEST):
            raise _too_large(self.source)
        return known[-1]

    def jet(self, low: list[Fraction], high: list[Fraction], order: int) -> Interval:
        """The Taylor coefficients up to ``order`` in ``t``, from ``low`` to ``high`` each."""
        return self.jets(low, high, order)[-1]

    def jets(self, low: list[Fraction], high: list[Fraction], order: int) -> list[Interval]:
        """The same of every step."""
        known: list[Interval] = []
        with np.errstate(all="ignore"):
            for step in self.steps:
                args = [known[arg] for arg in step.args]
                match step.kind:
                    case "affine":
                        value = _affine_jet(step.value, low, high, order)
                    case "sum" | "product":
                        value = args[0]
                        for arg in args[1:]:
                            value = value + arg if step.kind == "sum" else jets.product(value, arg)
                    case "power":
                        value = jets.power(args[0], step.value)
                    case _:
                        value = jets.function_jet(step.value, args[0])
                known.append(value)
        return known


def _affine_jet(value: tuple[Fraction, Fraction], low: list[Fraction], high: list[Fraction], order: int) -> Interval:
    slope, offset = value
    out = Interval(np.zeros((order + 1, len(low))), np.zeros((order + 1, len(low))))
    ends = [_enclosed([slope * t + offset for t in side]) for side in (low, high)]
    out.low[0] = np.minimum(ends[0].low, ends[1].low)
    out.high[0] = np.maximum(ends[0].high, ends[1].high)
    if order:
        out[1] = around([slope.numerator], slope.denominator)
    return out


def _enclosed(values: list[Fraction]) -> Interval:
    floats = np.array([value.numerator / value.denominator for value in values])
    return Interval(np.nextafter(floats, -np.inf), np.nextafter(floats, np.inf))


def _function_values(step: Step, argument: Floats) -> Floats:
    if isinstance(step.value, Sampled):
        return _sampled_values(step, step.value, argument)
    least, most = float(np.min(argument)), float(np.max(argument))
    wrong = {
        "log": least <= 0,
        "sqrt": least < 0,
        "inverse": least <= 0 <= most,
        "tan": math.floor(least / math.pi + 0.5) != math.floor(most / math.pi + 0.5),
    }
    if wrong.get(step.value):
        raise undefined(step, f"goes from {least:.3g} to {most:.3g}")
    value: Floats = _FLOATS[step.value](argument)
    if not np.all(np.isfinite(value)):
        raise _too_large(step.source)
    return value


def undefined(step: Step, what: str) -> InputError:
    """The refusal of a function that is not defined on all of a box, with what its argument does there."""
    name = "1/x" if step.value == "inverse" else step.value
    return InputError(
        f"{formula_text(step.source, 40)} cannot be computed on this box: {name} {PARTLY_DEFINED[step.value]}, "
        f"and its argument {what}"
    )


def _too_large(source: Formula) -> InputError:
    return InputError(f"{formula_text(source, 40)} gets larger than 2^256 on this box, too large to be computed with")


def _sampled_values(step: Step, function: Sampled, argument: Floats) -> Floats:
    if function.call is None:
        points = np.array([[float(x), float(y)] for x, y in function.points]).T
        return np.asarray(np.interp(argument, points[0], points[1]), dtype=np.float64)
    out = np.empty_like(argument)
    for index, x in enumerate(argument.tolist()):
        try:
            out[index] = float(function.call(x))
        except Exception as error:
            raise InputError(f"{function.name} fails at {x:.6g}: {type(error).__name__}: {error}") from None
        if not math.isfinite(out[index]):
            raise InputError(f"{function.name} is {out[index]} at {x:.6g}, which is no number")
    return out
