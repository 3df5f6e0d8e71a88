"""Fixed: the drafts of a program for fixed point, and the choice among them.

Precondition: formulas, a box and a word. Postcondition: the shortest program that is proven safe and precise enough
(``choose``), or :exc:`RefusalError` with the closest that can be had. Besides the drafts for the shortest program,
there are those that keep values small: linear forms with the scale that the user gave them, and inputs scaled by their
box.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from skinny.model.bounds.analysis import MOST_BITS, Analysis
from skinny.model.errors import InputError
from skinny.model.formula.formula import Formula, constant, evaluate, operations, postorder
from skinny.model.rings import FixedPoint, Real

from .choose import Choice, Judge, Option, Proof, Task
from .code import Code, Instruction
from .drafts import Draft, History, drafts_of, polish
from .estimate import Estimate, sample_points
from .goal import Ends, Goal, Precision
from .lower import lower
from .normalise import normalise
from .passes.rescale import exponent
from .polynomial import Polynomial, Table
from .refuse import RefusalError, refuse

__all__ = ["NEVER", "Fixed", "Scaling", "Tried", "fit", "longest", "scaled_formulas", "scalings"]

#: Options of an output that are estimated at most; the longer ones are left out.
MOST_OPTIONS = 400
#: The most precise options of an output, which are made shorter.
POLISHED = 6
#: The number of bits when no word is large enough.
NEVER = 999


class Scaling(NamedTuple):
    """Powers of two: an input is taken as ``x / 2^inputs[x]``, an output ``y`` is given as ``y / 2^outputs[y]``."""

    inputs: dict[str, int]
    outputs: dict[str, int]


class Tried(NamedTuple):
    """A program that the compiler could have chosen: the output, the pass it comes from, its cycles, the fraction bits
    with which it fits the word, and its error in the user's units, proven or only estimated."""

    output: str
    source: str
    cycles: int
    frac: int
    error: float
    proven: bool
    chosen: bool


class Fixed(NamedTuple):
    """The chosen program: drafts and codes of its outputs, the table of their atoms, its fraction bits, its scales, the
    proven errors in the user's units; and the programs that were tried."""

    drafts: dict[str, Draft]
    codes: dict[str, Code]
    table: Table
    frac: int
    scales: Scaling
    errors: dict[str, float]
    histories: dict[str, History]
    tried: list[Tried]

    @property
    def cycles(self) -> int:
        return sum(code.cycles for code in self.codes.values())


def scaling(outputs: Mapping[str, Formula], box: Mapping[str, Ends]) -> Scaling:
    """The scales with which inputs, and outputs as far as sample points tell, lie between -1 and 1."""
    ranges = dict(box)
    tunable = {node.value.name: node.value for node in postorder(*outputs.values()) if node.kind == "weight"}
    ranges |= {name: (weight.low, weight.high) for name, weight in tunable.items()}
    outputs = _with_inputs(outputs, {name: Formula("variable", value=name) for name in tunable})
    names = list(ranges)
    points = sample_points([ranges[name] for name in names])
    values = {name: points[u] for u, name in enumerate(names)} or {"": np.zeros(1)}
    sizes = {
        name: float(np.abs(evaluate(formula, values, Real())).max(initial=0.0)) for name, formula in outputs.items()
    }
    return Scaling(
        {name: exponent(max(abs(end) for end in ends)) for name, ends in box.items()},
        {name: exponent(Fraction(size)) if np.isfinite(size) else 0 for name, size in sizes.items()},
    )


def scalings(outputs: Mapping[str, Formula], precision: Precision) -> list[Scaling]:
    """The scales to try, the most promising first. A word holds one, so that it holds what is below two: so large an
    output has one more bit, unless something on the way to it gets too large then. Sample points may have missed the
    greatest values: then it has one bit less."""
    if not precision.scale:
        return [Scaling(dict.fromkeys(precision.box, 0), dict.fromkeys(outputs, 0))]
    scales = scaling(outputs, precision.box)
    return [Scaling(scales.inputs, {name: e + more for name, e in scales.outputs.items()}) for more in (0, -1, 1)]


def scaled_formulas(outputs: Mapping[str, Formula], scales: Scaling) -> dict[str, Formula]:
    """The formulas of the scaled outputs in the scaled inputs."""
    inputs = {name: _power(e) for name, e in scales.inputs.items()}
    inner = _with_inputs(outputs, {name: c * Formula("variable", value=name) for name, c in inputs.items()})
    return {name: _power(-scales.outputs[name]) * formula for name, formula in inner.items()}


