"""The compiler: a formula to a short, proven program.

:func:`_compile` and :func:`_compile_output` are the pipeline, a named step after the other; ``docs/compiler.md`` walks
through it with an example. A formula is normalised to a polynomial; other shapes of it (factor, rebalance) are tried;
contracts, association and telescoping decide the cheapest words of each. Clean programs are also tried as a recurrence
(univariate) and as a ladder of partial sums, programs in place as a chain of single variables. The shapes that promise
to be short are emitted and carried through the passes over code while they are small; the shortest in cycles wins and
is proven.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction

from skinny.model.errors import CheckError, InputError
from skinny.model.formula.formula import Facts, Formula, Operations, facts, operations
from skinny.model.limits import check, current, watched
from skinny.model.program.modular import PRIME
from skinny.model.program.program import Program

from .drafts import Draft, drafts_of
from .goal import PASSES, Goal, Precision
from .lower import lower
from .normalise import normalise
from .prove import WrongOutputError, prove

__all__ = ["PASSES", "Compilation", "compile_formula"]

#: Registers a compiled program uses at most.
WIDEST = 16


@dataclass(frozen=True)
class Compilation:
    """``steps`` are ``(pass, length, cycles)``, cumulative; ``predicted`` is the length before peephole, known
    before emission; ``checked`` says how the program was compared with its formula."""

    program: Program
    steps: list[tuple[str, int, int]]
    facts: Facts
    predicted: int
    checked: str
    seconds: float


def compile_formula(
    outputs: Mapping[str, Formula],
    *,
    contract: str = "clean",
    width: int = 3,
    attention: bool = True,
    without: Collection[str] = (),
    start: tuple[int, ...] | None = None,
) -> Compilation:
    """Compile ``outputs`` to one program; several outputs are sent one after the other, each from a restart. A formula
    that takes more than the limits allow (see :mod:`skinny.model.limits`) is refused."""
    if not 3 <= width <= WIDEST:
        raise InputError(f"the width must be 3 to {WIDEST}, not {width}")
    unknown = sorted(set(without) - set(PASSES))
    if unknown:
        raise InputError(f"there is no pass {unknown[0]!r}; the passes are {', '.join(PASSES)}")
    default = tuple(int(r == 1) for r in range(width))
    goal = Goal(contract, width, attention, frozenset(without), start or default)
    if goal.clean and goal.start[1] != 1:
        raise InputError(f"register 1 must start as 1, not {goal.start[1]}")
    with watched("compiling"):
        return _compile(outputs, goal)


def _compile(outputs: Mapping[str, Formula], goal: Goal) -> Compilation:
    """The pipeline, from formulas to a proven program."""
    began = time.perf_counter()
    written = operations(*outputs.values())
    given = _given_constants(written)
    table, polynomials = normalise(outputs, written)
    drafts: dict[str, Draft] = {}
    steps: dict[str, list[int]] = {}
    length = predicted = 0
    for name, polynomial in polynomials.items():
        check()
        found, history = drafts_of(name, polynomial, table, goal, length)
        draft = drafts[name] = found[0]
        length += len(draft.code)
        predicted += draft.predicted
        for step, reached, taken in history + draft.steps():
            entry = steps.setdefault(step, [0, 0])
            entry[0] += reached
            entry[1] += taken
    program = lower({name: draft.code for name, draft in drafts.items()}, table.names, goal.contract, given)
    try:
        checked = prove(program, outputs, written)
    except WrongOutputError as error:
        step = _first_wrong_step(drafts[error.output], outputs[error.output], table, goal)
        raise CheckError(f"{error}, first after the step {step}") from None
    return Compilation(
        program=program,
        steps=[(step, length, taken) for step, (length, taken) in steps.items()],
        facts=facts(*outputs.values(), known_operations=written),
        predicted=predicted,
        checked=checked,
        seconds=time.perf_counter() - began,
    )


def _given_constants(written: Operations) -> frozenset[Fraction]:
    """The constants of the formulas and one, without signs."""
    size = sum(len(args) for _, args in written)
    if size > current().arguments:
        raise InputError(f"the formula has {size:,} operands, more than the limit, {current().arguments:,}")
    given = frozenset(abs(node.value) for node, _ in written if node.kind == "constant") | {Fraction(1)}
    if any(value.denominator % PRIME == 0 for value in given):
        raise InputError("no number may be divided by a multiple of 2^61 - 1: programs are checked modulo that prime")
    return given


def _first_wrong_step(draft: Draft, formula: Formula, table: Table, goal: Goal) -> str:
    """The step that made the code of an output wrong. Code that was wrong when it was emitted is laid to the pass that
    found its shape."""
    for step, code in draft.history:
        program = lower({"output": code}, table.names, goal.contract, frozenset())
        try:
            prove(program, {"output": formula}, operations(formula))
        except WrongOutputError:
            return draft.source if step == "emit" else step
    return "lower"
