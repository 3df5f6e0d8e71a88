"""Evaluation modulo a prime: how programs and pieces of them are compared at random points.

Two different polynomials agree at a random point modulo :data:`PRIME` with a probability of at most ``degree / 2^61``,
so one number tells them apart.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from .forms import Input, Linear, Weight
from .program import Program

__all__ = ["PRIME", "Number", "form_residues", "program_forms", "random_point", "residue", "travel"]

PRIME = (1 << 61) - 1

Number = int | Fraction
#: A linear form ``Σ c·x_u + bias`` as ``(((u, c), …), bias)``.
LinearForm = tuple[tuple[tuple[int, Number], ...], Number]


def residue(value: Number, prime: int = PRIME) -> int:
    """``value`` modulo ``prime``, which must not divide its denominator."""
    if value.denominator == 1:
        return value.numerator % prime
    return value.numerator * pow(value.denominator, -1, prime) % prime


def random_point(chance: random.Random, inputs: int, prime: int = PRIME) -> list[int]:
    """A random value of each input."""
    return [chance.randrange(prime) for _ in range(inputs)]


def form_residues(forms: Iterable[LinearForm], point: Sequence[int], prime: int = PRIME) -> list[int]:
    """The value of each linear form at ``point``."""
    out = []
    for terms, bias in forms:
        total = residue(bias, prime)
        for u, c in terms:
            total += residue(c, prime) * point[u]
        out.append(total % prime)
    return out


def program_forms(program: Program, weights: Sequence[Number] | None = None) -> Iterator[LinearForm]:
    """The forms of a program, written out as linear forms of its inputs; ``weights`` take the place of its own."""
    weights = program.weights if weights is None else weights
    for form in program.forms:
        match form:
            case Input(u):
                yield ((u, 1),), 0
            case Weight(k):
                yield (), weights[k]
            case Linear(terms, bias):
                yield tuple((u, weights[k]) for k, u in terms), 0 if bias is None else weights[bias]


def travel(
    rows: Iterable[tuple[int, int, int, int]], scalars: Sequence[int], registers: list[int], prime: int = PRIME
) -> Iterator[int]:
    """Run instructions ``(dst, src, sign, number of the scalar)`` on ``registers``, which change as the iteration goes
    on. Before each instruction is done, the value of its source register is given."""
    for dst, src, sign, number in rows:
        source = registers[src]
        yield source
        if source:
            registers[dst] = (registers[dst] + sign * scalars[number] * source) % prime