def _power(e: int) -> Formula:
    return constant(Fraction(2) ** e)


def _with_inputs(outputs: Mapping[str, Formula], inputs: Mapping[str, Formula]) -> dict[str, Formula]:
    """The formulas with others in place of their inputs and named weights."""
    made: dict[int, Formula] = {}
    for node in postorder(*outputs.values()):
        if node.kind in ("variable", "weight"):
            made[id(node)] = inputs.get(node.value if node.kind == "variable" else node.value.name, node)
        elif node.args:
            made[id(node)] = Formula(node.kind, tuple(made[id(arg)] for arg in node.args), node.value)
        else:
            made[id(node)] = node
    return {name: made[id(formula)] for name, formula in outputs.items()}


def fit(
    outputs: Mapping[str, Formula],
    goal: Goal,
    precision: Precision,
    given: frozenset[Fraction],
    spent: Mapping[str, Fraction],
) -> Fixed:
    """The shortest program of ``outputs`` that is proven precise enough. ``given`` are the constants of the formulas,
    ``spent`` the errors that they have before they are rounded."""
    tried = scalings(outputs, precision)
    if not precision.scale:
        return _fit(outputs, goal, precision, given, spent, tried[0])
    found: list[Fixed] = []
    refused: RefusalError | None = None
    for number, scales in enumerate(tried):
        try:
            found.append(_fit(scaled_formulas(outputs, scales), goal, precision, given, spent, scales))
        except RefusalError as refusal:
            refused = refusal if refused is None else refused.or_closer(refusal)
        if found and number == 1:
            break
    if not found:
        assert refused is not None
        raise refused
    if precision.error is not None:
        return min(found, key=lambda fixed: (fixed.cycles, max(fixed.errors.values())))
    return min(found, key=lambda fixed: (max(fixed.errors.values()), fixed.cycles))


def _fit(
    outputs: Mapping[str, Formula],
    goal: Goal,
    precision: Precision,
    given: frozenset[Fraction],
    spent: Mapping[str, Fraction],
    scales: Scaling,
) -> Fixed:
    """The same for formulas that are scaled already."""
    table, polynomials = normalise(outputs, goal.operations(outputs), attention=goal.attention)
    ends = {name: tuple(end / Fraction(2) ** e for end in precision.box[name]) for name, e in scales.inputs.items()}
    box = tuple((ends[name][0], ends[name][1]) for name in table.names[: table.inputs])
    units = {name: 2.0**e for name, e in scales.outputs.items()}
    options, histories = _options(
        outputs, table, polynomials, replace(goal, box=_atom_box(table, box), bits=precision.bits)
    )

    def proof(name: str, option: Option, frac: int) -> Proof:
        program = lower({name: option.code}, table, goal.contract, given)
        try:
            analysis = Analysis(program, FixedPoint(MOST_BITS, frac), box)
        except InputError:
            return Proof(NEVER, float("inf"))
        return Proof(analysis.bits_needed(), max(analysis.errors.values()) * units[name])

    fracs = [precision.frac] if precision.frac is not None else list(range(precision.bits - 1, -1, -1))
    limits = None
    if precision.error is not None:
        limits = {name: float(precision.error - error) for name, error in spent.items()}
    most = {name: longest((option.code.cycles for option in found), table.inputs) for name, found in options.items()}
    judge = Judge(options, Task(precision.bits, fracs, limits, units, most), proof)
    for name, found in options.items():
        rough = [option for option in judge.precise(name) if option.draft.history[-1][0] != "search"]
        found.extend(_polished(rough[:POLISHED], goal))
    choice = judge.choose()
    if choice is None:
        raise refuse(judge, precision, spent)
    return Fixed(
        drafts={name: option.draft for name, option in choice.options.items()},
        codes={name: option.code for name, option in choice.options.items()},
        table=table,
        frac=choice.frac,
        scales=scales,
        errors={name: proof.error for name, proof in choice.proofs.items()},
        histories=histories,
        tried=_tried(judge, choice),
    )


