"""Evaluation modulo a prime: how programs and pieces of them are compared at random points.

Two different polynomials agree at a random point modulo :data:`PRIME` with a probability of at most ``degree / 2^61``,
so one number tells them apart.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np
from skinny.model.errors import InputError
from skinny.model.limits import check

from .forms import Input, Linear, Weight
from .program import Columns, Mode, Program

__all__ = [
    "PRIME",
    "Number",
    "form_residues",
    "program_forms",
    "random_point",
    "register_terms",
    "residue",
    "run_code",
    "travel",
]

PRIME = (1 << 61) - 1
#: Instructions that are run between two looks at the limits.
CHUNK = 1 << 14

Number = int | Fraction
#: A linear form ``Σ c·x_u + bias`` as ``(((u, c), …), bias)``.
LinearForm = tuple[tuple[tuple[int, Number], ...], Number]
#: Terms ``(factor, register)`` of forms, by the number of the form.
Sums = Mapping[int, Sequence[tuple[int, int]]]


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
    """The forms of a program, written out as linear forms of its inputs; ``weights`` take the place of its own. What
    they read from registers is not in it: :func:`register_terms`."""
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


def register_terms(program: Program, weights: Sequence[Number], point: Sequence[int], prime: int = PRIME) -> Sums:
    """Of each form that reads registers, by its number, the terms ``(factor, register)`` at ``point``."""
    return {
        number: [
            (point[factor.u] if isinstance(factor, Input) else residue(weights[factor.k], prime), register)
            for factor, register in program.forms[number].sums  # type: ignore[union-attr]
        ]
        for number in program.summing
    }


def run_code(
    code: Columns,
    scalars: Sequence[int],
    sums: Sums,
    registers: list[int],
    prime: int = PRIME,
    relu: Callable[[int], int] | None = None,
) -> None:
    """Run instructions on ``registers``, assigns and sums of registers included. A relu is no polynomial; what stands
    for it is ``relu``, and without that it is refused."""
    positive = np.flatnonzero(code.mode == Mode.RELU)
    if relu is None and len(positive):
        raise InputError(f"instruction {positive[0]} takes the relu, which cannot be evaluated modulo a prime")
    for first in range(0, len(code), CHUNK):
        check()
        columns = (column[first : first + CHUNK].tolist() for column in code.arrays())
        for dst, src, sign, number, mode in zip(*columns, strict=True):
            source = registers[src]
            if mode == Mode.ADD and not source:
                continue
            scalar = scalars[number]
            for factor, register in sums.get(number, ()):
                scalar += factor * registers[register]
            before = registers[dst] if mode == Mode.ADD else 0
            value = (before + sign * scalar * source) % prime
            registers[dst] = relu(value) if mode == Mode.RELU and relu else value
