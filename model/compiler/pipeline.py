"""The compiler: a formula to a short, proven program.

:func:`_compile` and :func:`_compile_output` are the pipeline, a named step after the other; ``docs/compiler.md`` walks
through it with an example. A formula is normalised to a polynomial; other shapes of it (factor, rebalance) are tried;
contracts, association and telescoping decide the cheapest words of each. Clean programs are also tried as a recurrence
(univariate) and as a ladder of partial sums, programs in place as a chain of single variables. The shapes that promise
to be short are emitted and carried through the passes over code while they are small; the shortest in cycles wins and
is proven.

Where there are more than three registers, or where a program need not keep all promises, :mod:`.graph` holds parts of
the formula in registers instead, and the shorter program wins.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from skinny.model.errors import CheckError, InputError
from skinny.model.formula.formula import Facts, Formula, Operations, facts, formula_text, operations, postorder
from skinny.model.limits import check, current, watched
from skinny.model.program.forms import read_inputs, renumbered
from skinny.model.program.modular import PRIME
from skinny.model.program.program import Program

from .candidates import candidates
from .drafts import Draft, History, drafts_of
from .fixed import Scaling, Tried, fit
from .fixed_graph import FixedGraph, fit_graph, graph_options, precise_and_short
from .goal import PASSES, PURE, Goal, Precision, expect_width
from .graph.shortest import shortest
from .lower import lower
from .normalise import normalise
from .polynomial import Table
from .prove import WrongOutputError, prove
from .refuse import RefusalError

if TYPE_CHECKING:
    from skinny.model.functions.approximate import Approximation

__all__ = [
    "PASSES",
    "PURE",
    "Compilation",
    "Precision",
    "compile_formula",
    "expect_relu_allowed",
    "given_constants",
]

#: Registers that the blocks of a formula use at most; a graph of values uses any number.
WIDEST_BLOCKS = 16
#: Blocks are not tried when a graph of values takes more cycles than this, or when blocks on three registers promise to
#: take so many times its cycles: more registers never save that much, but take long to plan for.
MOST_FOR_BLOCKS, HOPELESS = 500, 2.25


@dataclass(frozen=True)
class Compilation:
    """``steps`` are ``(pass, length, cycles)``, cumulative; ``predicted`` is the length before peephole, known before
    emission; ``checked`` says how the program was compared with its formula. In fixed point, ``errors`` are the proven
    errors of the outputs in the user's units, and ``tried`` are the best of the other programs."""

    program: Program
    steps: History
    facts: Facts
    predicted: int
    checked: str
    seconds: float = 0.0
    errors: dict[str, float] = field(default_factory=dict)
    tried: list[Tried] = field(default_factory=list)


def compile_formula(
    outputs: Mapping[str, Formula],
    *,
    contract: str = "clean",
    width: int = 3,
    attention: bool = True,
    without: Collection[str] = (),
    start: tuple[int, ...] | None = None,
    precision: Precision | None = None,
    keep: Set[str] = PURE,
    inputs: Sequence[str] = (),
) -> Compilation:
    """Compile ``outputs`` to one program that keeps the promises ``keep``; outputs are sent one after the other. The
    program is the shortest one found or, with a ``precision``, the shortest one that is proven precise enough. A
    formula that takes more than the limits allow (see :mod:`skinny.model.limits`) is refused. ``inputs`` are the names
    of all inputs in the order of an input vector, those that the program does not read left out; without them inputs
    come in the order in which the formulas name them."""
    expect_width(width)
    unknown = sorted(set(without) - set(PASSES))
    if unknown:
        raise InputError(f"there is no pass {unknown[0]!r}; the passes are {', '.join(PASSES)}")
    default = tuple(int(r == 1) for r in range(width))
    goal = Goal(contract, width, attention, frozenset(without), start or default, inputs=tuple(inputs))
    if goal.clean and goal.start[1] != 1:
        raise InputError(f"register 1 must start as 1, not {goal.start[1]}")
    _refuse_contradictions(outputs, goal, keep)
    if inputs:
        _expect_names(outputs, inputs)
    began = time.perf_counter()
    with watched("compiling"):
        if precision is not None:
            compiled = _compile_fixed(outputs, goal, precision, keep)
        elif not _uses_graph(goal, keep):
            compiled = _compile(outputs, _blocks(goal))
        else:
            compiled = _compile_with_graph(outputs, goal, keep)
    if inputs:
        compiled = replace(compiled, program=_reading(compiled.program))
    return replace(compiled, seconds=time.perf_counter() - began)


