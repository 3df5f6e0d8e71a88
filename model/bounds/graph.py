"""The value graph of a program: its distinct values, and how each is made of others.

A rounded product is a function of its scalar and of the word that it reads, so that a register is a multiset of
products. Programs compute and uncompute; a register that has come back to an earlier multiset holds the earlier value,
bit for bit, and is the same node here. What a program takes away again is therefore not in the graph at all.

Values are compared by sums of random 128-bit numbers. Such a sum takes one value for another with a probability below
length² / 2^128.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from skinny.model.program.program import Program

from .registers import MANY_ZEROS

__all__ = ["ONE", "ZERO", "Graph", "Product", "Sum", "value_graph"]

#: The nodes of the constants one and zero.
ONE, ZERO = 0, 1


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
    ``read`` the one that it multiplies, ``sent`` the node of each output."""

    nodes: list[Product | Sum]
    written: list[int]
    read: list[int]
    sent: list[int]


class _Register:
    """A multiset of products, with the sum of their numbers and its node."""

    __slots__ = ("counts", "node", "number")

    def __init__(self, counts: dict[int, int], number: int, node: int) -> None:
        self.counts, self.number, self.node = counts, number, node


def value_graph(program: Program, zeros: Sequence[int], frac: int, most: int) -> Graph | None:
    """The graph of ``program`` in a format with ``frac`` fraction bits, where the word of form ``f`` is certain to have
    ``zeros[f]`` trailing zeros. None when it would have more than ``most`` edges."""
    chance = random.Random(0)
    nodes: list[Product | Sum] = [Sum(ONE, (), frac), Sum(ZERO, (), MANY_ZEROS)]
    numbers = [chance.getrandbits(128), 0]
    sums = {0: ZERO, numbers[ONE]: ONE}
    products: dict[tuple[int, int], int] = {}
    edges = 0

    def started() -> list[_Register]:
        out = []
        for value in program.start:
            counts = {ONE: value} if value else {}
            number = value * numbers[ONE]
            if number not in sums:
                sums[number] = len(nodes)
                nodes.append(Sum(ZERO, ((ONE, value),), frac))
                numbers.append(0)
            out.append(_Register(counts, number, sums[number]))
        return out

    registers = started()
    written: list[int] = []
    read: list[int] = []
    sent: list[int] = []
    waiting = list(reversed(program.outputs))
    for t, (dst, src, sign, form) in enumerate(
        zip(*(column.tolist() for column in program.code.arrays()), strict=True)
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
                left = zeros[form] + nodes[source].zeros - frac
                product = products[form, source] = len(nodes)
                nodes.append(Product(source, form, min(MANY_ZEROS, left)))
                numbers.append(chance.getrandbits(128))
                edges += 1
            target.number += sign * numbers[product]
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
                nodes.append(Sum(parent, parts, left))
                numbers.append(0)
                edges += 1 + len(parts)
                if edges > most:
                    return None
            target.node = node
        written.append(target.node)
    while waiting:
        output = waiting.pop()
        sent.append(registers[output.register].node)
        if output.restart:
            registers = started()
    return Graph(nodes, written, read, sent)
