"""Choose: among drafts for fixed point, the shortest that is proven to be precise enough.

Precondition: options for each output, and what is asked of them. Postcondition: one option for each output and one
number of fraction bits for all, proven: every value that is read fits the word, and the error is within the limit.
Options are sorted by estimates; proofs are asked for in that order, and what the proof does not grant is not taken.
Cost: an estimate for each option, and a few proofs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from skinny.model.limits import check

from .code import Code
from .drafts import Draft
from .estimate import Estimate

__all__ = ["Choice", "Judge", "Option", "Proof", "Task"]

#: Without an asked error, a program may err by this many times the least error that any option is proven to have.
GENEROUS = 2
#: Options of least estimated error that are proven to find the least error there is; when a proof needs more bits than
#: the estimate, so many fraction bits less are tried.
LEAST, COARSER = 3, 2
#: The instructions of options that are proven for that, together: of longer programs the shortest safe one is taken.
EFFORT = 500
#: Options that are tried for an output with one number of fraction bits, and numbers of fraction bits that are tried.
TRIED, FORMATS = 12, 6


class Proof(NamedTuple):
    """What is proven of an option with some number of fraction bits: the word it needs, and its error."""

    bits: int
    error: float


@dataclass(eq=False)
class Option:
    """One way to compute an output: a draft after some of its steps, and the estimate of its precision."""

    draft: Draft
    code: Code
    estimate: Estimate


@dataclass(frozen=True)
class Task:
    """What is asked: a word of ``bits``, one of ``fracs`` (falling) as its fraction bits, and the largest error of each
    output, or none. ``units`` are those in which the errors of the outputs count. Without limits, an option of more
    than ``longest`` cycles is taken only when no shorter one is proven safe."""

    bits: int
    fracs: Sequence[int]
    limits: Mapping[str, float] | None
    units: Mapping[str, float]
    longest: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Choice:
    """The number of fraction bits, the option of each output, and the proofs."""

    frac: int
    options: dict[str, Option]
    proofs: dict[str, Proof]


class Judge:
    """Estimates and proofs of options, each made once. ``prove`` is given an output's name, an option and a number of
    fraction bits."""

    def __init__(
        self, options: Mapping[str, Sequence[Option]], task: Task, prove: Callable[[str, Option, int], Proof]
    ) -> None:
        self.options, self.task, self._prove = options, task, prove
        self._proofs: dict[tuple[int, int], Proof] = {}
        self._errors: dict[tuple[int, int], float] = {}
        self._slopes: dict[str, float] = {}

    def choose(self) -> Choice | None:
        """The choice of fewest cycles, or none."""
        if self.task.limits is not None or not self.task.longest:
            return self._choose()
        short = self._of_short_options()
        least = {name: short.least(name, short.sensible()) for name in self.options}
        limits = {name: max(limit, least[name]) for name, limit in self._limits(self.sensible()).items()}
        return short._choose(limits) or short._choose() or self._choose()

    def _of_short_options(self) -> Judge:
        """A judge of the options that are not longer than they should be."""
        short = {
            name: [option for option in options if option.code.cycles <= self.task.longest[name]]
            for name, options in self.options.items()
        }
        return self._with(short, self.task)

    def _limits(self, fracs: Sequence[int]) -> dict[str, float]:
        """The errors that the outputs may have."""
        return {name: self.limit(name, fracs) for name in self.options}

    def _choose(self, limits: Mapping[str, float] | None = None) -> Choice | None:
        """The same, with these limits of the errors if they are given."""
        fracs = self.sensible()
        limits = limits or self._limits(fracs)
        plans = []
        for frac in fracs:
            found = [self.eligible(name, frac, limit) for name, limit in limits.items()]
            if all(found):
                error = max(self.error(name, options[0], frac) for name, options in zip(limits, found, strict=True))
                plans.append((sum(options[0].code.cycles for options in found), error, -frac))
        for _, _, minus_frac in sorted(plans)[:FORMATS]:
            choice = self._attempt(-minus_frac, limits)
            if choice is not None:
                return choice
        return None

    def promising(self) -> bool:
        """Whether the estimates of some options seem to do."""
        fracs = self.sensible()
        limits = self.task.limits or dict.fromkeys(self.options, float("inf"))
        return any(all(self.eligible(name, frac, limit) for name, limit in limits.items()) for frac in fracs)

    def with_task(self, task: Task) -> Judge:
        """A judge of the same options for another task."""
        return self._with(self.options, task)

    def _with(self, options: Mapping[str, Sequence[Option]], task: Task) -> Judge:
        other = Judge(options, task, self._prove)
        other._proofs, other._errors = self._proofs, self._errors
        return other

    def error(self, name: str, option: Option, frac: int) -> float:
        """The estimated error."""
        key = id(option), frac
        if key not in self._errors:
            check()
            self._errors[key] = option.estimate.error(frac) * self.task.units[name]
        return self._errors[key]

    def finest(self, option: Option) -> int | None:
        """The largest number of fraction bits with which the option seems to fit the word."""
        return next((frac for frac in self.task.fracs if option.estimate.bits(frac) <= self.task.bits), None)

    def precise(self, name: str) -> list[Option]:
        """The options that seem to fit the word, the most precise first; the rounding of the inputs counts."""
        ranked: list[tuple[float, int, int, Option]] = []
        for option in self.options[name]:
            frac = self.finest(option)
            if frac is not None:
                error = self.error(name, option, frac) + self.input_error(name, frac)
                ranked.append((error, option.code.cycles, len(ranked), option))
        return [option for *_, option in sorted(ranked)]

    def proven(self, option: Option, frac: int) -> Proof | None:
        """What was proven of the option, if that was asked."""
        return self._proofs.get((id(option), frac))

    def proof(self, name: str, option: Option, frac: int) -> Proof:
        """What is proven of the option."""
        key = id(option), frac
        if key not in self._proofs:
            check()
            self._proofs[key] = self._prove(name, option, frac)
        return self._proofs[key]

    def sensible(self) -> list[int]:
        """The numbers of fraction bits worth trying, when there is a choice. The rounding of the inputs counts for it:
        with the error of the best option it may not exceed :data:`GENEROUS` times the least, or it may not exceed the
        error that is asked for. Without that, whole numbers would often be best, because formulas with whole constants
        are exact for them."""
        if len(self.task.fracs) == 1:
            return list(self.task.fracs)
        worst: dict[int, float] = {}
        for frac in self.task.fracs:
            errors = []
            for name, options in self.options.items():
                fitting = [option for option in options if option.estimate.bits(frac) <= self.task.bits]
                least = min((self.error(name, option, frac) for option in fitting), default=float("inf"))
                errors.append(self.input_error(name, frac) + least)
            worst[frac] = max(errors)
        allowed = min(GENEROUS * min(worst.values()), sys.float_info.max)
        limits = self.task.limits

        def asked_for(frac: int) -> bool:
            return limits is not None and all(self.input_error(name, frac) <= limits[name] for name in limits)

        return [frac for frac, error in worst.items() if error <= allowed or asked_for(frac)]

    def input_error(self, name: str, frac: int) -> float:
        """The estimated error of an output that comes from rounding its inputs."""
        if name not in self._slopes:
            self._slopes[name] = self.options[name][0].estimate.slope() * self.task.units[name]
        return self._slopes[name] * 2.0 ** -(frac + 1)

    def limit(self, name: str, fracs: Sequence[int]) -> float:
        """The error that output ``name`` may have."""
        return GENEROUS * self.least(name, fracs) if self.task.limits is None else self.task.limits[name]

    def least(self, name: str, fracs: Sequence[int]) -> float:
        """The least error that is proven of any option that fits the word with one of ``fracs``."""
        # Of options that look alike, most of them one code before and after a step, one is enough.
        ranked: dict[tuple[float, int], tuple[Option, list[int]]] = {}
        for option in self.options[name]:
            fits = [frac for frac in fracs if option.estimate.bits(frac) <= self.task.bits]
            if fits:
                key = self.error(name, option, fits[0]), option.code.cycles
                ranked.setdefault(key, (option, fits[: 1 + COARSER]))
        least = float("inf")
        effort = 0
        for _, (option, tried) in sorted(ranked.items())[:LEAST]:
            effort += len(option.code)
            if effort > EFFORT:
                break
            for frac in tried:
                proof = self.proof(name, option, frac)
                if proof.bits <= self.task.bits:
                    least = min(least, proof.error)
                if proof.bits <= self.task.bits or proof.error == float("inf"):
                    break
        return least

    def eligible(self, name: str, frac: int, limit: float) -> list[Option]:
        """The options that seem to do, the shortest first; of those that look alike one."""
        found = {
            (option.code.cycles, self.error(name, option, frac)): option
            for option in reversed(self.options[name])
            if option.estimate.bits(frac) <= self.task.bits and self.error(name, option, frac) <= limit
        }
        return [found[key] for key in sorted(found)]

    def _attempt(self, frac: int, limits: Mapping[str, float]) -> Choice | None:
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
