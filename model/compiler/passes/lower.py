"""Lower: packed instructions to a program.

Precondition: for each output its packed instructions on registers, their scalars, and the output register.
Postcondition: one :class:`Program` with its tables in order of first use; outputs but the last restart. Cost: linear.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from skinny.model.compiler.contracts import Affine, Scalar, is_simple
from skinny.model.program.program import Columns, Form, Input, Linear, Output, Program, Weight, attention_steps

from .emit import MINUS

__all__ = ["Piece", "cycles", "lower"]


class Piece(NamedTuple):
    """The code of one output."""

    name: str
    code: list[int]
    scalars: dict[Scalar, int]
    register: int


class _Tables:
    """Weights and forms, numbered in order of first use."""

    def __init__(self) -> None:
        self.weights: dict[Fraction, int] = {}
        self.forms: dict[Form, int] = {}

    def weight(self, value: Fraction) -> int:
        return self.weights.setdefault(value, len(self.weights))

    def form(self, scalar: Affine) -> int:
        made: Form
        if not is_simple(scalar):
            bias = self.weight(Fraction(scalar.bias)) if scalar.bias else None
            made = Linear(tuple((self.weight(Fraction(c)), u) for u, c in scalar.terms), bias)
        elif scalar.terms:
            made = Input(scalar.terms[0][0])
        else:
            made = Weight(self.weight(Fraction(scalar.bias)))
        return self.forms.setdefault(made, len(self.forms))


def cycles(code: list[int], scalars: dict[Scalar, int]) -> int:
    """The cycles of packed instructions: themselves, and what building their forms takes."""
    if all(is_simple(scalar) for scalar in scalars):
        return len(code)
    tables = _Tables()
    numbers = np.array([tables.form(scalar) for scalar in scalars], dtype=np.int32)
    return len(code) + attention_steps(list(tables.forms), numbers[np.array(code, dtype=np.int64) >> 9])


def lower(
    pieces: Sequence[Piece],
    inputs: Sequence[str],
    width: int,
    contract: str,
    start: tuple[int, ...],
    given: frozenset[Fraction],
) -> Program:
    """``given`` are the constants of the formula; all others count as derived."""
    tables = _Tables()
    columns: list[Columns] = []
    outputs: list[Output] = []
    reached = 0
    for piece in pieces:
        packed = np.array(piece.code, dtype=np.int64)
        names = list(piece.scalars)
        numbers = packed >> 9
        used, first = np.unique(numbers, return_index=True)
        table = np.zeros(len(names) + 1, dtype=np.int32)
        for number in used[np.argsort(first)].tolist():
            table[number] = tables.form(names[number])
        sign = np.where(packed & MINUS, -1, 1)
        columns.append(Columns.of(packed >> 4 & 15, packed & 15, sign, table[numbers]))
        reached += len(packed)
        outputs.append(Output(piece.name, piece.register, reached, piece is not pieces[-1]))
    return Program(
        width=width,
        inputs=tuple(inputs),
        weights=tuple(tables.weights),
        derived=tuple(abs(value) not in given for value in tables.weights),
        forms=tuple(tables.forms),
        code=Columns(*(np.concatenate(column) for column in zip(*(c.arrays() for c in columns), strict=True))),
        outputs=tuple(outputs),
        contract=contract,
        start=start,
    )