def _expect_names(outputs: Mapping[str, Formula], inputs: Sequence[str]) -> None:
    """Raise :exc:`InputError` unless ``inputs`` has every input of the formulas, once."""
    known = set(inputs)
    if len(known) < len(inputs):
        twice = next(name for name, count in Counter(inputs).items() if count > 1)
        raise InputError(f"the input {twice!r} is named twice in inputs")
    found = (node.value for node in postorder(*outputs.values()) if node.kind == "variable")
    missing = next((name for name in found if name not in known), None)
    if missing is not None:
        raise InputError(f"the formula reads {missing!r}, which inputs does not name")


def _reading(program: Program) -> Program:
    """The program without the inputs that it does not read."""
    forms = [program.forms[number] for number in np.unique(program.code.form).tolist()]
    read = sorted({u for form in forms for u in read_inputs(form)})
    if len(read) == len(program.inputs):
        return program
    places = [0] * len(program.inputs)
    for place, u in enumerate(read):
        places[u] = place
    return replace(
        program,
        inputs=tuple(program.inputs[u] for u in read),
        input_scales=tuple(program.input_scales[u] for u in read),
        box=None if program.box is None or not read else tuple(program.box[u] for u in read),
        forms=tuple(renumbered(program.forms, places, range(len(program.weights)))),
    )


def _refuse_contradictions(outputs: Mapping[str, Formula], goal: Goal, keep: Set[str]) -> None:
    """Raise :exc:`InputError` for wishes that no program can meet together."""
    expect_relu_allowed(outputs.values(), keep)
    if keep == PURE:
        return
    said = ",".join(sorted(keep)) or "none"
    if goal.contract != "clean":
        raise InputError(f"a program in place is linear and reversible: --contract in-place goes without --keep {said}")
    if not goal.attention:
        raise InputError(f"a program with --keep {said} is built from linear forms: it goes without --no-attention")
    if goal.start != goal.code_start:
        raise InputError(f"a program with --keep {said} starts from 0,1,0,…: it goes without --start")


def expect_relu_allowed(formulas: Iterable[Formula], keep: Set[str]) -> None:
    """Raise :exc:`InputError` for a relu in a program that keeps a promise."""
    if keep and (found := next((node for node in postorder(*formulas) if node.kind == "relu"), None)):
        raise InputError(f"{formula_text(found, 40)} is neither linear nor reversible: relu needs --keep none")


def _uses_graph(goal: Goal, keep: Set[str]) -> bool:
    """Whether parts of the formula may be held in registers."""
    return keep != PURE or (goal.width > 3 and goal.allows_graph)


def _blocks(goal: Goal) -> Goal:
    """The goal for the compiler of blocks, which uses few registers."""
    width = min(goal.width, WIDEST_BLOCKS)
    return replace(goal, width=width, start=goal.start[:width])


def _compile_with_graph(outputs: Mapping[str, Formula], goal: Goal, keep: Set[str]) -> Compilation:
    """The shorter of two programs: the one that holds parts of the formula in registers, and the one without."""
    written = goal.operations(outputs)
    given = given_constants(written)
    program = shortest(outputs, written, keep, goal.width, given, current().length)
    cycles = None if program is None else program.words
    if program is None and any(node.kind == "relu" for node, _ in written):
        raise InputError(f"the formula does not fit {goal.width} registers: --width allows more")
    blocks: Compilation | None = None
    refused: InputError | None = None
    if cycles is None or _blocks_may_win(outputs, written, goal, cycles):
        try:
            blocks = _compile(outputs, _blocks(goal))
        except InputError as error:
            refused = error
    if blocks is not None and (cycles is None or blocks.program.words <= cycles):
        return blocks
    if program is None:
        assert refused is not None
        raise refused
    steps = [] if blocks is None else blocks.steps
    return Compilation(
        program=program,
        steps=[*steps, ("graph", len(program), program.words)],
        facts=facts(*outputs.values(), known_operations=written),
        predicted=len(program),
        checked=prove(program, outputs, written),
    )


