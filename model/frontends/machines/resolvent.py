"""Resolvent: a machine as a program, a register for each node and an instruction for each weight.

Precondition: weights without a circle, and the nodes in an order in which each stands behind those that it reads; no
nonlinearities but those of :data:`~.nonlinearity.NONLINEARITIES`, which take one and two cycles for a node that is read
through them. Postcondition: a program that runs with registers in memory too, pure if the machine is linear. Nodes that
no input reaches, or that reach no output, are left out. Cost: linear in the weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from skinny.model.errors import InputError
from skinny.model.formula.function import RELU
from skinny.model.program.columns import Columns, Mode
from skinny.model.program.forms import Form, Input, Linear, Weight
from skinny.model.program.program import MOST_WIDTH, SOURCE, Output, Program

from .nonlinearity import Nonlinearity

__all__ = ["register_of", "resolvent_program"]


def register_of(node: int) -> int:
    """The register of a node: register 1 holds the one that inputs are multiplied with."""
    return node + (node >= SOURCE)


def resolvent_program(
    n: int,
    parts: Mapping[Nonlinearity, Mapping[tuple[int, int], Fraction]],
    order: Sequence[int],
    inputs: Sequence[int],
    outputs: Sequence[int],
) -> Program:
    """The program of the resolvent of ``n`` nodes with weights by nonlinearity and by ``(reader, read)``."""
    through = any(nonlinearity is not None for nonlinearity in parts)
    width = max(n + 1 + through, 3)
    if width > MOST_WIDTH:
        raise InputError(
            f"a program has {MOST_WIDTH:,} registers at most, one for each node and {width - n} more: "
            f"{n:,} nodes are too many"
        )
    readers: dict[int, dict[Nonlinearity, list[int]]] = {}
    for nonlinearity, entries in parts.items():
        for i, j in sorted(entries):
            readers.setdefault(j, {}).setdefault(nonlinearity, []).append(i)
    reached = {node: {i for found in readers.get(node, {}).values() for i in found} for node in order}
    alive, wanted = set(inputs), set(outputs)
    for node in order:
        if node in alive:
            alive |= reached[node]
    for node in reversed(order):
        if not wanted.isdisjoint(reached[node]):
            wanted.add(node)
    code = _Code()
    for u, node in enumerate(inputs):
        code.add(register_of(node), SOURCE, Input(u))
    for node in order:
        if node not in alive or node not in wanted:
            continue
        for nonlinearity, found in readers.get(node, {}).items():
            chosen = [i for i in found if i in wanted]
            source = register_of(node)
            if nonlinearity is not None and chosen:
                source = code.through(nonlinearity, width - 1, source)
            for i in chosen:
                code.weigh(register_of(i), source, parts[nonlinearity][i, node])
    for node in outputs:
        if node not in alive:  # it is zero, which registers in memory must be told
            code.weigh(register_of(node), SOURCE, Fraction(0))
    return Program(
        width=width,
        inputs=tuple(f"x{node}" for node in inputs),
        weights=tuple(code.weights),
        forms=tuple(code.forms),
        code=Columns.of(*zip(*code.instructions, strict=True)),
        outputs=tuple(Output(f"y{node}", register_of(node), len(code.instructions)) for node in outputs),
    )


class _Code:
    """Instructions with their weights and forms."""

    def __init__(self) -> None:
        self.weights: dict[Fraction, int] = {}
        self.forms: dict[Form, int] = {}
        self.instructions: list[tuple[int, int, int, int, Mode]] = []

    def add(self, dst: int, src: int, form: Form, sign: int = 1, mode: Mode = Mode.ADD) -> None:
        self.instructions.append((dst, src, sign, self.forms.setdefault(form, len(self.forms)), mode))

    def weight(self, value: Fraction) -> Weight:
        return Weight(self.weights.setdefault(value, len(self.weights)))

    def weigh(self, dst: int, src: int, value: Fraction) -> None:
        self.add(dst, src, self.weight(abs(value)), -1 if value < 0 else 1)

    def through(self, nonlinearity: Nonlinearity, dst: int, src: int) -> int:
        """Put the nonlinearity of a register into register ``dst``."""
        one = self.weight(Fraction(1))
        if nonlinearity == RELU:
            self.add(dst, src, one, mode=Mode.RELU)
        else:
            self.add(dst, src, Linear((), None, ((one, src),)), mode=Mode.ASSIGN)
        return dst
