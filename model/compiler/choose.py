"""Choose: among drafts for fixed point, the shortest that is proven to be precise enough.

Precondition: drafts of each output, and what is asked of them. Postcondition: one draft for each output and one number
of fraction bits for all, proven: every value that is read fits the word, and the error is within the limit. Drafts are
sorted by estimates; proofs are asked for in that order, and what the proof does not grant is not taken. Cost: an
estimate for each draft, and a few proofs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from skinny.model.limits import check

from .code import Code
from .estimate import Estimate, sample_points
from .goal import Ends

__all__ = ["Choice", "Option", "Proof", "Shortfall", "Task", "choose"]

#: A program without an asked error may err by this many times the least error that any candidate has.
GENEROUS = 2
#: Drafts of least estimated error that are proven to find the least error there is.
LEAST = 3
#: Drafts that are tried for an output with one number of fraction bits, and numbers of fraction bits that are tried.
TRIED, FORMATS = 12, 6


class Proof(NamedTuple):
    """What is proven of a draft with some number of fraction bits: the word it needs and its error."""

    bits: int
    error: float


@dataclass(eq=False)
class Option:
    """A draft of an output: the pass it comes from, its code and the estimate of its precision."""

    source: str
    code: Code
    estimate: Estimate


@dataclass(frozen=True)
class Task:
    """What is asked: a word of ``bits``, one of ``fracs`` as its fraction bits, and the largest error of each output
    (none: :data:`GENEROUS` times the least). ``floors`` is an error for each output that cannot be avoided anyway."""

    bits: int
    fracs: Sequence[int]
    limits: Mapping[str, float | None]
    floor: Callable[[int], float]


@dataclass(frozen=True)
class Choice:
    """The option of each output, the number of fraction bits and the proofs."""

    frac: int
    options: dict[str, Option]
    proofs: dict[str, Proof]


class Shortfall(NamedTuple):
    """Why nothing could be chosen: what the best option of the worst output needs with a number of fraction bits."""

    output: str
    frac: int
    proof: Proof


Prove = Callable[[str, Option, int], Proof]


def estimated(source: str, code: Code, points_of: Sequence[Ends]) -> Option:
    return Option(source, code, Estimate(code, sample_points(points_of)))


def choose(options: Mapping[str, Sequence[Option]], task: Task, prove: Prove) -> Choice | None:
    """The choice of least cycles, or none."""
    judge = _Judge(options, task, prove)
    limits = {name: judge.limit(name) for name in options}
    plans = []
    for frac in task.fracs:
        shortest = {name: judge.eligible(name, frac, limit) for name, limit in limits.items()}
        if all(shortest.values()):
            cycles = sum(found[0].code.cycles for found in shortest.values())
            error = max(judge.error(found[0], frac) for found in shortest.values())
            plans.append((cycles, error, frac))
    for _, _, frac in sorted(plans)[:FORMATS]:
        choice = judge.attempt(frac, limits)
        if choice is not None:
            return choice
    return None


class _Judge:
    """Estimates and proofs, each made once."""

    def __init__(self, options: Mapping[str, Sequence[Option]], task: Task, prove: Prove) -> None:
        self.options, self.task, self._prove = options, task, prove
        self._proofs: dict[tuple[int, int], Proof] = {}
        self._errors: dict[tuple[int, int], float] = {}

    def error(self, option: Option, frac: int) -> float:
        """The estimated error."""
        key = id(option), frac
        if key not in self._errors:
            check()
            self._errors[key] = max(option.estimate.error(frac), self.task.floor(frac))
        return self._errors[key]

    def proof(self, name: str, option: Option, frac: int) -> Proof:
        key = id(option), frac
        if key not in self._proofs:
            check()
            bits, error = self._prove(name, option, frac)
            self._proofs[key] = Proof(bits, max(error, self.task.floor(frac)))
        return self._proofs[key]

    def finest(self, option: Option) -> int | None:
        """The largest number of fraction bits with which the option seems to fit the word."""
        return next((frac for frac in self.task.fracs if option.estimate.bits(frac) <= self.task.bits), None)

    def limit(self, name: str) -> float:
        """The error that output ``name`` may have."""
        asked = self.task.limits[name]
        if asked is not None:
            return asked
        ranked = []
        for option in self.options[name]:
            frac = self.finest(option)
            if frac is not None:
                ranked.append((self.error(option, frac), option.code.cycles, len(ranked), option, frac))
        least = float("inf")
        for _, _, _, option, finest in sorted(ranked, key=lambda entry: entry[:3])[:LEAST]:
            for frac in self.task.fracs:
                if finest - 2 <= frac <= finest:
                    proof = self.proof(name, option, frac)
                    if proof.bits <= self.task.bits:
                        least = min(least, proof.error)
                        break
        return GENEROUS * least

    def eligible(self, name: str, frac: int, limit: float) -> list[Option]:
        """The options that seem to do, the shortest first."""
        found = [
            option
            for option in self.options[name]
            if option.estimate.bits(frac) <= self.task.bits and self.error(option, frac) <= limit
        ]
        return sorted(found, key=lambda option: (option.code.cycles, self.error(option, frac)))

    def attempt(self, frac: int, limits: Mapping[str, float]) -> Choice | None:
        """The shortest options that are proven with ``frac`` fraction bits."""
        chosen: dict[str, Option] = {}
        proofs: dict[str, Proof] = {}
        for name, limit in limits.items():
            for option in self.eligible(name, frac, limit)[:TRIED]:
                proof = self.proof(name, option, frac)
                if proof.bits <= self.task.bits and proof.error <= limit:
                    chosen[name], proofs[name] = option, proof
                    break
            else:
                return None
        return Choice(frac, chosen, proofs)
