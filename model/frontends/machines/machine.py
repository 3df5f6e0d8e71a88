"""Machines of finite depth: ``x = f(x) + x0``, after Vertechi and Bergomi.

A machine ``f`` is a map of ``n`` nodes to themselves, here ``f(x) = Σ W·σ(x)``, a matrix of weights for each
nonlinearity ``σ``, which is taken of each node alone. Node ``i`` *reads* node ``j`` where the weight ``W[i][j]`` is not
zero. No node may read itself, not even through others: then ``x = f(x) + x0`` has exactly one solution for every
``x0``, the *resolvent* ``R_f(x0)``, which is found in :attr:`Machine.depth` steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from skinny.model.compiler.pipeline import compile_formula
from skinny.model.errors import InputError
from skinny.model.formula.formula import Formula, constant, total
from skinny.model.program.program import MOST_WIDTH, Program
from skinny.model.rings import Number, exact_number

from ..written import Writable, Written
from .nonlinearity import Nonlinearity, applied, expect_nonlinearity, value_and_slope
from .resolvent import resolvent_program

__all__ = ["Machine", "Weights"]

#: A matrix, rows are the nodes that read; or the weights that are not zero, by ``(reader, read)``.
Weights = Mapping[tuple[int, int], Number] | Sequence[Sequence[Number]] | np.typing.NDArray[Any]


class Machine(Writable):
    """A machine ``f(x) = W·σ(x)`` of ``n`` nodes. ``weights`` is the matrix ``W``, as ``n`` rows of ``n`` numbers or as
    a dict of those that are not zero by ``(i, j)``: node ``i`` reads node ``j``. ``nonlinearity`` is None, ``"relu"``,
    ``"square"`` or a Python function that takes a formula and gives one.

    Machines of as many nodes can be added. ``parts`` are the weights by nonlinearity; ``order`` are the nodes in an
    order in which each stands behind those that it reads.
    """

    def __init__(self, n: int, weights: Weights, nonlinearity: Nonlinearity = None) -> None:
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise InputError(f"a machine must have 1 node or more, not {n!r}")
        expect_nonlinearity(nonlinearity)
        self._set(n, {nonlinearity: _entries(n, weights)})

    def _set(self, n: int, parts: Mapping[Nonlinearity, Mapping[tuple[int, int], Fraction]]) -> None:
        self.n = n
        self.parts = {s: {at: w for at, w in entries.items() if w} for s, entries in parts.items()}
        self.parts = {s: entries for s, entries in self.parts.items() if entries}
        self.order, self._levels = _ordered(n, [at for entries in self.parts.values() for at in entries])

    @classmethod
    def _of(cls, n: int, parts: Mapping[Nonlinearity, Mapping[tuple[int, int], Fraction]]) -> Machine:
        out = cls.__new__(cls)
        out._set(n, parts)
        return out

    def __repr__(self) -> str:
        return f"<Machine of {self.n:,} nodes, {self.count:,} weights, depth {self.depth:,}>"

    def __eq__(self, other: object) -> bool:
        return (self.n, self.parts) == (other.n, other.parts) if isinstance(other, Machine) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Machine) -> Machine:
        """The machine ``f1 + f2``, which is refused when its nodes read each other in a circle."""
        self._expect_same_nodes(other, "add")
        parts: dict[Nonlinearity, dict[tuple[int, int], Fraction]] = {s: {**w} for s, w in self.parts.items()}
        for nonlinearity, entries in other.parts.items():
            mine = parts.setdefault(nonlinearity, {})
            for at, weight in entries.items():
                mine[at] = mine.get(at, Fraction(0)) + weight
        return Machine._of(self.n, parts)

    @property
    def linear(self) -> bool:
        """Whether the machine is a matrix."""
        return all(nonlinearity is None for nonlinearity in self.parts)

    @property
    def count(self) -> int:
        """The number of weights that are not zero."""
        return sum(len(entries) for entries in self.parts.values())

    @property
    def depth(self) -> int:
        """The number of steps in which the resolvent is found, when each step computes all nodes that it can: the
        longest chain of nodes that read each other."""
        return max(self._levels)

    def levels(self) -> list[list[int]]:
        """The nodes by the step in which they are known: first those that read none."""
        out: list[list[int]] = [[] for _ in range(self.depth + 1)]
        for node, level in enumerate(self._levels):
            out[level].append(node)
        return out

    def depends_on(self, other: Machine) -> bool:
        """Whether ``f1(a·f2 + b)`` differs from ``f1(b)`` for some ``a`` and ``b``. Where it does not, the resolvent of
        ``f1 + f2`` is that of ``f1``, then that of ``f2``."""
        self._expect_same_nodes(other, "compare")
        written = {i for entries in other.parts.values() for i, _ in entries}
        if any(s is not None and any(j in written for _, j in entries) for s, entries in self.parts.items()):
            return True
        return any(_product(self.parts.get(None, {}), entries) for entries in other.parts.values())

    def adjoint(self, at: Sequence[Number] | None = None) -> Machine:
        """The transposed machine, which the backward pass solves: gradients by all nodes in, gradients by ``x0`` out. A
        machine with a nonlinearity is transposed ``at`` a solution, the values of all nodes, where its derivative is
        taken; that is a linear machine again."""
        if at is None and not self.linear:
            raise InputError("the adjoint of a machine with a nonlinearity is that of its derivative: give at=solution")
        values = None if at is None else self._values(at, "at")
        out: dict[tuple[int, int], Fraction] = {}
        for nonlinearity, entries in self.parts.items():
            slopes: dict[int, Fraction] = {}
            for (i, j), weight in entries.items():
                if values is not None and j not in slopes:
                    slopes[j] = value_and_slope(nonlinearity, values[j])[1]
                out[j, i] = out.get((j, i), Fraction(0)) + weight * slopes.get(j, Fraction(1))
        return Machine._of(self.n, {None: out})

    def matrix(self) -> list[list[Fraction]]:
        """The matrix of a linear machine, in rows."""
        self._expect_linear("a matrix")
        entries = self.parts.get(None, {})
        return [[entries.get((i, j), Fraction(0)) for j in range(self.n)] for i in range(self.n)]

    def solve(self, x0: Sequence[Number]) -> list[Fraction]:
        """The exact solution of ``x = f(x) + x0``, a node after the other."""
        x = self._values(x0, "x0")
        readers: dict[int, list[tuple[Nonlinearity, int, Fraction]]] = {}
        for nonlinearity, entries in self.parts.items():
            for (i, j), weight in entries.items():
                readers.setdefault(j, []).append((nonlinearity, i, weight))
        for node in self.order:
            read: dict[Nonlinearity, Fraction] = {None: x[node]}
            for nonlinearity, i, weight in readers.get(node, ()):
                if nonlinearity not in read:
                    read[nonlinearity] = value_and_slope(nonlinearity, x[node])[0]
                x[i] += weight * read[nonlinearity]
        return x

    def formulas(self, inputs: Iterable[int] | None = None, outputs: Iterable[int] | None = None) -> dict[str, Formula]:
        """The formulas of the resolvent, for :func:`skinny.compile`: node ``i`` starts from the input ``x<i>``, if it
        is one of ``inputs``, else from zero, and ends in the output ``y<i>``, if it is one of ``outputs``. All nodes
        are both unless they are named."""
        known = [constant(0)] * self.n
        for node in self._nodes(inputs, "inputs"):
            known[node] = Formula("variable", value=f"x{node}")
        terms: list[list[Formula]] = [[] if start.kind == "constant" else [start] for start in known]
        reads: dict[int, list[tuple[Nonlinearity, int, Fraction]]] = {}
        for nonlinearity, entries in self.parts.items():
            for (i, j), weight in sorted(entries.items()):
                reads.setdefault(i, []).append((nonlinearity, j, weight))
        values: dict[tuple[Nonlinearity, int], Formula] = {}
        for node in self.order:
            for nonlinearity, j, weight in reads.get(node, ()):
                if known[j].kind == "constant" and nonlinearity is None:
                    continue
                value = values.get((nonlinearity, j))
                if value is None:
                    value = values[nonlinearity, j] = applied(nonlinearity, known[j])
                terms[node].append(weight * value)
            known[node] = terms[node][0] if len(terms[node]) == 1 else total(terms[node])
        return {f"y{node}": known[node] for node in self._nodes(outputs, "outputs")}

    def resolvent(self, inputs: Iterable[int] | None = None, outputs: Iterable[int] | None = None) -> Program:
        """The program that solves ``x = f(x) + x0``, with ``inputs`` and ``outputs`` as for :meth:`formulas`.

        A machine *is* a program: each node has a register, ``R0``, ``R2``, ``R3`` and so on, each input and each weight
        one instruction, which is the resolvent of that weight alone. Without nonlinearity the program only adds, so
        that it is transposed and undone. With one that is a Python function the formulas are compiled."""
        chosen = self._nodes(inputs, "inputs"), self._nodes(outputs, "outputs")
        if any(callable(nonlinearity) for nonlinearity in self.parts):
            return compile_formula(
                self.formulas(*chosen), width=MOST_WIDTH, keep=frozenset(), inputs=[f"x{node}" for node in chosen[0]]
            ).program
        return resolvent_program(self.n, self.parts, self.order, *chosen)

    def written(self) -> Written:
        return Written({}, repr(self).strip("<>"), program=self.resolvent())

    def _nodes(self, given: Iterable[int] | None, what: str) -> list[int]:
        if given is None:
            return list(range(self.n))
        nodes = list(given)
        for node in nodes:
            if isinstance(node, bool) or not isinstance(node, int | np.integer) or not 0 <= node < self.n:
                raise InputError(f"{what} must be nodes from 0 to {self.n - 1}, not {node!r}")
        if len(set(nodes)) < len(nodes):
            raise InputError(f"{what} name a node twice")
        if not nodes:
            raise InputError(f"{what} must name a node")
        return [int(node) for node in nodes]

    def _values(self, given: Sequence[Number], what: str) -> list[Fraction]:
        values = [exact_number(value) for value in given]
        if len(values) != self.n:
            raise InputError(f"{what} must have {self.n} numbers, one for each node, not {len(values)}")
        return values

    def _expect_same_nodes(self, other: Machine, verb: str) -> None:
        if not isinstance(other, Machine) or other.n != self.n:
            said = f"{other.n} nodes" if isinstance(other, Machine) else repr(other)
            raise InputError(
                f"a machine of {self.n} nodes can {verb} with one of {self.n} nodes alone, not with {said}"
            )

    def _expect_linear(self, who: str) -> None:
        if not self.linear:
            raise InputError(f"{who} is of a machine without nonlinearity, but this one has one")


def _entries(n: int, given: Weights) -> dict[tuple[int, int], Fraction]:
    """The weights by reader and read."""
    if isinstance(given, Mapping):
        out: dict[tuple[int, int], Fraction] = {}
        for at, weight in given.items():
            pair = at if isinstance(at, tuple) else ()
            if len(pair) != 2 or not all(isinstance(k, int | np.integer) and 0 <= k < n for k in pair):
                raise InputError(f"weights are given by pairs of nodes from 0 to {n - 1}, (reader, read), not {at!r}")
            out[int(pair[0]), int(pair[1])] = exact_number(weight)
        return out
    rows = given.tolist() if isinstance(given, np.ndarray) else given
    if (
        not isinstance(rows, Sequence)
        or len(rows) != n
        or any(not isinstance(row, Sequence) or len(row) != n for row in rows)
    ):
        raise InputError(f"weights must be {n} rows of {n} numbers, or a dict by (reader, read)")
    return {(i, j): exact_number(weight) for i, row in enumerate(rows) for j, weight in enumerate(row) if weight}


def _product(
    left: Mapping[tuple[int, int], Fraction], right: Mapping[tuple[int, int], Fraction]
) -> dict[tuple[int, int], Fraction]:
    """The entries of the product of two matrices that are not zero."""
    rows: dict[int, list[tuple[int, Fraction]]] = {}
    for (k, j), weight in right.items():
        rows.setdefault(k, []).append((j, weight))
    out: dict[tuple[int, int], Fraction] = {}
    for (i, k), weight in left.items():
        for j, other in rows.get(k, ()):
            out[i, j] = out.get((i, j), Fraction(0)) + weight * other
    return {at: weight for at, weight in out.items() if weight}


def _ordered(n: int, pairs: Iterable[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """The nodes in an order in which each stands behind those that it reads, and the length of the longest chain that
    ends in each. A circle is refused."""
    reads: list[set[int]] = [set() for _ in range(n)]
    readers: list[list[int]] = [[] for _ in range(n)]
    for i, j in pairs:
        if j not in reads[i]:
            reads[i].add(j)
            readers[j].append(i)
    missing = [len(found) for found in reads]
    levels = [0] * n
    reached = [node for node in range(n) if not missing[node]]
    for node in reached:  # which grows
        for reader in readers[node]:
            levels[reader] = max(levels[reader], levels[node] + 1)
            missing[reader] -= 1
            if not missing[reader]:
                reached.append(reader)
    if len(reached) < n:
        raise InputError(f"the nodes of a machine must not read each other in a circle, but {_circle(reads, missing)}")
    return sorted(range(n), key=lambda node: (levels[node], node)), levels


def _circle(reads: Sequence[set[int]], missing: Sequence[int]) -> str:
    """A circle among the nodes that have ``missing`` reads, as text."""
    node = next(n for n, count in enumerate(missing) if count)
    path: list[int] = []
    while node not in path:
        path.append(node)
        node = min(j for j in reads[node] if missing[j])
    circle = [*path[path.index(node) :], node]
    shown = [f"node {n}" for n in circle] if len(circle) <= 8 else [*(f"node {n}" for n in circle[:7]), "…"]
    return " reads ".join(shown)
