"""Refuse: what cannot be met in fixed point, and the closest that can.

Precondition: a judge that chose nothing. Postcondition: a :exc:`RefusalError`, whose error and format were each met by
a choice of the same judge, so asking for one of them is granted. Cost: a few choices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from skinny.model.bounds.analysis import MOST_BITS
from skinny.model.errors import CheckError

from .choose import Judge
from .goal import Precision

__all__ = ["Closest", "RefusalError", "closest", "refuse", "rounded_up"]

#: Words that seem to be large enough and are tried for a refusal, which names one.
WIDER = 4


@dataclass(frozen=True)
class Closest:
    """The least error that can be met in the word that was asked for, and the word and its fraction bits with which
    what was asked can be met; none where nothing was found. ``output`` is the one that is furthest off."""

    output: str
    error: Decimal | None
    word: tuple[int, int] | None


class RefusalError(CheckError):
    """Nothing that is asked for was found; ``closest`` was."""

    def __init__(self, precision: Precision, closest: Closest) -> None:
        self.precision, self.closest = precision, closest
        said = []
        if closest.error is not None and precision.error is not None:
            said.append(f"an error of {float(closest.error):.6g} can be met")
        if closest.word is None:
            said.append(f"no word up to {MOST_BITS} bits was found to do")
        else:
            said.append("fixed:{}.{} would do".format(*closest.word))
        if not precision.scale:
            said.append("--scale auto, or inputs that you scale to about -1 to 1, may need fewer bits")
        ring = f"fixed:{precision.bits}" + (f".{precision.frac}" if precision.frac is not None else "")
        asked = "" if precision.error is None else f" with an error of at most {float(precision.error):.3g}"
        super().__init__(
            f"output {closest.output}: no program is proven safe{asked} in {ring} on this box: {'; '.join(said)}"
        )

    def or_closer(self, other: RefusalError) -> RefusalError:
        """The refusal when two attempts failed: the closest of both."""
        errors = [(r.closest.error, r.closest.output) for r in (self, other) if r.closest.error is not None]
        error, output = min(errors, default=(None, self.closest.output))
        word = min((r.closest.word for r in (self, other) if r.closest.word is not None), default=None)
        return RefusalError(self.precision, Closest(output, error, word))


def refuse(judge: Judge, precision: Precision, spent: Mapping[str, Fraction]) -> RefusalError:
    """The refusal of what ``judge`` was asked for. ``spent`` are the errors that the formulas have before they are
    rounded."""
    return RefusalError(precision, closest(judge, precision, {name: float(error) for name, error in spent.items()}))


def closest(judge: Judge, precision: Precision, spent: Mapping[str, float]) -> Closest:
    """The closest to the task of ``judge`` that can be met."""
    task = judge.task
    least = {name: judge.least(name, task.fracs) for name in judge.options}
    furthest = max(least, key=lambda name: least[name] + spent[name])
    word = None
    tried = 0
    for bits in range(task.bits + 1, MOST_BITS + 1):
        fracs = [precision.frac] if precision.frac is not None else list(range(bits - 1, -1, -1))
        wider = judge.with_task(replace(task, bits=bits, fracs=fracs))
        if tried == WIDER:
            break
        if wider.promising():
            tried += 1
            choice = wider.choose()
            if choice is not None:
                word = bits, choice.frac
                break
    return Closest(furthest, _least_error(judge, least, spent), word)


def _least_error(judge: Judge, least: Mapping[str, float], spent: Mapping[str, float]) -> Decimal | None:
    """The least error that all outputs can be asked to keep; rounded up, because it is to be read."""
    task = judge.task
    free = judge.with_task(replace(task, limits=None)).choose()
    if free is None:
        return None
    found = {name: proof.error for name, proof in free.proofs.items()}
    # Each output alone may do better than all of them in one format.
    for errors in (least, found):
        error = rounded_up(max(errors[name] + spent[name] for name in errors))
        limits = {name: float(error) - spent[name] for name in errors}
        if error.is_finite() and judge.with_task(replace(task, limits=limits)).choose() is not None:
            return error
    return None


def rounded_up(value: float) -> Decimal:
    """An error to be read: three digits, rounded up."""
    return Context(prec=3, rounding=ROUND_CEILING).create_decimal(Decimal(value))