def _blocks_may_win(outputs: Mapping[str, Formula], written: Operations, goal: Goal, cycles: int) -> bool:
    """Whether it is worth to look for a program of blocks that takes fewer than ``cycles``."""
    if any(node.kind == "relu" for node, _ in written) or cycles > MOST_FOR_BLOCKS:
        return False
    narrow = replace(goal, width=3, start=goal.start[:3])
    table, polynomials = normalise(outputs, written, attention=goal.attention)
    if all(sum(exponent for _, exponent in monomial) <= 1 for p in polynomials.values() for monomial in p):
        # Of forms of inputs a graph is never longer.
        return False
    total = 0.0
    for polynomial in polynomials.values():
        total += min(candidate.cost for candidate in candidates(polynomial, table, narrow))
        if total > HOPELESS * cycles:
            return False
    return True


def _compile(outputs: Mapping[str, Formula], goal: Goal) -> Compilation:
    """The pipeline, from formulas to the shortest program."""
    written = goal.operations(outputs)
    given = given_constants(written)
    table, polynomials = normalise(outputs, written, attention=goal.attention)
    chosen: dict[str, Draft] = {}
    histories: dict[str, History] = {}
    for name, polynomial in polynomials.items():
        check()
        before = sum(len(draft.code) for draft in chosen.values())
        drafts, histories[name] = drafts_of(name, polynomial, table, goal, before)
        chosen[name] = drafts[0]
    codes = {name: draft.code for name, draft in chosen.items()}
    program = lower(codes, table, goal.contract, given)
    return _proven(program, outputs, written, table, chosen, histories)


def _compile_fixed(outputs: Mapping[str, Formula], goal: Goal, precision: Precision, keep: Set[str]) -> Compilation:
    """The pipeline, from formulas to the shortest program that is proven precise enough in fixed point. Functions are
    replaced by polynomials first."""

    def attempt(asked: Precision, made: Mapping[str, Approximation]) -> Compilation:
        polynomials = {name: approximation.formula for name, approximation in made.items()} or outputs
        if _uses_graph(goal, keep):
            return _compile_fixed_with_graph(polynomials, goal, asked, made, keep)
        return _compile_polynomials(polynomials, _blocks(goal), asked, made)

    if not any(node.kind == "function" for node in postorder(*outputs.values())):
        return attempt(precision, {})
    # Loaded here, because polynomials need none of it.
    from .shares import share_error

    return share_error(outputs, precision, attempt)


def _compile_fixed_with_graph(
    outputs: Mapping[str, Formula],
    goal: Goal,
    precision: Precision,
    made: Mapping[str, Approximation],
    keep: Set[str],
) -> Compilation:
    """The same for programs that may hold parts of the formula in registers, and for those without."""
    written = goal.operations(outputs)
    given = given_constants(written)
    _expect_box(written, precision)
    spent = _spent(outputs, made)
    options = graph_options(outputs, goal, keep, precision, given)
    if not options and any(node.kind == "relu" for node, _ in written):
        raise InputError(f"the formula does not fit {goal.width} registers: --width allows more")
    refused: RefusalError | None = None
    found: FixedGraph | None = None
    compiled: list[Compilation] = []
    if options:
        try:
            found = fit_graph(options, precision, spent)
        except RefusalError as refusal:
            refused = refusal
    if not options or _blocks_may_win(outputs, written, goal, min(option.program.words for option in options)):
        try:
            compiled.append(_compile_polynomials(outputs, _blocks(goal), precision, made))
        except RefusalError as refusal:
            refused = refusal if refused is None else refused.or_closer(refusal)
    if found is not None:
        program = _for_format(found.program, found.frac, found.scales, precision, spent, made)
        compiled.append(
            Compilation(
                program=program,
                steps=[("graph", len(program), program.words)],
                facts=facts(*outputs.values(), known_operations=written),
                predicted=len(program),
                checked=prove(program, outputs, written),
                errors=_total(found.errors, spent),
                tried=found.tried,
            )
        )
    # What is here keeps the error that was asked for.
    limits = None if precision.error is None else dict.fromkeys(outputs, float("inf"))
    items = [(one, one.program.words, one.errors) for one in compiled]
    best = precise_and_short(items, limits, len(precision.box))
    if best is None:
        assert refused is not None
        raise refused
    return best


