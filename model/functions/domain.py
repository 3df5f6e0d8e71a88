"""Domain: is a tape defined on all of its range, and not only at samples of it?

The range of ``t`` is cut into pieces, on which every step is enclosed (:mod:`skinny.model.functions.jets`). Where a
function is surely not defined, the tape is refused. Pieces on which that is open are halved. Where it is still open on
the smallest ones, an argument comes to the end of the domain: that of a root may, others may not.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from skinny.model.formula.formula import formula_text
from skinny.model.limits import check

from .interval import Interval, point_function
from .tape import PARTLY_DEFINED, Step, Tape, undefined

__all__ = ["check_domain"]

#: Pieces at first, how often they are halved (to 2^-34, where the floats near a double zero end), and pieces that are
#: looked at in all. When there are more, nothing is said here, and the proof of the error is left to fail.
FIRST, DEEPEST, MOST_PIECES = 64, 28, 4000
#: Numbers below this, in relation to their range, are written as zero.
NEAR_ZERO = 1e-9

Flags = NDArray[np.bool_]


def check_domain(tape: Tape) -> None:
    """Raise :exc:`InputError` when ``tape``, which has no sampled function, is not defined somewhere."""
    steps = [step for step in tape.steps if step.kind == "function" and step.value in PARTLY_DEFINED]
    if not steps:
        return
    half = Fraction(1, FIRST)
    middles = [(2 * j + 1) * half - 1 for j in range(FIRST)]
    count = 0
    for level in range(DEEPEST + 1):
        check()
        count += len(middles)
        if not middles or count > MOST_PIECES:
            return
        known = tape.jets([middle - half for middle in middles], [middle + half for middle in middles], 0)
        still_open = np.zeros(len(middles), dtype=bool)
        for step in steps:
            defined, undefined_all_over = _where(step, known[step.args[0]][0])
            if np.any(undefined_all_over):
                raise undefined(step, f"is outside where {_place(tape, middles, undefined_all_over)}")
            if level == DEEPEST and step.value != "sqrt" and not np.all(defined):
                end = "a pole" if step.value == "tan" else "zero"
                raise undefined(step, f"comes to {end}, or too near to it, where {_place(tape, middles, ~defined)}")
            still_open |= ~defined
        half /= 2
        middles = [middles[n] + side * half for n in np.flatnonzero(still_open) for side in (-1, 1)]


def _where(step: Step, argument: Interval) -> tuple[Flags, Flags]:
    """The pieces on all of which the function is defined, and those on none of which it is."""
    match step.value:
        case "log":
            return argument.low > 0, argument.high <= 0
        case "sqrt":
            return argument.low >= 0, argument.high < 0
        case "tan":
            argument = point_function("cos", argument)
    return (argument.low > 0) | (argument.high < 0), np.zeros(len(argument.low), dtype=bool)


def _place(tape: Tape, middles: list[Fraction], flags: Flags) -> str:
    """The first of the pieces with a flag, as a person names it: by the value of the form that the tape begins with."""
    t = middles[int(np.argmax(flags))]
    step = next((step for step in tape.steps if step.kind == "affine" and step.value[0]), tape.steps[0])
    slope, offset = step.value
    value = slope * t + offset
    return f"{formula_text(step.source, 40)} is {0.0 if abs(value) < NEAR_ZERO * abs(slope) else float(value):.6g}"
