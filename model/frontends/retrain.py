"""Retrain: the constants of a model that was trained again, in the places of those of the first one.

Precondition: two models of one front end. Postcondition: a value for each constant of the first; a weight that became
zero, so that its term is missing, is zero. Models of another shape are refused, naming the layer; so are weights that
were zero, and so had no term, unless the first model kept its zeros. Terms of a sum are
told apart by what their weight multiplies. Cost: linear.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import NoReturn

from skinny.model.errors import InputError
from skinny.model.formula.formula import Formula, constant, formula_text, postorder
from skinny.model.program.units import scaled as times

from .imported import Imported, Layer
from .ranges import term
from .scale import Scaled
from .settable import AGAIN

__all__ = ["retrained", "with_values"]

#: What leaves a place for weights that are zero.
ZEROS = f"{AGAIN}, with keep_zeros=True (--keep-zeros) so that all weights can be set"


def retrained(first: Imported, again: Imported) -> dict[int, Fraction]:
    """The value in ``again`` of each constant of ``first``, by the ``id`` of its node."""
    if (first.inputs, list(first.outputs)) != (again.inputs, list(again.outputs)):
        raise InputError(
            f"{again.title} with {len(again.outputs)} outputs has not the inputs and outputs of {first.title} with "
            f"{len(first.outputs)}: compile it again"
        )
    if len(first.classes) != len(again.classes):
        raise InputError(f"the model has {len(again.classes)} classes and had {len(first.classes)}: compile it again")
    counts = [[len(layer.values) for layer in imported.layers] for imported in (first, again)]
    if counts[0] != counts[1]:
        raise InputError(f"the model has layers of {counts[1]} values and had {counts[0]}: compile it again")
    matching = _Matching(first, again)
    for one, other in zip(first.layers, again.layers, strict=True):
        for number, pair in enumerate(zip(one.values, other.values, strict=True)):
            matching.place = f"{one.name}, value {number} of {len(one.values)}"
            matching.match(*pair)
    for name, formula in first.outputs.items():
        matching.place = f"the output {name}"
        matching.match(formula, again.outputs[name])
    return matching.values


def with_values(
    imported: Imported, scaled: Scaled | None, values: Mapping[int, Fraction]
) -> tuple[Imported, Scaled | None]:
    """The same model with other ``values`` of its constants, scaled by the same powers of two."""
    known = _rebuilt(imported.outputs.values(), values)
    changed = replace(
        imported,
        outputs={name: known[id(formula)] for name, formula in imported.outputs.items()},
        layers=tuple(Layer(name, tuple(known[id(value)] for value in found)) for name, found in imported.layers),
    )
    if scaled is None:
        return changed, None
    inside = {place: times(values[origin], power) for place, (origin, power) in scaled.origins.items()}
    made = _rebuilt(scaled.outputs.values(), inside)
    return changed, scaled._replace(
        outputs={name: made[id(formula)] for name, formula in scaled.outputs.items()},
        layers=tuple(Layer(name, tuple(made[id(value)] for value in found)) for name, found in scaled.layers),
        origins={
            id(made[place]): (id(known[origin]), power)
            for place, (origin, power) in scaled.origins.items()
            if place in made
        },
    )


def _rebuilt(roots: Iterable[Formula], values: Mapping[int, Fraction]) -> dict[int, Formula]:
    """All nodes below ``roots`` anew, constants with their ``values``, by the ids of the old ones."""
    known: dict[int, Formula] = {}
    for node in postorder(*roots):
        if node.kind == "constant":
            known[id(node)] = constant(values.get(id(node), node.value))
        else:
            known[id(node)] = Formula(node.kind, tuple(known[id(arg)] for arg in node.args), node.value)
    return known


class _Matching:
    """Nodes of two models side by side. Values of layers stand for themselves, so that nothing below them is walked."""

    def __init__(self, first: Imported, again: Imported) -> None:
        self.place = ""
        self.values = {id(node): node.value for node in postorder(*first.outputs.values()) if node.kind == "constant"}
        self.set: dict[int, Fraction] = {}
        numbers: dict[object, int] = {}
        self.keys = _keys(first, numbers) | _keys(again, numbers)
        self.done: set[tuple[int, int]] = set()

    def match(self, one: Formula, other: Formula) -> None:
        """Take over the constants below ``other``."""
        stack = [(one, other)]
        while stack:
            pair = one, other = stack.pop()
            if (id(one), id(other)) in self.done:
                continue
            self.done.add((id(one), id(other)))
            if one.kind == other.kind == "constant":
                self.take(one, other.value)
            elif _is_sum(one) and _is_sum(other):
                stack += self.terms(one, other)
            elif one.kind == other.kind and one.value == other.value and len(one.args) == len(other.args):
                stack += zip(one.args, other.args, strict=True)
            else:
                self.refuse(f"{formula_text(other, 40)} is not of the form of {formula_text(pair[0], 40)}")

    def terms(self, one: Formula, other: Formula) -> list[tuple[Formula, Formula]]:
        """The terms of two sums that belong together, but for their weights, which are taken over."""
        waiting: dict[int, list[tuple[Formula | None, Formula | None]]] = {}
        for arg in _operands(other):
            factor, rest = term(arg)
            waiting.setdefault(-1 if rest is None else self.keys[id(rest)], []).append((factor, rest))
        for several in waiting.values():
            several.reverse()
        out = []
        for arg in _operands(one):
            factor, rest = term(arg)
            found = waiting.get(-1 if rest is None else self.keys[id(rest)])
            if not found:
                if factor is None:
                    self.refuse(f"{formula_text(arg, 40)} is missing")
                self.take(factor, Fraction(0))
                continue
            new, inner = found.pop()
            if factor is not None:
                self.take(factor, Fraction(1) if new is None else new.value)
            elif new is not None and new.value != 1:
                self.refuse(f"{formula_text(arg, 40)} had no weight")
            if rest is not None and inner is not None:
                out.append((rest, inner))
        for several in waiting.values():
            for new, inner in several:
                if new is None or new.value:
                    what = "its bias" if inner is None else f"its weight of {formula_text(inner, 40)}"
                    self.refuse(f"{what} was zero when the program was compiled, and has no place in it", ZEROS)
        return out

    def take(self, node: Formula, value: Fraction) -> None:
        """The constant ``node`` gets a value, always the same one."""
        if self.set.setdefault(id(node), value) != value:
            self.refuse("a weight that was shared has two values")
        self.values[id(node)] = value

    def refuse(self, why: str, instead: str = AGAIN) -> NoReturn:
        raise InputError(f"{self.place}: {why}: {instead}")


def _keys(imported: Imported, numbers: dict[object, int]) -> dict[int, int]:
    """A number for what each node computes, whatever its constants are."""
    places: dict[int, object] = {
        id(value): ("layer", depth, place)
        for depth, layer in reversed(list(enumerate(imported.layers)))
        for place, value in enumerate(layer.values)
        if value.args
    }
    out: dict[int, int] = {}
    for node in postorder(*imported.outputs.values()):
        key = places.get(id(node))
        if key is None:
            known = None if node.kind == "constant" else node.value
            key = (node.kind, known, *(() if node.kind == "sum" else (out[id(arg)] for arg in node.args)))
        out[id(node)] = numbers.setdefault(key, len(numbers))
    return out


def _is_sum(node: Formula) -> bool:
    """Whether a node is a sum, or a single term that it may have become when the others became zero."""
    return node.kind in ("sum", "constant", "variable") or None not in term(node)


def _operands(node: Formula) -> tuple[Formula, ...]:
    return node.args if node.kind == "sum" else (node,)
