"""Scale: powers of two that bring the values of a model into the range of a word, folded into its weights.

Precondition: formulas without functions, and the range of each node. Postcondition: formulas of the scaled inputs
``x/2^e`` that give the scaled outputs ``y/2^g``; every value of a layer counts times the same power of two. Values stay
below ``2^target`` and constants below ``2^integer``. Where a sum has a term without a constant, it takes over the
power of that term, and only what cannot be folded becomes a constant more. Cost: linear.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from skinny.model.formula.formula import Formula, constant, product, total
from skinny.model.program.units import scaled as times

from .imported import Imported, Layer
from .ranges import Range, own_nodes, term

__all__ = ["Room", "Scaled", "scale_model"]

#: The part of the largest word that constants leave free, because they are rounded.
FREE = Fraction(1, 128)
#: Inputs whose ranges differ by less than this power of two are taken to be of one kind, so that all may become as
#: large as the largest was: a pixel that was dark in all rows may be bright in the next one.
ALIKE = 5


class Room(NamedTuple):
    """What a word holds: constants below ``2^integer``, values that are multiplied below ``2^target``; outputs are
    divided by ``2^lift`` once more, where constants that were multiplied with each other need it."""

    integer: int
    target: int
    lift: int = 0


class Scaled(NamedTuple):
    """Scaled ``outputs`` and ``layers``; the exponents of the inputs that are read and of the outputs by name, and of
    the values of the layers. ``origins`` says which constant a scaled one comes from, by their ids, and by which power
    of two it was multiplied."""

    outputs: dict[str, Formula]
    layers: tuple[Layer, ...]
    input_exponents: dict[str, int]
    output_exponents: dict[str, int]
    layer_exponents: tuple[tuple[int, ...], ...]
    origins: dict[int, tuple[int, int]]


def scale_model(imported: Imported, ranges: Mapping[int, Range], margin: float, room: Room) -> Scaled:
    """``imported``, whose nodes have ``ranges``, for a word with ``room``. Values may leave their range by the factor
    ``margin``."""
    scaling = _Scaling(ranges, margin, room)
    outputs = imported.outputs
    nodes = own_nodes(list(outputs.values()))
    scaling.inputs = _input_exponents(
        {node.value: ranges[id(node)].size * margin for node in nodes if node.kind == "variable"}
    )
    sent = {id(value) for value in outputs.values()}
    for layer in imported.layers:
        if not all(id(value) in sent for value in layer.values):
            scaling.layer(layer.values, room.target)
    if imported.argmax:
        scaling.layer(list(outputs.values()), room.integer - room.lift)
        scaling.align(list(outputs.values()))
    else:
        for value in outputs.values():
            scaling.layer([value], room.integer - room.lift)
    known = scaling.known
    for layer in imported.layers:
        scaling.below(layer.values)
    return Scaled(
        {name: known[id(value)][0] for name, value in outputs.items()},
        tuple(Layer(name, tuple(known[id(value)][0] for value in values)) for name, values in imported.layers),
        scaling.inputs,
        {name: known[id(value)][1] for name, value in outputs.items()},
        tuple(tuple(known[id(value)][1] for value in layer.values) for layer in imported.layers),
        scaling.origins,
    )


class _Scaling:
    """Scaled nodes with their exponents, by the ids of the nodes that they are made of."""

    def __init__(self, ranges: Mapping[int, Range], margin: float, room: Room) -> None:
        self.ranges, self.margin, self.room = ranges, margin, room
        self.largest = (1 - FREE) * (1 << room.integer)
        self.inputs: dict[str, int] = {}
        self.known: dict[int, tuple[Formula, int]] = {}
        self.origins: dict[int, tuple[int, int]] = {}
        self.made: dict[tuple[int, int], Formula] = {}

    def layer(self, values: Sequence[Formula], target: int) -> None:
        """Scale the values of a layer. Its sums, and those that a relu is taken of, get one exponent together."""
        heads = [value.args[0] if value.kind == "relu" else value for value in values]
        sums = [head for head in heads if _is_sum(head) and id(head) not in self.known]
        self.below([rest for head in sums for arg in _operands(head) if (rest := term(arg)[1]) is not None])
        exponent = max((self.sum_exponent(head, target) for head in sums), default=0)
        for head in sums:
            self.known[id(head)] = self.total(head, exponent), exponent
        self.below(values)

    def align(self, values: Sequence[Formula]) -> None:
        """Give all ``values`` one exponent, the largest of theirs."""
        most = max(self.known[id(value)][1] for value in values)
        for value in values:
            node, exponent = self.known[id(value)]
            if exponent != most and _is_sum(value):
                self.known[id(value)] = self.total(value, most), most
            elif exponent != most:
                self.known[id(value)] = product([constant(Fraction(2) ** (exponent - most)), node]), most

    def below(self, roots: Sequence[Formula]) -> None:
        """Scale ``roots`` and all that they need."""
        for node in own_nodes([root for root in roots if id(root) not in self.known]):
            if id(node) not in self.known:
                self.known[id(node)] = self.scaled(node)

    def scaled(self, node: Formula) -> tuple[Formula, int]:
        if _is_sum(node):
            exponent = self.sum_exponent(node, self.room.target)
            return self.total(node, exponent), exponent
        match node.kind:
            case "constant":
                exponent = max(0, self.constant_exponent(node.value))
                return self.constant(node, -exponent), exponent
            case "variable":
                return node, self.inputs[node.value]
            case "relu":
                inner, exponent = self.known[id(node.args[0])]
                return Formula("relu", (inner,)), exponent
            case "power":
                inner, exponent = self.known[id(node.args[0])]
                return Formula("power", (inner,), node.value), exponent * node.value
            case _:
                args = [self.known[id(arg)] for arg in node.args]
                return product([arg for arg, _ in args]), sum(exponent for _, exponent in args)

    def sum_exponent(self, node: Formula, target: int) -> int:
        """The least exponent with which a sum stays below ``2^target`` and its constants fit. That of a term without a
        constant is taken over."""
        size = self.ranges[id(node)].size * self.margin if id(node) in self.ranges else 0.0
        out = [_exponent(size) - target] if size else []
        for arg in _operands(node):
            factor, rest = term(arg)
            exponent = 0 if rest is None else self.known[id(rest)][1]
            if factor is None:
                out.append(exponent)
            elif factor.value:
                out.append(self.constant_exponent(factor.value) + exponent)
        return max(out, default=0)

    def constant_exponent(self, value: Fraction) -> int:
        """The least exponent with which a constant fits."""
        exponent = math.frexp(float(abs(value) / self.largest))[1] - 1
        return exponent + (abs(value) > self.largest * Fraction(2) ** exponent)

    def total(self, node: Formula, exponent: int) -> Formula:
        """The sum ``node`` divided by ``2^exponent``."""
        terms = []
        for arg in _operands(node):
            factor, rest = term(arg)
            inner, own = (None, 0) if rest is None else self.known[id(rest)]
            power = own - exponent
            if factor is not None:
                scale = self.constant(factor, power)
                terms.append(scale if inner is None else product([scale, inner]))
            elif inner is not None:
                terms.append(product([constant(Fraction(2) ** power), inner]) if power else inner)
        return terms[0] if len(terms) == 1 else total(terms)

    def constant(self, node: Formula, power: int) -> Formula:
        """The constant ``node`` times ``2^power``; one node, however often the weight is used."""
        if (id(node), power) not in self.made:
            out = constant(times(node.value, power))
            self.origins[id(out)] = id(node), power
            self.made[id(node), power] = out
        return self.made[id(node), power]


def _input_exponents(sizes: Mapping[str, float]) -> dict[str, int]:
    """The exponents of inputs with the largest absolute values ``sizes``."""
    most = max((_exponent(size) for size in sizes.values() if size), default=0)
    own = {name: _exponent(size) if size else most for name, size in sizes.items()}
    return {name: most if most - exponent < ALIKE else exponent for name, exponent in own.items()}


def _is_sum(node: Formula) -> bool:
    """Whether ``node`` is a sum of terms, or one term with a constant."""
    return node.kind == "sum" or (node.kind == "product" and None not in term(node))


def _operands(node: Formula) -> Iterable[Formula]:
    return node.args if node.kind == "sum" else (node,)


def _exponent(size: float) -> int:
    """The least exponent of a power of two that is above ``size``."""
    return math.frexp(size)[1] if size else 0
