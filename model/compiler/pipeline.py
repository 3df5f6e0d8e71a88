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
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ParamSpec, TypeVar

from skinny.model.errors import CheckError, InputError
from skinny.model.formula.formula import Facts, Formula, Operations, facts, operations
from skinny.model.limits import DigitsError, check, current, watched
from skinny.model.program.modular import PRIME
from skinny.model.program.program import Program

from .code import Affine, Code, Instruction, affine_scalar
from .contracts import CEILING, Contract, Expression, Promise
from .emit import emit, predict
from .lower import lower
from .normalise import normalise
from .passes.chain import chain
from .passes.factor import bisect, expand, horner
from .passes.ladder import ladder
from .passes.peephole import peephole
from .passes.prune import prune
from .passes.rebalance import rebalance
from .passes.schedule import schedule
from .passes.search import is_searchable, search
from .passes.univariate import in_one_form, recurrence
from .polynomial import Polynomial, Table
from .prove import WrongOutputError, prove
from .shapes import Shaper, least_cost

__all__ = ["PASSES", "Compilation", "compile_formula"]

#: The passes, each of which can be switched off by name. All are files in ``passes/`` but two, which are decisions of
#: the shaper: contracts (blocks may leave dirt that their counterparts remove) and telescope (sums of products step
#: from one linear form to the next).
PASSES = (
    "contracts",
    "associate",
    "telescope",
    "factor",
    "rebalance",
    "chain",
    "univariate",
    "ladder",
    "peephole",
    "prune",
    "schedule",
    "search",
)
#: Registers a compiled program uses at most.
WIDEST = 16
#: Shapes are carried through to the end while their cost is below this and near the best.
SMALL = 20_000
#: Nested forms that are tried, and how many factors their monomials may have together.
VARIANTS = 24
VARIED = 2_000
#: Shapes that are also tried rebalanced, as a recurrence and as a ladder: as given, expanded, nested.
FEW = 4
#: Polynomials with more monomials are not tried in every shape.
LARGE = 1_000
NEAR = 2.0
#: The shortest drafts that are scheduled.
SCHEDULED = 3
#: Shapes are given up when the bound of their products, or their cost, both on three registers and restoring most of
#: them, is this many times the limit: on 16 registers, clean, products were seen to take an eighth.
WIDE_PRODUCTS = 16
WIDE_SHAPES = 64

P = ParamSpec("P")
T = TypeVar("T")


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


@dataclass(frozen=True)
class Goal:
    """The wishes that the compiler was given."""

    contract: str
    width: int
    attention: bool
    without: frozenset[str]
    start: tuple[int, ...]

    def uses(self, name: str) -> bool:
        return name not in self.without

    @property
    def clean(self) -> bool:
        return self.contract == "clean"

    @property
    def block_contract(self) -> Contract:
        """The contract of the block that computes a whole output."""
        extra = self.width - 3
        if self.clean:
            return Contract(Promise.SPEND_ZERO, fresh=True, last=True, extra=extra)
        return Contract(Promise.RESTORE, extra=extra)

    @property
    def code_start(self) -> tuple[int, ...]:
        """The start vector that code is written for: clean code needs (0, 1, 0, …), code in place needs none."""
        return tuple(int(register == 1) for register in range(self.width)) if self.clean else self.start


@dataclass(frozen=True)
class Candidate:
    """One way to compute an output, which the pass ``source`` found: code, or an expression still to be emitted, or
    neither when it is hopeless."""

    source: str
    cost: int
    length: int
    made: Expression | Code | None = None


@dataclass
class Draft:
    """Code on its way through the last passes: the pass that found its shape, its length as predicted before emission,
    and the code after each step."""

    source: str
    predicted: int
    history: list[tuple[str, Code]] = field(default_factory=list)

    @property
    def code(self) -> Code:
        return self.history[-1][1]

    def add(self, step: str, code: Code) -> None:
        """Go on with ``code``, which is verified: so every pass is given code that was verified."""
        code.verify(f"after the step {step}")
        self.history.append((step, code))

    def steps(self) -> list[tuple[str, int, int]]:
        return [(step, len(code), code.cycles) for step, code in self.history]


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
    table, polynomials = normalise(outputs, written, attention=goal.attention)
    drafts: dict[str, Draft] = {}
    steps: dict[str, list[int]] = {}
    length = predicted = 0
    for name, polynomial in polynomials.items():
        check()
        draft, history = _compile_output(name, polynomial, table, goal, length)
        drafts[name] = draft
        length += len(draft.code)
        predicted += draft.predicted
        for step, reached, taken in history + draft.steps():
            entry = steps.setdefault(step, [0, 0])
            entry[0] += reached
            entry[1] += taken
    program = lower({name: draft.code for name, draft in drafts.items()}, table, goal.contract, given)
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


def _compile_output(
    name: str, polynomial: Polynomial, table: Table, goal: Goal, before: int
) -> tuple[Draft, list[tuple[str, int, int]]]:
    """The pipeline for one output: its shortest draft, and the best length and cost after each pass that found
    candidates. ``before`` is the length of the outputs before it."""
    history: list[tuple[str, int, int]] = []
    candidates: list[Candidate] = []
    for candidate in _candidates(polynomial, table, goal):
        candidates.append(candidate)
        best = min(candidates, key=_cost)
        if history and history[-1][0] == candidate.source:
            history.pop()
        history.append((candidate.source, best.length, best.cost))
    best = min(candidates, key=_cost)
    _refuse_too_long(name, before, best.length)
    near = [c for c in candidates if c is best or c.cost <= min(SMALL, NEAR * best.cost)]
    drafts = [_emitted(candidate, goal) for candidate in near]
    if goal.uses("peephole"):
        _apply("peephole", peephole, drafts)
    if goal.clean and goal.uses("prune"):
        _apply("prune", prune, drafts)
    drafts.sort(key=_cycles)
    if goal.uses("schedule"):
        _apply("schedule", schedule, drafts[:SCHEDULED])
        drafts.sort(key=_cycles)
    if goal.clean and goal.uses("search"):
        _apply("search", search, _worth_a_search(drafts))
    return min(drafts, key=_cycles), history


