"""The value graph of a program: its distinct values, and how each is made of others.

A rounded product is ``s·R + d``, where the rounding ``d`` is a function of its scalar and of the word that it reads. So
the word in a register is a polynomial of the inputs and of such roundings; its exact value, with weights that are not
rounded, is another one of the inputs. Programs compute and uncompute; a register that has come back to an earlier pair
of polynomials holds the earlier value, bit for bit, and is the same node here. What a program takes away again is
therefore not in the graph at all.

Polynomials are compared by their values at a random point modulo a prime. Two that differ are taken for one with a
probability below degree·length² / 2^127.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple, Protocol

from skinny.model.program.modular import residue
from skinny.model.program.program import Program

from .registers import MANY_ZEROS

__all__ = ["ONE", "ZERO", "Graph", "Product", "Sum", "value_graph"]

#: The nodes of the constants one and zero.
ONE, ZERO = 0, 1
_PRIME = (1 << 127) - 1


class Scalar(Protocol):
    """What is known of a scalar: its coefficients by variable (0: the constant) with exact and with rounded weights,
    the sizes of the roundings of its own products by noise, and the number of trailing zeros of its word."""

    @property
    def precise(self) -> Mapping[int, Fraction]: ...

    @property
    def rational(self) -> Mapping[int, Fraction]: ...

    @property
    def noises(self) -> Mapping[int, float]: ...

    @property
    def zeros(self) -> int: ...


class Product(NamedTuple):
    """The scalar ``form`` times the node ``source``, rounded; ``zeros`` trailing bits of the word are zero."""

    source: int
    form: int
    zeros: int


class Sum(NamedTuple):
    """The node ``parent`` plus ``count`` times each product of ``parts``, given as ``(node, count)``."""

    parent: int
    parts: tuple[tuple[int, int], ...]
    zeros: int


class Graph(NamedTuple):
    """Nodes after those that they are made of. ``written`` is the node that each instruction leaves in its register,
    ``read`` the one that it multiplies, ``sent`` the node of each output. ``ways`` has, for a sum that is written out,
    the node, the product and the sign of which an instruction made it."""

    nodes: list[Product | Sum]
    written: list[int]
    read: list[int]
    sent: list[int]
    ways: dict[int, tuple[int, int, int]]


class _Register:
    """A multiset of products, with its word and its exact value at the random point, and its node."""

    __slots__ = ("counts", "node", "number")

    def __init__(self, counts: dict[int, int], number: tuple[int, int], node: int) -> None:
        self.counts, self.number, self.node = counts, number, node


def value_graph(program: Program, scalars: Sequence[Scalar], frac: int, most: int) -> Graph | None:
    """The graph of ``program``, whose forms are ``scalars`` in a format with ``frac`` fraction bits; None when it would
    have more than ``most`` edges. A weight whose denominator the prime divides is a :exc:`ValueError`."""
    chance = random.Random(0)
    point: dict[int, int] = {0: 1}
    noises: dict[int, int] = {}
    forms = []
    for scalar in scalars:
        word = exact = 0
        for variable, c in scalar.precise.items():
            at = point.setdefault(variable, chance.randrange(_PRIME))
            exact += residue(c, _PRIME) * at
            word += residue(scalar.rational[variable], _PRIME) * at
        for noise, size in scalar.noises.items():
            word += residue(Fraction(size), _PRIME) * noises.setdefault(noise, chance.randrange(_PRIME))
        forms.append((word % _PRIME, exact % _PRIME))
    nodes: list[Product | Sum] = [Sum(ONE, (), frac), Sum(ZERO, (), MANY_ZEROS)]
    numbers = [(1, 1), (0, 0)]
    sums = {(0, 0): ZERO, (1, 1): ONE}
    products: dict[tuple[int, int], int] = {}
    edges = 0

    def started() -> list[_Register]:
        out = []
        for value in map(int, program.start):  # fractions belong to state, of which bounds know nothing yet
            counts = {ONE: value} if value else {}
            number = (value % _PRIME, value % _PRIME)
            if number not in sums:
                sums[number] = len(nodes)
                nodes.append(Sum(ZERO, ((ONE, value),), frac))
                numbers.append(number)
            out.append(_Register(counts, number, sums[number]))
        return out

    registers = started()
    written: list[int] = []
    read: list[int] = []
    sent: list[int] = []
    ways: dict[int, tuple[int, int, int]] = {}
    waiting = list(reversed(program.outputs))
    for t, (dst, src, sign, form) in enumerate(
        zip(*(column.tolist() for column in program.code.arrays()[:4]), strict=True)
    ):
        while waiting and waiting[-1].at <= t:
            output = waiting.pop()
            sent.append(registers[output.register].node)
            if output.restart:
                registers = started()
        source, target = registers[src].node, registers[dst]
        read.append(source)
        if source != ZERO:
            product = products.get((form, source))
            if product is None:
                left = scalars[form].zeros + nodes[source].zeros - frac
                product = products[form, source] = len(nodes)
                nodes.append(Product(source, form, min(MANY_ZEROS, left)))
                rounding = chance.randrange(_PRIME) if left < 0 else 0
                word, exact = numbers[source]
                numbers.append(((forms[form][0] * word + rounding) % _PRIME, forms[form][1] * exact % _PRIME))
                edges += 1
            word, exact = numbers[product]
            target.number = (target.number[0] + sign * word) % _PRIME, (target.number[1] + sign * exact) % _PRIME
            before = target.counts.get(product, 0)
            if before + sign:
                target.counts[product] = before + sign
            else:
                del target.counts[product]
            node = sums.get(target.number)
            if node is None:
                # A sum that only grew is its parent and one product more; another one is written out.
                parent, parts = (ZERO, tuple(target.counts.items())) if before else (target.node, ((product, sign),))
                left = min(nodes[parent].zeros, *(max(0, nodes[part].zeros) for part, _ in parts))
                node = sums[target.number] = len(nodes)
                if before:
                    ways[node] = (target.node, product, sign)
                nodes.append(Sum(parent, parts, left))
                numbers.append(target.number)
                edges += 1 + len(parts)
                if edges > most:
                    return None
            elif node == ZERO:
                target.counts.clear()
            target.node = node
        written.append(target.node)
    while waiting:
        output = waiting.pop()
        sent.append(registers[output.register].node)
        if output.restart:
            registers = started()
    return Graph(nodes, written, read, sent, ways)
