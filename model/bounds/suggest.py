"""Fixed-point formats in which a program is safe and accurate enough."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from contextlib import suppress
from typing import NamedTuple

from skinny.model.errors import InputError
from skinny.model.program.program import Program
from skinny.model.rings import FixedPoint, Number

from .analysis import MOST_BITS, MOST_SECONDS, Analysis
from .box import Box

__all__ = ["suggest"]

#: Analyses that every search makes: it halves the numbers of fraction bits until the finest safe one is left.
_FEWEST = 5


class _Outcome(NamedTuple):
    """What a number of fraction bits gives: the error, the bits that are needed, and whether something that is given
    and not zero becomes zero."""

    error: float
    bits: int
    lost: bool


def suggest(
    program: Program, box: Box, error: Number | None = None, bits: int = 2, *, seconds: float = 0.0
) -> list[FixedPoint]:
    """Formats that are safe, the one to take first; none that can be found is an error.

    With ``error`` one: the format of fewest bits whose error is at most that. The error of a format is the largest
    bound of an output, or half a step when there are inputs and that is more: a format without fraction bits computes
    with integers exactly, but not with the inputs that were meant.

    Without ``error``: the format of fewest bits, at least ``bits``, in which no weight and no end of the box that is
    not zero becomes zero; of several with that many bits, the one with the most fraction bits. Where fewer than
    ``bits`` bits can do, then also the one of fewest bits.

    The search makes about ten analyses. Where they take long it ends with an error: all of them, with the ``seconds``
    that were spent before, may take as long as one may, counted by their work as one counts it, and none is begun when
    those that every search makes would take longer. It relies on errors falling and needed bits rising with the
    fraction bits, as they do because grids are nested.
    """
    if program.state:
        # A finer grid can move a pole out of the unit circle, so that needed bits do not rise with the fraction bits.
        raise InputError("no format is suggested for a program with state; try formats with --ring")
    search = _Search(program, box, seconds)
    finest = bisect_left(range(MOST_BITS), True, key=lambda frac: search.bits(frac) > MOST_BITS) - 1
    best = search.outcome(max(0, finest))
    if isinstance(best, str):
        raise InputError(f"no format up to {MOST_BITS} bits holds what is given: {best}")
    if finest < 0 or best.lost:
        raise InputError(f"no format up to {MOST_BITS} bits is proven safe on this box")
    if error is None:
        coarsest = bisect_left(range(finest), True, key=lambda frac: not search.lost(frac))
        fewest = search.bits(coarsest)
        fitting = range(coarsest, finest + 1)

        def finest_of(wanted: int) -> FixedPoint:
            return FixedPoint(wanted, coarsest + bisect_right(fitting, wanted, key=search.bits) - 1)

        formats = [finest_of(max(bits, fewest))]
        if fewest < bits:
            with suppress(InputError):  # what was found is not lost for want of time
                formats.append(finest_of(fewest))
        return formats
    if not best.error <= error:
        raise InputError(
            f"no format up to {MOST_BITS} bits is proven to have an error of at most {float(error):.3g}: "
            f"the least is {best.error:.3g}"
        )
    frac = bisect_left(range(finest), True, key=lambda frac: search.error(frac) <= error)
    return [FixedPoint(search.bits(frac), frac)]


class _Search:
    """Analyses of one program with different numbers of fraction bits, each made once."""

    def __init__(self, program: Program, box: Box, seconds: float) -> None:
        self.program, self.box = program, box
        #: The seconds that were spent, and those of the longest analysis: the next one may take as long.
        self.spent = self.longest = seconds
        self.known: dict[int, _Outcome | str] = {}

    def outcome(self, frac: int) -> _Outcome | str:
        """What ``frac`` fraction bits give, or the reason why 32 bits do not hold what is given."""
        if frac not in self.known:
            if self.spent + max(1, _FEWEST - len(self.known)) * self.longest > MOST_SECONDS:
                raise InputError(
                    f"no format is suggested: an analysis takes about {self.longest:.0f} s, and the search needs "
                    "several; try formats with --ring"
                )
            try:
                analysis = Analysis(self.program, FixedPoint(MOST_BITS, frac), self.box)
            except InputError as problem:
                self.known[frac] = str(problem)
            else:
                self.spent += analysis.spent
                self.longest = max(self.longest, analysis.spent)
                half_step = 2.0 ** -(frac + 1) if self.program.inputs else 0.0
                given: list[tuple[Number, int]] = [*zip(self.program.weights, analysis.weights, strict=True)]
                given += [pair for ends in zip(self.box, analysis.box, strict=True) for pair in zip(*ends, strict=True)]
                lost = any(value and not raw for value, raw in given)
                error = max(half_step, *analysis.errors.values())
                self.known[frac] = _Outcome(error, analysis.bits_needed(), lost)
        return self.known[frac]

    def bits(self, frac: int) -> int:
        outcome = self.outcome(frac)
        return MOST_BITS + 1 if isinstance(outcome, str) else outcome.bits

    def error(self, frac: int) -> float:
        outcome = self.outcome(frac)
        return float("inf") if isinstance(outcome, str) else outcome.error

    def lost(self, frac: int) -> bool:
        outcome = self.outcome(frac)
        return not isinstance(outcome, str) and outcome.lost
