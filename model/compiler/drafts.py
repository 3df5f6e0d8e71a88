"""Drafts: the candidates of one output as code, carried through the passes over code.

Precondition: the polynomial of an output. Postcondition: its drafts, the shortest first. Those that promise to be short
are emitted, cleaned (peephole, prune) and, if they are among the shortest, scheduled and searched. For fixed point the
first candidate, the text as it is written, is one of them in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TypeVar

from skinny.model.errors import InputError
from skinny.model.limits import current

from .candidates import Candidate, candidates
from .code import Affine, Code, Instruction, affine_scalar
from .contracts import CEILING
from .emit import emit
from .goal import Goal
from .passes.peephole import peephole
from .passes.prune import prune
from .passes.schedule import schedule
from .passes.search import is_searchable, search
from .polynomial import Polynomial, Table

__all__ = ["Draft", "History", "drafts_of", "polish"]

#: Drafts are carried through to the end while their cost is below this and near the best.
SMALL = 20_000
NEAR = 2.0
#: The shortest drafts that are scheduled in any case, the instructions of those that are scheduled together, and the
#: shortest drafts that are searched.
SCHEDULED, FEW, SEARCHED = 3, 1_000, 4

#: The best length and the cycles after steps of the compiler.
History = list[tuple[str, int, int]]


@dataclass
class Draft:
    """Code on its way through the last passes: the pass that found its shape, its length as predicted before emission,
    the decision it leaves out, and the code after each step."""

    source: str
    predicted: int
    without: str = ""
    history: list[tuple[str, Code]] = field(default_factory=list)

    @property
    def code(self) -> Code:
        return self.history[-1][1]

    @property
    def cleaned(self) -> Code:
        """The code before it was scheduled and searched."""
        return [code for step, code in self.history if step not in ("schedule", "search")][-1]

    def until(self, code: Code) -> Draft:
        """The draft as it was when its code was ``code``."""
        steps = [number for number, (_, known) in enumerate(self.history, 1) if known is code]
        return replace(self, history=self.history[: steps[0]])

    def add(self, step: str, code: Code) -> None:
        """Go on with ``code``, which is verified: so every pass is given code that was verified."""
        code.verify(f"after the step {step}")
        self.history.append((step, code))

    def steps(self) -> History:
        return [(step, len(code), code.cycles) for step, code in self.history]


def drafts_of(name: str, polynomial: Polynomial, table: Table, goal: Goal, before: int) -> tuple[list[Draft], History]:
    """The drafts of one output, the shortest first, and the best length and cost after each pass that found candidates.
    ``before`` is the length of the outputs before it."""
    history: History = []
    found: list[Candidate] = []
    for candidate in candidates(polynomial, table, goal):
        found.append(candidate)
        best = min(found, key=_cost)
        if history and history[-1][0] == candidate.source:
            history.pop()
        history.append((candidate.source, best.length, best.cost))
    best = min(found, key=_cost)
    _refuse_too_long(name, before, best.length)
    near = [candidate for members in _divided(found) for candidate in _near(members)]
    if goal.box is not None:
        near += [candidate for candidate in found[:1] if candidate not in near and candidate.cost <= SMALL]
    drafts = [_emitted(candidate, goal) for candidate in near]
    untouched: list[Draft] = []
    if goal.uses("peephole"):
        # The search gets further from a draft in which nothing was cancelled or merged, so that it is kept as well.
        small = [(draft, draft.until(draft.code)) for draft in drafts if goal.clean and is_searchable(draft.code)]
        _apply("peephole", peephole, drafts)
        untouched = [before for draft, before in small if len(before.code) > len(draft.code)]
    if goal.clean and goal.uses("prune"):
        _apply("prune", prune, [*drafts, *untouched])
    drafts.sort(key=_cycles)
    if goal.uses("schedule"):
        chosen = [draft for group in _divided(drafts) for draft in _worth_an_order(group)]
        # A pass may leave the search less freedom, so that the draft before it is kept as well.
        drafts += [draft.until(draft.code) for draft in chosen if goal.clean and is_searchable(draft.code)]
        _apply("schedule", schedule, chosen)
        drafts.sort(key=_cycles)
    if goal.clean and goal.uses("search"):
        longest = [max(group, key=_cycles) for group in _divided(untouched) if group]
        _apply("search", search, [*_worth_a_search(drafts), *longest])
        drafts += longest
    return sorted(drafts, key=_cycles), history


def polish(draft: Draft, goal: Goal) -> None:
    """Schedule and search a draft that was only cleaned."""
    if goal.uses("schedule"):
        _apply("schedule", schedule, [draft])
    if goal.clean and goal.uses("search") and is_searchable(draft.code):
        _apply("search", search, [draft])


T = TypeVar("T", Candidate, Draft)


def _divided(found: Sequence[T]) -> list[list[T]]:
    """First what leaves out no decision but attention or order, then one group for each decision, or two together,
    from whose omission the search was seen to get further, then the others."""
    places = {"": 0, "attention": 0, "order": 0, "contracts": 1, "telescope, another": 2, "associate, order": 3}
    groups: list[list[T]] = [[], [], [], [], []]
    for item in found:
        groups[places.get(item.without, 4)].append(item)
    return groups


def _near(members: list[Candidate]) -> list[Candidate]:
    """The candidates that promise to be short: those whose cost is near the best."""
    least = min(map(_cost, members), default=0)
    best = next((c for c in members if c.cost == least), None)
    return [c for c in members if c.made is not None and (c is best or c.cost <= min(SMALL, NEAR * least))]


def _refuse_too_long(name: str, before: int, length: int) -> None:
    if before + length > current().length:
        size = f"{before + length:,}" if length < CEILING else "astronomically many"
        raise InputError(
            f"output {name}: the program would have {size} instructions, more than the limit {current().length:,}"
        )


def _cost(candidate: Candidate) -> int:
    return candidate.cost


def _cycles(draft: Draft) -> int:
    return draft.code.cycles


def _emitted(candidate: Candidate, goal: Goal) -> Draft:
    """The candidate as code from the start vector that was asked for."""
    made = candidate.made
    assert made is not None
    code = made if isinstance(made, Code) else emit(made, goal.block_contract, goal.code_start)
    assert len(code) == candidate.length, "the predicted length is exact"
    draft = Draft(candidate.source, candidate.length, candidate.without)
    draft.add("emit", _from_start(code, goal.start) if goal.clean else code)
    return draft


def _from_start(code: Code, start: tuple[int, ...]) -> Code:
    """Instructions that bring another start vector to (0, 1, 0, …), then the code."""
    before = []
    for register, value in enumerate(start):
        if register != 1 and value:
            sign, scalar = affine_scalar(Affine((), -value))
            before.append(Instruction(register, 1, sign, scalar))
    return replace(code.after(before), start=start)


def _apply(name: str, step: Callable[[Code], Code], drafts: Sequence[Draft]) -> None:
    """Take drafts through a pass; a result that takes more cycles is not used. Other decisions often make equal code,
    which is taken through it once."""
    made: dict[tuple[object, ...], Code] = {}
    for draft in drafts:
        key = draft.code.output, *draft.code.instructions()
        code = made.get(key)
        if code is None:
            code = made[key] = step(draft.code)
        if code.cycles <= draft.code.cycles:
            draft.add(name, code)


def _worth_an_order(drafts: list[Draft]) -> list[Draft]:
    """The shortest drafts, and more of them while they are small."""
    lengths = accumulate(len(draft.code) for draft in drafts)
    return [draft for n, (draft, total) in enumerate(zip(drafts, lengths, strict=True)) if n < SCHEDULED or total < FEW]


def _worth_a_search(drafts: list[Draft]) -> list[Draft]:
    """The shortest drafts and, because it leaves the search more freedom, the longest; and the same among the drafts
    that leave out decisions, because a short program may hide one from which the search gets further. A recurrence is
    rarely beaten, so that nothing else is searched then."""
    chosen: list[Draft] = []
    regular, *others = _divided(drafts)
    for group in [regular] if regular[0].source == "univariate" else [regular, *others]:
        small = {tuple(draft.code.instructions()): draft for draft in reversed(group) if is_searchable(draft.code)}
        distinct = list(small.values())[::-1]
        chosen += distinct[:SEARCHED] + distinct[SEARCHED:][-1:]
    return chosen
