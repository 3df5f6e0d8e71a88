"""Settable: programs of imported models, whose weights can be replaced by those of a model of the same shape.

A program is compiled for constants that are all different and stand for those of the model: a weight of the program is
then one constant or its negative, and *slots* say which. So a model that was trained again changes words of the weight
memory and nothing else. Precondition: formulas without functions. Postcondition: the program, proven against the
formulas with their own constants. Cost: that of the compiler.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from skinny.model.compiler.goal import Goal
from skinny.model.compiler.graph.shortest import shortest
from skinny.model.compiler.pipeline import Compilation, compile_formula
from skinny.model.compiler.prove import prove
from skinny.model.errors import InputError
from skinny.model.formula.formula import Formula, constant, facts, formula_text, operations, postorder
from skinny.model.limits import current, watched
from skinny.model.program.program import Program
from skinny.model.rings import Ring, parse_ring

from .imported import Layer

__all__ = ["Slots", "compile_settable", "constant_nodes", "refilled", "same_shape"]

#: Constants that the compiler may use as they are: they save instructions, and no training gives them.
PLAIN = (-1, 1)
#: How to get a program with a weight that it has no place for.
AGAIN = "compile the model again"


def constant_nodes(outputs: Mapping[str, Formula]) -> list[Formula]:
    """The constants of formulas in order of their nodes; a node that is used several times is there once."""
    return [node for node in postorder(*outputs.values()) if node.kind == "constant"]


def same_shape(one: Mapping[str, Formula], other: Mapping[str, Formula]) -> bool:
    """Whether formulas differ in the values of constants alone, and in none that the compiler may use as they are."""
    return _shape(one) == _shape(other)


def _shape(outputs: Mapping[str, Formula]) -> list[tuple[object, ...]]:
    numbers: dict[int, int] = {}
    out: list[tuple[object, ...]] = []
    for node in postorder(*outputs.values()):
        numbers[id(node)] = len(numbers)
        free = node.kind == "constant" and node.value not in PLAIN
        out.append((node.kind, None if free else node.value, *(numbers[id(arg)] for arg in node.args)))
    return [*out, *((name, numbers[id(formula)]) for name, formula in outputs.items())]


@dataclass(frozen=True)
class Slots:
    """For each weight of a program the number of the constant that it is, with the sign, or None for a plain one;
    ``plain`` are the numbers of the constants that were plain when the program was compiled."""

    slots: tuple[tuple[int, int] | None, ...]
    plain: frozenset[int]

    def filled(self, program: Program, values: Sequence[Fraction]) -> Program:
        """``program`` with weights from ``values`` of all constants."""
        weights = [
            weight if slot is None else slot[1] * values[slot[0]]
            for weight, slot in zip(program.weights, self.slots, strict=True)
        ]
        return replace(program, weights=tuple(weights))


def compile_settable(
    outputs: Mapping[str, Formula], inputs: Sequence[str], width: int, keep: Set[str]
) -> tuple[Compilation, Slots | None]:
    """Compile ``outputs``; ``inputs`` are the names of all inputs in order. There are no slots where the compiler made
    weights of several constants."""
    began = time.perf_counter()
    values = [node.value for node in constant_nodes(outputs)]
    chance = random.Random(0)
    tags = [Fraction(number, 1 << 48) for number in chance.sample(range(1 << 46, 1 << 48), len(values))]
    with watched("compiling"):
        compiled = _compiled(_tagged(outputs, tags), inputs, width, keep)
    places = {tag: (number, 1) for number, tag in enumerate(tags)} | {-t: (n, -1) for n, t in enumerate(tags)}
    program = compiled.program
    if any(weight not in places and weight not in (*PLAIN, 0) for weight in program.weights):
        compiled = _compiled(outputs, inputs, width, keep)
        checked = prove(compiled.program, outputs, operations(*outputs.values()))
        return replace(compiled, checked=checked, seconds=time.perf_counter() - began), None
    plain = frozenset(number for number, value in enumerate(values) if value in PLAIN)
    slots = Slots(tuple(places.get(weight) for weight in program.weights), plain)
    program = slots.filled(program, values)
    checked = prove(program, outputs, operations(*outputs.values()))
    return replace(compiled, program=program, checked=checked, seconds=time.perf_counter() - began), slots


def refilled(
    program: Program,
    slots: Slots | None,
    before: Mapping[str, Formula],
    after: Mapping[str, Formula],
    keep: Set[str],
    layers: Sequence[Layer] = (),
) -> Program:
    """``program``, which was compiled from ``before``, with the constants of ``after``, which has the same shape and
    the ``layers``. Where there are no slots, it is compiled again, and refused unless nothing but weights changed. What
    the ring of the program does not hold is refused."""
    nodes = constant_nodes(after)
    for number, (old, new) in enumerate(zip(constant_nodes(before), nodes, strict=True)):
        plain = old.value in PLAIN if slots is None else number in slots.plain
        if old.value != new.value and plain:
            raise InputError(
                f"{_place(layers, new)} was {old.value} when the program was compiled and became {float(new.value):g}: "
                f"{AGAIN}"
            )
        if program.ring and not _fits(new.value, parse_ring(program.ring)):
            raise InputError(
                f"{_place(layers, new)} is {float(new.value):.6g} now and does not fit {program.ring} at the scale of "
                f"the first model: {AGAIN}"
            )
    if slots is not None:
        return slots.filled(program, [node.value for node in nodes])
    made = _compiled(after, program.inputs, program.width, keep).program
    same = made.forms == program.forms and all(
        np.array_equal(*pair) for pair in zip(made.code.arrays(), program.code.arrays(), strict=True)
    )
    if not same:
        raise InputError(f"other weights give other instructions, as several became one: {AGAIN}")
    return replace(program, weights=made.weights, derived=made.derived)


def _fits(value: Fraction, ring: Ring) -> bool:
    try:
        ring.encode(value)
    except InputError:
        return False
    return True


def _place(layers: Sequence[Layer], weight: Formula) -> str:
    """Where a constant stands in a model, for a message."""
    for layer in layers:
        for node in postorder(*layer.values):
            if any(arg is weight for arg in node.args):
                other = [formula_text(arg, 40) for arg in node.args if arg is not weight]
                what = f"the weight of {other[0]}" if node.kind == "product" and other else "a bias"
                return f"{layer.name}: {what}"
    return "a weight"


def _tagged(outputs: Mapping[str, Formula], tags: Sequence[Fraction]) -> dict[str, Formula]:
    """The same formulas with ``tags`` in place of their constants."""
    known: dict[int, Formula] = {}
    coming = iter(tags)
    for node in postorder(*outputs.values()):
        if node.kind == "constant":
            tag = constant(next(coming))
            known[id(node)] = node if node.value in PLAIN else tag
        elif node.args:
            known[id(node)] = Formula(node.kind, tuple(known[id(arg)] for arg in node.args), node.value)
        else:
            known[id(node)] = node
    return {name: known[id(formula)] for name, formula in outputs.items()}


def _compiled(outputs: Mapping[str, Formula], inputs: Sequence[str], width: int, keep: Set[str]) -> Compilation:
    """The program of a graph of values, where any program will do: models are too large to be planned in blocks."""
    if keep:
        return compile_formula(outputs, inputs=inputs, width=width, keep=keep)
    written = Goal("clean", width, True, frozenset(), (), inputs=tuple(inputs)).operations(outputs)
    given = frozenset(abs(node.value) for node, _ in written if node.kind == "constant") | {Fraction(1)}
    program = shortest(outputs, written, keep, width, given, current().length)
    if program is None:
        raise InputError(f"the model does not fit {width} registers and {current().length:,} instructions: allow more")
    return Compilation(
        program=program,
        steps=[("graph", len(program), program.words)],
        facts=facts(*outputs.values(), known_operations=written),
        predicted=len(program),
        checked="",
    )