def _compile_polynomials(
    outputs: Mapping[str, Formula], goal: Goal, precision: Precision, made: Mapping[str, Approximation]
) -> Compilation:
    """The same for polynomials, some of which are approximations that were ``made`` for functions."""
    written = goal.operations(outputs)
    given = given_constants(written)
    _expect_box(written, precision)
    spent = _spent(outputs, made)
    fixed = fit(outputs, goal, precision, given, spent)
    program = lower(fixed.codes, fixed.table, goal.contract, given)
    program = _for_format(program, fixed.frac, fixed.scales, precision, spent, made)
    compiled = _proven(program, outputs, written, fixed.table, fixed.drafts, fixed.histories)
    return replace(compiled, errors=_total(fixed.errors, spent), tried=fixed.tried)


def _expect_box(written: Operations, precision: Precision) -> None:
    """Raise :exc:`InputError` unless every input has a box."""
    missing = [node.value for node, _ in written if node.kind == "variable" and node.value not in precision.box]
    if missing:
        raise InputError(f"the input {missing[0]!r} has no box: --box {missing[0]}=LOW:HIGH gives it one")


def _spent(outputs: Iterable[str], made: Mapping[str, Approximation]) -> dict[str, Fraction]:
    """The errors that polynomials have before they are rounded."""
    return {name: made[name].error if name in made else Fraction(0) for name in outputs}


def _total(errors: Mapping[str, float], spent: Mapping[str, Fraction]) -> dict[str, float]:
    return {name: error + float(spent[name]) for name, error in errors.items()}


def _for_format(
    program: Program,
    frac: int,
    scales: Scaling,
    precision: Precision,
    spent: Mapping[str, Fraction],
    made: Mapping[str, Approximation],
) -> Program:
    """The program with its format, its box, its scales and what functions cost it."""
    return replace(
        program,
        ring=f"fixed:{precision.bits}.{frac}",
        box=tuple(precision.box[name] for name in program.inputs),
        input_scales=tuple(scales.inputs[name] for name in program.inputs),
        outputs=tuple(
            output._replace(
                scale=scales.outputs[output.name],
                approximation=spent[output.name],
                sampled=output.name in made and not made[output.name].proven,
            )
            for output in program.outputs
        ),
    )


def _proven(
    program: Program,
    outputs: Mapping[str, Formula],
    written: Operations,
    table: Table,
    chosen: Mapping[str, Draft],
    histories: Mapping[str, History],
) -> Compilation:
    """The program, compared with its formulas, and what there is to say of it."""
    try:
        checked = prove(program, outputs, written)
    except WrongOutputError as error:
        step = _first_wrong_step(program, table, error.output, chosen[error.output], outputs[error.output])
        raise CheckError(f"{error}, first after the step {step}") from None
    steps: dict[str, list[int]] = {}
    for name, draft in chosen.items():
        for step, length, words in histories[name] + draft.steps():
            entry = steps.setdefault(step, [0, 0])
            entry[0] += length
            entry[1] += words
    return Compilation(
        program=program,
        steps=[(step, length, words) for step, (length, words) in steps.items()],
        facts=facts(*outputs.values(), known_operations=written),
        predicted=sum(draft.predicted for draft in chosen.values()),
        checked=checked,
    )


def given_constants(written: Operations) -> frozenset[Fraction]:
    """The constants of the formulas and one, without signs."""
    size = sum(len(args) for _, args in written)
    if size > current().arguments:
        raise InputError(f"the formula has {size:,} operands, more than the limit, {current().arguments:,}")
    given = frozenset(abs(node.value) for node, _ in written if node.kind == "constant") | {Fraction(1)}
    if any(value.denominator % PRIME == 0 for value in given):
        raise InputError("no number may be divided by a multiple of 2^61 - 1: programs are checked modulo that prime")
    return given


def _first_wrong_step(program: Program, table: Table, name: str, draft: Draft, formula: Formula) -> str:
    """The step that made the code of output ``name`` wrong. Code that was wrong when it was emitted is laid to the pass
    that found its shape."""
    (output,) = (output for output in program.outputs if output.name == name)
    for step, code in draft.history:
        single = lower({name: code}, table, program.contract, frozenset())
        single = replace(
            single,
            input_scales=program.input_scales,
            outputs=(single.outputs[0]._replace(scale=output.scale),),
        )
        try:
            prove(single, {name: formula}, operations(formula))
        except WrongOutputError:
            return draft.source if step == "emit" else step
    return "lower"