def _given_constants(written: Operations) -> frozenset[Fraction]:
    """The constants of the formulas and one, without signs."""
    size = sum(len(args) for _, args in written)
    if size > current().arguments:
        raise InputError(f"the formula has {size:,} operands, more than the limit, {current().arguments:,}")
    given = frozenset(abs(node.value) for node, _ in written if node.kind == "constant") | {Fraction(1)}
    if any(value.denominator % PRIME == 0 for value in given):
        raise InputError("no number may be divided by a multiple of 2^61 - 1: programs are checked modulo that prime")
    return given


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


def _candidates(polynomial: Polynomial, table: Table, goal: Goal) -> Iterator[Candidate]:
    """Ways to compute the polynomial. A large one is tried in its nested form only: it is by far the shortest then."""
    expanded = _attempt(expand, table, polynomial) if goal.uses("factor") else None
    if not polynomial or expanded == {}:
        yield _written("contracts", Code.of([], goal.code_start))
        return
    large = len(polynomial) > LARGE
    shapes: list[Polynomial] = []
    if expanded is None or not large:
        shapes.append(polynomial)
        yield from _shaped("contracts", polynomial, table, goal)
    if expanded is not None:
        factors = sum(exponent for monomial in expanded for _, exponent in monomial)
        variants = min(VARIANTS, 1 + VARIED // (1 + factors))
        nested = _attempt(horner, table, expanded, variants) or []
        halved = (None if large else _attempt(bisect, table, expanded)) or []
        for shape in [*nested, *halved] if large and nested else [expanded, *nested, *halved]:
            if shape not in shapes:
                shapes.append(shape)
                yield from _shaped("factor", shape, table, goal)
    if goal.uses("rebalance"):
        for shape in shapes[:FEW]:
            balanced = _attempt(rebalance, table, shape, goal.clean)
            if balanced is not None:
                yield from _shaped("rebalance", balanced, table, goal)
    if not goal.clean:
        for shape in shapes[:FEW] if goal.uses("chain") else ():
            code = chain(table, shape, goal.code_start)
            if code is not None:
                yield _written("chain", code)
                break
        return
    for shape in shapes[:FEW]:
        if goal.uses("univariate"):
            found = in_one_form(shape, table.sums, len(table.names))
            if found is not None and (goal.attention or len(found[0].terms) + (found[0].bias != 0) == 1):
                code = _attempt(recurrence, *found, goal.code_start)
                if code is not None:
                    yield _written("univariate", code)
        if goal.uses("ladder"):
            code = ladder(table, shape, goal.attention, goal.code_start)
            if code is not None:
                yield _written("ladder", code)


def _attempt(make: Callable[P, T], *args: P.args, **options: P.kwargs) -> T | None:
    """The result of ``make``, or none when its numbers get too long."""
    try:
        return make(*args, **options)
    except DigitsError:
        return None


def _shaped(source: str, polynomial: Polynomial, table: Table, goal: Goal) -> Iterator[Candidate]:
    """The polynomial as it stands; with attention also without its use, which can be better for small formulas."""
    if least_cost(table, polynomial) > WIDE_PRODUCTS * current().length:
        yield Candidate(source, CEILING, CEILING)
        return
    modes = (True, False) if goal.attention and len(table.sums) <= LARGE else (goal.attention,)
    for attention in modes:
        options = (attention, goal.uses("telescope"), goal.uses("associate"), goal.uses("contracts"))
        expression = Shaper(table, *options).shape(polynomial)
        if expression.loose_cost > WIDE_SHAPES * current().length:
            yield Candidate(source, CEILING, CEILING)
        else:
            contract = goal.block_contract
            yield Candidate(source, expression.full(contract), predict(expression, contract), expression)


def _written(source: str, code: Code) -> Candidate:
    return Candidate(source, code.cycles, len(code), code)


def _emitted(candidate: Candidate, goal: Goal) -> Draft:
    """The candidate as code from the start vector that was asked for."""
    made = candidate.made
    assert made is not None
    code = made if isinstance(made, Code) else emit(made, goal.block_contract, goal.code_start)
    assert len(code) == candidate.length, "the predicted length is exact"
    draft = Draft(candidate.source, candidate.length)
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
    """Take drafts through a pass; a result that takes more cycles is not used."""
    for draft in drafts:
        code = step(draft.code)
        if code.cycles <= draft.code.cycles:
            draft.add(name, code)


def _worth_a_search(drafts: list[Draft]) -> list[Draft]:
    """The shortest draft and, because it leaves the search more freedom, the longest."""
    small = [draft for draft in drafts if is_searchable(draft.code)]
    return small[:1] + [d for d in small[-1:] if d.code.instructions() != small[0].code.instructions()]


def _first_wrong_step(draft: Draft, formula: Formula, table: Table, goal: Goal) -> str:
    """The step that made the code of an output wrong. Code that was wrong when it was emitted is laid to the pass that
    found its shape."""
    for step, code in draft.history:
        program = lower({"output": code}, table, goal.contract, frozenset())
        try:
            prove(program, {"output": formula}, operations(formula))
        except WrongOutputError:
            return draft.source if step == "emit" else step
    return "lower"