def longest(cycles: Iterable[int], inputs: int) -> int:
    """The cycles that a precise program may take: a quarter more than the shortest, with one input one more."""
    shortest = min(cycles)
    return shortest + (max(1, shortest // 4) if inputs > 1 else 1)


def _polished(options: Sequence[Option], goal: Goal) -> Iterator[Option]:
    """Options that are made shorter in the way of the shortest program, which takes long, so few are."""
    for option in options:
        draft = option.draft.until(option.code)
        polish(draft, goal)
        for code in dict.fromkeys(code for step, code in draft.history if step in ("schedule", "search")):
            yield Option(draft, code, Estimate(code, option.estimate.points, option.estimate.weights))


def _atom_box(table: Table, inputs: Sequence[Ends]) -> tuple[Ends, ...]:
    """The ranges of all variables: inputs, named weights, and products of these."""
    box = [*inputs, *((weight.low, weight.high) for weight in table.weights)]
    for weight, u in table.fused:
        corners = [one * other for one in box[weight] for other in box[u]]
        box.append((min(corners), max(corners)))
    return tuple(box)


def _tried(judge: Judge, choice: Choice) -> list[Tried]:
    """For each output, programs of growing length, each more precise than the shorter ones, and the chosen one."""
    out = []
    for name, options in judge.options.items():
        entries = []
        for option in options:
            frac = judge.finest(option)
            chosen = option is choice.options[name]
            if frac is not None or chosen:
                frac = choice.frac if chosen or frac is None else frac
                proven = judge.proven(option, frac)
                error = judge.error(name, option, frac) if proven is None else proven.error
                entries.append(
                    Tried(name, option.draft.source, option.code.cycles, frac, error, proven is not None, chosen)
                )
        least = float("inf")
        for entry in sorted(entries, key=lambda entry: (entry.cycles, entry.error)):
            if entry.chosen or entry.error < least:
                out.append(entry)
                least = min(least, entry.error)
    return out


def _options(
    outputs: Mapping[str, Formula], table: Table, polynomials: Mapping[str, Polynomial], goal: Goal
) -> tuple[dict[str, list[Option]], dict[str, History]]:
    """The options of each output, and the history of the drafts for the shortest program."""
    assert goal.box is not None
    points = sample_points(goal.box)
    for (weight, u), atom in table.fused.items():
        points[atom] = points[weight] * points[u]
    weights = {table.inputs + n: float(max(-w.low, w.high)) for n, w in enumerate(table.weights)}
    weights |= {atom: weights[weight] for (weight, _), atom in table.fused.items()}
    found: dict[str, dict[tuple[Instruction, ...], Option]] = {name: {} for name in outputs}
    histories: dict[str, History] = {}
    # What makes short programs shorter takes long, so it is done for the shapes of the shortest program only.
    quick = replace(goal, without=goal.without | {"schedule", "search"})
    variants = [(table, polynomials, goal)]
    if goal.attention:
        variants += [
            (*normalise(formulas, operations(*formulas.values()), keep_forms=True, fused=table.fused), quick)
            for formulas in (outputs, _boxed(outputs, dict(zip(table.names[: table.inputs], goal.box, strict=False))))
        ]
    seen: list[tuple[list[Polynomial], Mapping[str, Polynomial]]] = []
    for variant, polynomials, wishes in variants:
        # Another way of writing may fuse other weights and inputs; then its atoms are not those of the table.
        if variant.names != table.names or (variant.sums, polynomials) in seen:
            continue
        seen.append((list(variant.sums), polynomials))
        for name, polynomial in polynomials.items():
            drafts, history = drafts_of(name, polynomial, variant, wishes, 0)
            histories.setdefault(name, history)
            for draft in drafts:
                for code in dict.fromkeys([draft.cleaned, draft.code]):
                    key = tuple(code.instructions())
                    if key not in found[name] and len(found[name]) < MOST_OPTIONS:
                        found[name][key] = Option(draft, code, Estimate(code, points, weights))
    return {name: list(options.values()) for name, options in found.items()}, histories


def _boxed(outputs: Mapping[str, Formula], box: Mapping[str, Ends]) -> dict[str, Formula]:
    """The formulas in inputs that are divided by powers of two, so that they lie between -1 and 1."""
    inputs = {}
    for name, ends in box.items():
        e = exponent(max(abs(end) for end in ends))
        # A sum of one term is not merged with the products around it.
        form = Formula("sum", (_power(-e) * Formula("variable", value=name),))
        inputs[name] = _power(e) * form if e else Formula("variable", value=name)
    return _with_inputs(outputs, inputs)
