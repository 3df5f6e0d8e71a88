"""Values: what the registers of a program hold, and how each is made of others.

A value is a sum of *groups*, and a group is a form times a register: ``v = Σ F·R``. So a group is one instruction, plus
the steps that build its form in the accumulator. The register is that of another value, or the one that holds one. The
terms of a form are numbers, inputs and, where sums of registers are allowed, other values. Values are numbered so
that each comes after those it is made of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from skinny.model.compiler.polynomial import Coefficient
from skinny.model.named_weight import NamedWeight

__all__ = [
    "CONSTANT",
    "NONE",
    "ONE",
    "UNIT",
    "Graph",
    "Group",
    "Key",
    "Step",
    "TermForm",
    "Value",
    "form_of",
    "group_cost",
    "is_simple",
    "operands",
    "pruned",
]

#: In place of the number of a weight, an input or a value that is not there.
NONE = -1
#: In place of the number of a value: the register that holds one.
ONE = -1

#: What a coefficient of a form is multiplied with, by number: a named weight, an input and a value.
Key = tuple[int, int, int]
#: A form as its terms, sorted.
TermForm = tuple[tuple[Key, Coefficient], ...]

CONSTANT: Key = (NONE, NONE, NONE)
UNIT: TermForm = ((CONSTANT, 1),)


class Group(NamedTuple):
    """The form times the register of the value ``base``."""

    form: TermForm
    base: int


class Value(NamedTuple):
    """A sum of groups. With ``relu`` it is the positive part of its only group. The old value of the state ``state``,
    by number, has no groups: it is there from the beginning."""

    groups: tuple[Group, ...]
    relu: bool = False
    state: int = NONE


class Step(NamedTuple):
    """The values of a state before a sample, ``old``, and after it."""

    old: int
    next: int


@dataclass(frozen=True)
class Graph:
    """The values of a formula, those of its outputs by name, the names of its inputs and named weights, and for each
    state its step. ``shares``: the formula uses a form of inputs several times."""

    values: list[Value]
    outputs: dict[str, int]
    inputs: list[str]
    weights: list[NamedWeight]
    states: tuple[Step, ...] = ()
    shares: bool = False

    @property
    def roots(self) -> list[int]:
        """The values that are wanted: outputs, then states."""
        return [*self.outputs.values(), *(value for step in self.states for value in step)]

    @property
    def cycles(self) -> int:
        """The cycles of a program that computes no value twice, at most."""
        return sum(group_cost(group.form) for value in self.values for group in value.groups) + len(self.outputs)

    @property
    def size(self) -> int:
        """The terms of all forms."""
        return sum(len(group.form) for value in self.values for group in value.groups)

    def of(self, name: str) -> Graph:
        """The graph of one output."""
        return pruned(replace(self, outputs={name: self.outputs[name]}))


def form_of(terms: Mapping[Key, Coefficient]) -> TermForm:
    """The form with these terms; those with coefficient zero are left out."""
    return tuple(sorted((key, c) for key, c in terms.items() if c))


def is_simple(form: TermForm) -> bool:
    """Whether an instruction can use the form as it is, without the accumulator: one weight or one input."""
    if len(form) != 1:
        return False
    ((weight, u, value), c) = form[0]
    return value == NONE and (u == NONE or (weight == NONE and c in (1, -1)))


def group_cost(form: TermForm) -> int:
    """The cycles of a group when the accumulator holds something else."""
    return 1 if is_simple(form) else 1 + len(form)


def operands(group: Group) -> Iterator[int]:
    """The values that a group reads; one that it reads twice is there twice."""
    if group.base != ONE:
        yield group.base
    for (_, _, value), _ in group.form:
        if value != NONE:
            yield value


def pruned(graph: Graph) -> Graph:
    """The graph without the values that no output and no state needs."""
    needed = bytearray(len(graph.values))
    for root in graph.roots:
        needed[root] = 1
    for number in range(len(graph.values) - 1, -1, -1):
        if needed[number]:
            for group in graph.values[number].groups:
                for operand in operands(group):
                    needed[operand] = 1
    renamed: dict[int, int] = {ONE: ONE}
    kept: list[Value] = []
    for number, value in enumerate(graph.values):
        if needed[number]:
            groups = tuple(
                Group(tuple(((k, u, renamed[v]), c) for (k, u, v), c in form), renamed[base])
                for form, base in value.groups
            )
            renamed[number] = len(kept)
            kept.append(value._replace(groups=groups))
    outputs = {name: renamed[number] for name, number in graph.outputs.items()}
    states = tuple(Step(renamed[step.old], renamed[step.next]) for step in graph.states)
    return replace(graph, values=kept, outputs=outputs, states=states)
