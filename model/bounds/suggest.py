"""The smallest fixed-point format in which a program is safe and accurate enough."""

from __future__ import annotations

from bisect import bisect_left

from skinny.model.errors import InputError
from skinny.model.program.program import Program
from skinny.model.rings import FixedPoint, Number

from .analysis import MOST_BITS, Analysis
from .box import Box

__all__ = ["suggest"]


def suggest(program: Program, box: Box, error: Number | None = None) -> FixedPoint:
    """The format of fewest bits that is safe and whose error is at most ``error``. Without ``error``, the error must be
    the least that 32 bits allow. The search takes about ten times as long as one bound.

    The error of a format is the largest bound of an output, or half a step when there are inputs and that is more: a
    format without fraction bits computes with integers exactly, but not with the inputs that were meant. The search
    relies on errors falling with the fraction bits, as they do because grids are nested.
    """
    tried: dict[int, tuple[float, int] | str] = {}

    def attempt(frac: int) -> tuple[float, int] | str:
        """The error and the number of bits that are needed, or the reason why 32 bits are not enough."""
        if frac not in tried:
            try:
                analysis = Analysis(program, FixedPoint(MOST_BITS, frac), box)
                half_step = 2.0 ** -(frac + 1) if program.inputs else 0.0
                tried[frac] = max(half_step, *analysis.errors.values()), analysis.bits_needed()
            except InputError as problem:
                tried[frac] = str(problem)
        return tried[frac]

    def too_fine(frac: int) -> bool:
        outcome = attempt(frac)
        return isinstance(outcome, str) or outcome[1] > MOST_BITS

    finest = bisect_left(range(MOST_BITS), True, key=too_fine) - 1
    best = attempt(max(0, finest))
    if isinstance(best, str):
        raise InputError(f"no format up to {MOST_BITS} bits holds what is given: {best}")
    if finest < 0:
        raise InputError(f"no format up to {MOST_BITS} bits is proven safe on this box")
    wanted = best[0] if error is None else error
    if not best[0] <= wanted:
        raise InputError(
            f"no format up to {MOST_BITS} bits has an error of at most {error}: the least is {best[0]:.3g}"
        )

    def good(frac: int) -> bool:
        outcome = attempt(frac)
        return not isinstance(outcome, str) and outcome[0] <= wanted and outcome[1] <= MOST_BITS

    frac = bisect_left(range(finest), True, key=good)
    outcome = attempt(frac)
    assert not isinstance(outcome, str)
    return FixedPoint(outcome[1], frac)
