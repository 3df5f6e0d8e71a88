"""Fixed graph: programs for fixed point that hold parts of the formula in registers.

Precondition: formulas, a box and a word. Postcondition: the shortest program of a graph that is proven safe and precise
enough, or :exc:`RefusalError` with the closest that can be had. Whole programs are judged, with all of their outputs.
Cost: a few proofs for each graph, three times as many where scales are chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple, TypeVar

from skinny.model.bounds.analysis import MOST_BITS, Analysis
from skinny.model.errors import InputError
from skinny.model.formula.formula import Formula
from skinny.model.limits import check, current
from skinny.model.program.program import Program
from skinny.model.rings import FixedPoint

from .choose import GENEROUS
from .fixed import NEVER, Scaling, Tried, longest, scaled_formulas, scalings
from .goal import Goal, Precision
from .graph.shortest import programs
from .refuse import Closest, RefusalError, rounded_up

__all__ = ["FixedGraph", "GraphOption", "fit_graph", "graph_options", "precise_and_short"]

Errors = Mapping[str, float]
Item = TypeVar("Item")


class FixedGraph(NamedTuple):
    """The chosen program, its fraction bits, its scales, the proven errors of its rounding in the user's units; and the
    programs that were tried."""

    program: Program
    frac: int
    scales: Scaling
    errors: dict[str, float]
    tried: list[Tried]


class _Proof(NamedTuple):
    """The word that a program needs with some number of fraction bits, and the errors of its outputs."""

    bits: int
    errors: dict[str, float]


@dataclass(eq=False)
class GraphOption:
    """A program, its scales, and what is proven of it for each number of fraction bits."""

    program: Program
    scales: Scaling
    precision: Precision
    proofs: dict[int, _Proof] = field(default_factory=dict)

    def proof(self, frac: int) -> _Proof:
        if frac not in self.proofs:
            check()
            self.proofs[frac] = self._proof(frac)
        return self.proofs[frac]

    def _proof(self, frac: int) -> _Proof:
        box = [
            tuple(end / Fraction(2) ** self.scales.inputs[name] for end in self.precision.box[name])
            for name in self.program.inputs
        ]
        try:
            analysis = Analysis(self.program, FixedPoint(MOST_BITS, frac), [(low, high) for low, high in box])
        except InputError:
            return _Proof(NEVER, {})
        errors = {name: error * 2.0 ** self.scales.outputs[name] for name, error in analysis.errors.items()}
        return _Proof(analysis.bits_needed(), errors)

    def finest(self, bits: int) -> int | None:
        """The largest number of fraction bits with which the program is safe in ``bits`` bits, of those that are asked
        for. More fraction bits need more bits."""
        if self.precision.frac is not None:
            return self.precision.frac if self.proof(self.precision.frac).bits <= bits else None
        frac = bits // 2
        frac = min(max(frac + bits - self.proof(frac).bits, 0), bits - 1)
        while frac >= 0 and self.proof(frac).bits > bits:
            frac -= 1
        while 0 <= frac < bits - 1 and self.proof(frac + 1).bits <= bits:
            frac += 1
        return None if frac < 0 else frac

    def errors(self, bits: int) -> dict[str, float] | None:
        """The errors with which the program is safe in ``bits`` bits, if it is."""
        frac = self.finest(bits)
        return None if frac is None else self.proof(frac).errors


def graph_options(
    outputs: Mapping[str, Formula], goal: Goal, keep: Set[str], precision: Precision, given: frozenset[Fraction]
) -> list[GraphOption]:
    """The shortest program of each graph of ``outputs`` that keeps the promises ``keep``, with each choice of scales;
    none when no graph fits the registers. ``given`` are the constants of the formulas."""
    options: list[GraphOption] = []
    for scales in scalings(outputs, precision):
        formulas = scaled_formulas(outputs, scales) if precision.scale else outputs
        written = goal.operations(formulas)
        found = programs(formulas, written, keep, goal.width, given, current().length, goal.inputs)
        options += [GraphOption(program, scales, precision) for program in found]
    return options


def fit_graph(options: Sequence[GraphOption], precision: Precision, spent: Mapping[str, Fraction]) -> FixedGraph:
    """The shortest of ``options`` that is proven precise enough. ``spent`` are the errors that the formulas have before
    they are rounded."""
    limits = None
    if precision.error is not None:
        limits = {name: float(precision.error - error) for name, error in spent.items()}
    chosen = _chosen(options, precision.bits, limits, len(precision.box))
    if chosen is None:
        raise RefusalError(precision, _closest(options, precision, limits, spent))
    frac = chosen.finest(precision.bits)
    assert frac is not None
    errors = chosen.proof(frac).errors
    return FixedGraph(chosen.program, frac, chosen.scales, errors, list(_tried(options, chosen, precision.bits)))


def precise_and_short(items: Sequence[tuple[Item, int, Errors]], limits: Errors | None, inputs: int) -> Item | None:
    """Of items with their cycles and errors, the shortest that is precise enough: within ``limits`` or, without limits,
    within :data:`~.choose.GENEROUS` times the least error of those that are not much longer than the shortest."""
    if limits is not None:
        allowed = [item for item in items if all(item[2][name] <= limit for name, limit in limits.items())]
    else:
        most = longest((cycles for _, cycles, _ in items), inputs) if items else 0
        allowed = [item for item in items if item[1] <= most]
        least = {name: min(errors[name] for *_, errors in allowed) for name in (allowed[0][2] if allowed else ())}
        worst = [max(_times(errors[name], least[name]) for name in least) for *_, errors in allowed]
        enough = max(GENEROUS, min(worst, default=1.0))
        allowed = [item for item, times in zip(allowed, worst, strict=True) if times <= enough]
    return min(allowed, key=lambda item: (item[1], max(item[2].values())), default=(None,))[0]


def _times(error: float, least: float) -> float:
    return 1.0 if error == least else error / least if least else float("inf")


def _chosen(options: Sequence[GraphOption], bits: int, limits: Errors | None, inputs: int) -> GraphOption | None:
    """The option that is taken for words of ``bits`` bits."""
    safe = [(option, option.program.words, option.errors(bits)) for option in options]
    return precise_and_short([(o, words, errors) for o, words, errors in safe if errors is not None], limits, inputs)


def _closest(
    options: Sequence[GraphOption], precision: Precision, limits: Errors | None, spent: Mapping[str, Fraction]
) -> Closest:
    """The closest to what was asked for that can be met."""
    least = {name: float("inf") for name in spent}
    worst = float("inf")
    for errors in filter(None, (option.errors(precision.bits) for option in options)):
        total = {name: error + float(spent[name]) for name, error in errors.items()}
        if max(total.values()) < worst:
            worst, least = max(total.values()), total
    word = None
    for bits in range(precision.bits + 1, MOST_BITS + 1):
        wider = _chosen(options, bits, limits, len(precision.box))
        if wider is not None:
            frac = wider.finest(bits)
            assert frac is not None
            word = bits, frac
            break
    return Closest(max(least, key=lambda name: least[name]), rounded_up(worst) if worst < float("inf") else None, word)


def _tried(options: Sequence[GraphOption], chosen: GraphOption, bits: int) -> Iterator[Tried]:
    """For each output, programs of growing length, each more precise than the shorter ones, and the chosen one."""
    for name in chosen.scales.outputs:
        entries = []
        for option in options:
            frac = option.finest(bits)
            if frac is not None:
                error = option.proof(frac).errors[name]
                entries.append(Tried(name, "graph", option.program.words, frac, error, True, option is chosen))
        least = float("inf")
        for entry in sorted(entries, key=lambda entry: (entry.cycles, entry.error)):
            if entry.chosen or entry.error < least:
                yield entry
                least = min(least, entry.error)
