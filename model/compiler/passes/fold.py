"""Fold: drop what a clean program computes for nothing.

Precondition: a program promised only from its start vector, only for its output register. Postcondition: the same
output. An instruction changes the output by ``s·R_src·a_dst``, where ``a`` is the adjoint (how the output depends on
each register afterwards): it is dropped when its source is identically zero or its target no longer matters. Both are
found by evaluation at a random point mod 2^61 - 1. Repeated until nothing changes. Cost: linear a round.
"""

from __future__ import annotations

import random

from skinny.model.compiler.contracts import Scalar
from skinny.model.limits import checked

from .emit import MINUS

__all__ = ["PRIME", "fold", "scalar_values"]

PRIME = (1 << 61) - 1


def scalar_values(scalars: dict[Scalar, int], inputs: list[int], prime: int = PRIME) -> list[int]:
    """Each scalar at a point mod ``prime``."""
    out = []
    for form in scalars:
        total = form.bias.numerator * pow(form.bias.denominator, -1, prime)
        for u, c in form.terms:
            total += c.numerator * pow(c.denominator, -1, prime) * inputs[u]
        out.append(total % prime)
    return out


def fold(code: list[int], scalars: dict[Scalar, int], inputs: int, start: list[int], output: int) -> list[int]:
    """``code`` as packed instructions on registers, run from ``start``, read at register ``output``."""
    chance = random.Random(len(code))
    values = scalar_values(scalars, [chance.randrange(PRIME) for _ in range(inputs)])
    while True:
        kept = _live(_nonzero(code, values, start), values, len(start), output)
        if len(kept) == len(code):
            return kept
        code = kept


def _nonzero(code: list[int], values: list[int], start: list[int]) -> list[int]:
    registers = list(start)
    out = []
    for instruction in checked(code):
        source = registers[instruction & 15]
        if source:
            change = values[instruction >> 9] * source
            dst = instruction >> 4 & 15
            registers[dst] = (registers[dst] + (-change if instruction & MINUS else change)) % PRIME
            out.append(instruction)
    return out


def _live(code: list[int], values: list[int], width: int, output: int) -> list[int]:
    adjoint = [int(r == output) for r in range(width)]
    out = []
    for instruction in checked(code[::-1]):
        after = adjoint[instruction >> 4 & 15]
        if after:
            change = values[instruction >> 9] * after
            src = instruction & 15
            adjoint[src] = (adjoint[src] + (-change if instruction & MINUS else change)) % PRIME
            out.append(instruction)
    out.reverse()
    return out
