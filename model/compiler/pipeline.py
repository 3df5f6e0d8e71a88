"""The compiler: a formula to a short, proven program.

The pipeline, a pass a file in ``passes/``: normalise → other shapes (factor, rebalance) → contracts and association
decide the cheapest words → emit → peephole → fold → schedule → search → check. Clean programs are also tried as a
recurrence (univariate) and as a ladder of partial sums, programs in place as a chain of single variables. Shapes that
promise to be short are all carried through to the end while they are small; the shortest in cycles wins.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ParamSpec, TypeVar

from skinny.model.errors import InputError
from skinny.model.formula.formula import Facts, Formula, facts, operations
from skinny.model.limits import DigitsError, check, current, watched
from skinny.model.program.program import Program

from .contracts import CEILING, Affine, Contract, Expression, Scalar, affine_scalar
from .passes.chain import chain
from .passes.check import check as prove
from .passes.emit import MINUS, Emitter, predict, relabelled
from .passes.factor import bisect, expand, horner
from .passes.fold import PRIME, fold
from .passes.ladder import ladder
from .passes.lower import Piece, cycles, lower
from .passes.normalise import normalise
from .passes.peephole import peephole
from .passes.rebalance import rebalance
from .passes.schedule import schedule
from .passes.search import is_searchable, search
from .passes.univariate import Simple, in_one_form, recurrence
from .polynomial import Polynomial, Table
from .shapes import Shaper, least_cost

__all__ = ["PASSES", "Compilation", "compile_formula"]

#: What can be switched off by name.
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
    "fold",
    "schedule",
    "search",
)
#: Registers a compiled program uses at most: the packed form of an instruction holds four bits a register.
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
    """What is asked of the compiler."""

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
    def words(self) -> Contract:
        extra = self.width - 3
        return Contract("Zd", True, True, extra) if self.clean else Contract("P", extra=extra)


@dataclass
class Candidate:
    """One way to compute an output: code that is ready, or an expression still to be emitted."""

    source: str
    cost: int
    length: int
    expression: Expression | None = None
    code: list[int] | None = None
    scalars: dict[Scalar, int] | None = None
    register: int = 0


@dataclass
class Draft:
    """Code on its way through the last passes."""

    code: list[int]
    scalars: dict[Scalar, int]
    register: int
    predicted: int
    history: list[tuple[str, int, int]]

    def update(self, step: str, code: list[int]) -> None:
        self.code = code
        self.history.append((step, len(code), cycles(code, self.scalars)))

    def listing(self) -> list[tuple[int, Scalar]]:
        names = list(self.scalars)
        return [(instruction & 511, names[instruction >> 9]) for instruction in self.code]


def compile_formula(
    outputs: Mapping[str, Formula],
    *,
    contract: str = "clean",
    width: int = 3,
    attention: bool = True,
    without: Collection[str] = (),
    start: tuple[int, ...] | None = None,
) -> Compilation:
    """Compile ``outputs`` to one program; several outputs are sent one after the other, each from a restart. What takes
    more than the limits allow (see :mod:`.limits`) is refused."""
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
    began = time.perf_counter()
    written = operations(*outputs.values())
    size = sum(len(args) for _, args in written)
    if size > current().arguments:
        raise InputError(f"the formula has {size:,} operands, more than the limit, {current().arguments:,}")
    given = frozenset(abs(node.value) for node, _ in written if node.kind == "constant") | {Fraction(1)}
    if any(value.denominator % PRIME == 0 for value in given):
        raise InputError("no number may be divided by a multiple of 2^61 - 1: programs are checked modulo that prime")
    table, polynomials = normalise(outputs, written)
    pieces: list[Piece] = []
    steps: dict[str, list[int]] = {}
    length = predicted = 0
    for name, polynomial in polynomials.items():
        check()
        piece, ahead, history = _compile_output(name, polynomial, table, goal, length)
        pieces.append(piece)
        length += len(piece.code)
        predicted += ahead
        for step, reached, taken in history:
            entry = steps.setdefault(step, [0, 0])
            entry[0] += reached
            entry[1] += taken
    program = lower(pieces, table.names, goal.width, goal.contract, goal.start, given)
    checked = prove(program, outputs, written)
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
) -> tuple[Piece, int, list[tuple[str, int, int]]]:
    """The code of one output, its predicted length, and the history of its length; ``before`` is the length of the
    outputs before it."""
    history: list[tuple[str, int, int]] = []
    candidates: list[Candidate] = []
    for candidate in _candidates(polynomial, table, goal):
        candidates.append(candidate)
        best = min(candidates, key=lambda c: c.cost)
        row = (candidate.source, best.length, best.cost)
        if history and history[-1][0] == candidate.source:
            history[-1] = row
        else:
            history.append(row)
    best = min(candidates, key=lambda c: c.cost)
    if before + best.length > current().length:
        size = f"{before + best.length:,}" if best.length < CEILING else "astronomically many"
        raise InputError(
            f"output {name}: the program would have {size} instructions, more than the limit {current().length:,}"
        )
    near = [c for c in candidates if c is best or c.cost <= min(SMALL, NEAR * best.cost)]
    drafts = sorted((_finish(candidate, table, goal) for candidate in near), key=lambda d: d.history[-1][2])
    if goal.uses("schedule"):
        for draft in drafts[:SCHEDULED]:
            draft.update("schedule", schedule(draft.code, draft.scalars, goal.width))
        drafts.sort(key=lambda d: d.history[-1][2])
    if goal.clean and goal.uses("search"):
        _search(drafts, table, goal)
    draft = min(drafts, key=lambda d: d.history[-1][2])
    return Piece(name, draft.code, draft.scalars, draft.register), draft.predicted, history + draft.history


def _candidates(polynomial: Polynomial, table: Table, goal: Goal) -> Iterator[Candidate]:
    """Ways to compute the polynomial. A large one is tried in its nested form only: it is by far the shortest then."""
    expanded = _attempt(expand, table, polynomial) if goal.uses("factor") else None
    if not polynomial or expanded == {}:
        yield _written("contracts", [], 0)
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
            steps = chain(table, shape)
            if steps is not None:
                yield _written("chain", steps, 0)
                break
        return
    for shape in shapes[:FEW]:
        if goal.uses("univariate"):
            found = in_one_form(shape, table.sums, len(table.names))
            if found is not None and (goal.attention or len(found[0].terms) + (found[0].bias != 0) == 1):
                recurrent = _attempt(recurrence, *found)
                if recurrent is not None:
                    yield _written("univariate", *recurrent)
        if goal.uses("ladder"):
            steps = ladder(table, shape, goal.width, goal.attention)
            if steps is not None:
                yield _written("ladder", steps, 0)


def _attempt(make: Callable[P, T], *args: P.args, **options: P.kwargs) -> T | None:
    """What ``make`` makes, or none when its numbers get too long."""
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
        if expression.l > WIDE_SHAPES * current().length:
            yield Candidate(source, CEILING, CEILING, expression)
        else:
            yield Candidate(source, expression.full(goal.words), predict(expression, goal.words), expression)


def _written(source: str, steps: list[Simple], register: int) -> Candidate:
    scalars: dict[Scalar, int] = {}
    code = [
        scalars.setdefault(scalar, len(scalars)) << 9 | (MINUS if sign < 0 else 0) | dst << 4 | src
        for dst, src, sign, scalar in steps
    ]
    return Candidate(source, cycles(code, scalars), len(code), None, code, scalars, register)


def _finish(candidate: Candidate, table: Table, goal: Goal) -> Draft:
    """Emit, then drop what is not needed."""
    if candidate.expression is not None:
        emitter = Emitter()
        packed = emitter.emit(candidate.expression, goal.words)
        registers = (1, 0, *range(2, goal.width))
        code, scalars = relabelled(packed, registers).tolist(), emitter.scalars
    else:
        assert candidate.code is not None
        assert candidate.scalars is not None
        code, scalars = candidate.code, candidate.scalars
    assert len(code) == candidate.length, "the predicted length is exact"
    if goal.clean:
        code = _from_start(code, scalars, goal.start)
    draft = Draft(code, scalars, candidate.register, candidate.length, [])
    draft.update("emit", code)
    if goal.uses("peephole"):
        draft.update("peephole", peephole(draft.code, scalars))
    if goal.clean and goal.uses("fold"):
        draft.update("fold", fold(draft.code, scalars, len(table.names), list(goal.start), candidate.register))
    return draft


def _search(drafts: list[Draft], table: Table, goal: Goal) -> None:
    """Look for shorter pieces in the shortest draft and, because it leaves the search more freedom, in the longest."""
    small = [draft for draft in drafts if is_searchable(draft.code, draft.scalars)]
    for draft in small[:1] + [other for other in small[-1:] if other.listing() != small[0].listing()]:
        code = search(draft.code, draft.scalars, len(table.names), list(goal.start), draft.register)
        if cycles(code, draft.scalars) <= draft.history[-1][2]:
            draft.update("search", code)


def _from_start(code: list[int], scalars: dict[Scalar, int], start: tuple[int, ...]) -> list[int]:
    """Instructions that bring another start vector to (0, 1, 0, …), then the code."""
    before = []
    for register, value in enumerate(start):
        if register != 1 and value:
            sign, scalar = affine_scalar(Affine((), -value))
            number = scalars.setdefault(scalar, len(scalars))
            before.append(number << 9 | (MINUS if sign < 0 else 0) | register << 4 | 1)
    return before + code
