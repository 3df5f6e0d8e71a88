"""Formulas with shared parts: the functions of ``skinny bench lengths`` that are written with ``let``."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations, pairwise

__all__ = [
    "adder",
    "constituents",
    "horner",
    "layers",
    "network",
    "power_of_form",
    "shared_determinant",
    "sum_product",
]

#: A layer: for each of its values the weights of the values before it, and a constant.
Layer = list[list[int]]


def horner(count: int) -> str:
    """``b0 + a0*(b1 + a1*(… b<count>))``."""
    return "".join(f"b{n} + a{n}*(" for n in range(count)) + f"b{count}" + ")" * count


def adder(bits: int) -> str:
    """The sum of two numbers, the lowest bit first, and the carry, over GF(2): a sum is an exclusive or."""
    out = ["let p0 = a0 + b0", "s0 = p0", "let c1 = a0*b0"]
    for n in range(1, bits):
        out += [f"let p{n} = a{n} + b{n}", f"s{n} = p{n} + c{n}", f"let c{n + 1} = a{n}*b{n} + p{n}*c{n}"]
    return "\n".join([*out, f"carry = c{bits}"])


def shared_determinant(size: int) -> str:
    """The determinant of a square matrix of variables: minors of the last rows, each computed once."""
    out = []
    minors: dict[tuple[int, ...], str] = {(column,): f"a{size - 1}{column}" for column in range(size)}
    for count in range(2, size + 1):
        row = size - count
        found = {}
        for columns in combinations(range(size), count):
            terms = [
                f"{'-' if place % 2 else '+'} a{row}{column}*{minors[columns[:place] + columns[place + 1 :]]}"
                for place, column in enumerate(columns)
            ]
            found[columns] = "m" + "_".join(map(str, columns)) if count < size else "y"
            out.append(f"{'let ' * (count < size)}{found[columns]} = {' '.join(terms)}")
        minors = found
    return "\n".join(out)


def constituents(depth: int, seed: int = 0) -> str:
    """A binary tree whose nodes take two values ``a`` and ``b`` and give ``w0 + w1·a + w2·b + w3·a·b``."""
    chance = random.Random(seed)
    level = [f"x{n}" for n in range(1 << depth)]
    out: list[str] = []
    while len(level) > 1:
        above = []
        for a, b in zip(level[::2], level[1::2], strict=True):
            w = [chance.randrange(2, 100) for _ in range(4)]
            above.append(f"v{len(out)}" if len(level) > 2 else "y")
            out.append(f"{'let ' * (len(level) > 2)}{above[-1]} = {w[0]} + {w[1]}*{a} + {w[2]}*{b} + {w[3]}*{a}*{b}")
        level = above
    return "\n".join(out)


def sum_product(count: int, seed: int = 0) -> str:
    """A sum-product network over a binary tree of ``count`` variables: two distributions ``p + q·x`` of each, and above
    two sums of the four products of the parts, one at the root."""
    chance = random.Random(seed)
    out = [
        f"let l{n}{k} = {chance.randrange(2, 100)} + {chance.randrange(2, 100)}*x{n}"
        for n in range(count)
        for k in "ab"
    ]
    regions = [(f"l{n}a", f"l{n}b") for n in range(count)]
    while len(regions) > 1:
        above = []
        for left, right in zip(regions[::2], regions[1::2], strict=True):
            names = [f"s{len(out)}a", f"s{len(out)}b"] if len(regions) > 2 else ["y"]
            for name in names:
                terms = " + ".join(f"{chance.randrange(2, 100)}*{a}*{b}" for a in left for b in right)
                out.append(f"{'let ' * (name != 'y')}{name} = {terms}")
            above.append((names[0], names[-1]))
        regions = above
    return "\n".join(out)


def layers(sizes: Sequence[int], seed: int = 0) -> list[Layer]:
    """Random layers of these sizes."""
    chance = random.Random(seed)
    return [
        [[chance.choice((-1, 1)) * chance.randrange(2, 100) for _ in range(before + 1)] for _ in range(after)]
        for before, after in pairwise(sizes)
    ]


def network(weights: Sequence[Layer], activation: str = "({})^2") -> str:
    """A network of inputs ``x0, x1, …`` and outputs ``y0, y1, …``; ``activation`` stands around all but the last
    layer."""
    before = [f"x{n}" for n in range(len(weights[0][0]) - 1)]
    out = []
    for depth, layer in enumerate(weights):
        last = depth + 1 == len(weights)
        names = [f"y{n}" if last else f"h{depth}_{n}" for n in range(len(layer))]
        for name, row in zip(names, layer, strict=True):
            form = " + ".join([f"({w})*{value}" for w, value in zip(row, before, strict=False)] + [f"({row[-1]})"])
            out.append(f"{name} = {form}" if last else f"let {name} = {activation.format(form)}")
        before = names
    return "\n".join(out)


def power_of_form(terms: int, exponent: int) -> str:
    """A power of a linear form with a constant."""
    return "(" + " + ".join(f"{n + 2}*x{n}" for n in range(terms)) + f" + 7)^{exponent}"
