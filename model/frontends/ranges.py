"""Ranges: what the nodes of a model's formulas are at given rows, and what they can be on a box.

Terms ``constant·node`` of sums are added where they stand and have no range of their own, so that a layer costs one
array operation a weight.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from skinny.model.errors import InputError
from skinny.model.formula.formula import Formula, formula_text, postorder
from skinny.model.limits import checked
from skinny.model.rings import Array, Real, Ring

__all__ = ["Range", "box_ranges", "own_nodes", "row_ranges", "row_values", "term"]

Floats = NDArray[np.float64]
FLOATS = Real()


class Range(NamedTuple):
    """The least and the greatest value."""

    low: float
    high: float

    @property
    def size(self) -> float:
        """The largest absolute value."""
        return max(-self.low, self.high)


def term(node: Formula) -> tuple[Formula | None, Formula | None]:
    """An operand of a sum as a constant and what it multiplies, either of which may be missing."""
    if node.kind == "constant":
        return node, None
    if node.kind == "product" and len(node.args) == 2 and node.args[0].kind == "constant":
        return node.args[0], node.args[1]
    return None, node


def own_nodes(outputs: Collection[Formula]) -> list[Formula]:
    """The nodes that have values of their own, arguments first: all but terms of sums."""
    return _used(outputs)[0]


def _used(outputs: Collection[Formula]) -> tuple[list[Formula], dict[int, int]]:
    """The same, and how often each is used."""
    nodes = list(postorder(*outputs))
    uses = {id(node): 1 for node in outputs}
    for node in reversed(nodes):
        if id(node) not in uses:
            continue
        for arg in node.args:
            _, factor = term(arg) if node.kind == "sum" else (None, arg)
            if factor is not None:
                uses[id(factor)] = uses.get(id(factor), 0) + 1
    return [node for node in nodes if id(node) in uses], uses


def row_values(columns: Mapping[str, Array], keep: Sequence[Formula], ring: Ring = FLOATS) -> list[Array]:
    """The values of the nodes ``keep`` at rows, computed in ``ring`` term by term: ``columns`` holds the elements of
    each input that is read."""
    out: dict[int, Array] = {}
    wanted = {id(node) for node in keep}

    def found(node: Formula, value: Array) -> None:
        if id(node) in wanted:
            out[id(node)] = value

    _walk(keep, columns, ring, found)
    return [out[id(node)] for node in keep]


def row_ranges(outputs: Collection[Formula], columns: Mapping[str, Floats]) -> dict[int, Range]:
    """The range of each node over rows, by the ``id`` of the node."""
    out: dict[int, Range] = {}

    def found(node: Formula, value: Array) -> None:
        out[id(node)] = Range(float(value.min()), float(value.max()))

    _walk(outputs, columns, FLOATS, found)
    return out


def _walk(
    outputs: Collection[Formula],
    columns: Mapping[str, Array],
    ring: Ring,
    found: Callable[[Formula, Array], None],
) -> None:
    """Tell ``found`` the values of each node in turn. They are dropped when the last node that uses them has its
    own."""
    nodes, uses = _used(outputs)
    known: dict[int, Array] = {}
    rows = len(next(iter(columns.values()))) if columns else 1

    def everywhere(value: Fraction) -> Array:
        return ring.constant(ring.encode(value), rows)

    for node in checked(nodes):
        args = node.args
        match node.kind:
            case "constant":
                value = everywhere(node.value)
            case "variable":
                value = columns[node.value]
            case "sum":
                value = everywhere(Fraction(0))
                scratch = np.empty_like(value)
                for arg in args:
                    factor, rest = term(arg)
                    if rest is None:
                        assert factor is not None
                        value = ring.add(value, everywhere(factor.value))
                    elif factor is None:
                        value = ring.add(value, known[id(rest)])
                    else:
                        ring.accumulate(value, ring.constant(ring.encode(factor.value), 1), known[id(rest)], 1, scratch)
            case "product" | "power":
                several = args if node.kind == "product" else args * node.value
                value = known[id(several[0])] if several else everywhere(Fraction(1))
                for arg in several[1:]:
                    value = ring.mul(value, known[id(arg)])
            case "relu":
                value = known[id(args[0])].copy()
                ring.relu(value)
            case _:
                value = _function(node, known[id(args[0])])
        known[id(node)] = value
        found(node, value)
        for arg in args:
            factor = term(arg)[1] if node.kind == "sum" else arg
            if factor is not None:
                uses[id(factor)] -= 1
                if not uses[id(factor)]:
                    del known[id(factor)]


def _function(node: Formula, argument: Floats) -> Floats:
    """The values of a function."""
    if node.value == "tanh":
        return np.tanh(argument)
    if node.value == "sigmoid":
        return 0.5 + 0.5 * np.tanh(0.5 * argument)
    raise InputError(f"{formula_text(node, 40)} is no activation: tanh and sigmoid are")


def box_ranges(outputs: Collection[Formula], box: Mapping[str, Range]) -> dict[int, Range]:
    """A range that each node cannot leave while the inputs stay in ``box``, by the ``id`` of the node: what each node
    makes of the ranges of its arguments, taken to be independent."""
    known: dict[int, Range] = {}
    for node in checked(own_nodes(outputs)):
        args = [known[id(arg)] for arg in node.args] if node.kind != "sum" else []
        match node.kind:
            case "constant":
                found = Range(float(node.value), float(node.value))
            case "variable":
                found = box[node.value]
            case "sum":
                low = high = 0.0
                for arg in node.args:
                    factor, rest = term(arg)
                    scale = 1.0 if factor is None else float(factor.value)
                    ends = (scale, scale) if rest is None else sorted(scale * end for end in known[id(rest)])
                    low, high = low + ends[0], high + ends[1]
                found = Range(low, high)
            case "product":
                found = Range(1.0, 1.0)
                for operand in args:
                    corners = [one * other for one in found for other in operand]
                    found = Range(min(corners), max(corners))
            case "power":
                ends = sorted(end**node.value for end in args[0])
                crosses = args[0].low < 0 < args[0].high and node.value % 2 == 0
                found = Range(0.0 if crosses else ends[0], ends[1])
            case "relu":
                found = Range(max(args[0].low, 0.0), max(args[0].high, 0.0))
            case _:
                found = Range(*_function(node, np.array(args[0])).tolist())
        known[id(node)] = found
    return known
