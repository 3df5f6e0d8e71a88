"""Code: the instructions of one output on their way through the compiler.

There is one form of code. Emission and the passes that write instructions themselves (chain, univariate, ladder) make
a :class:`Code`; the passes that follow take one and give another; lowering puts the code of all outputs into a program.
Code never changes, so the compiler can keep what each pass was given. The instructions are numpy columns, seven bytes
each: 10^7 of them fit. Loops over single instructions take them as plain tuples from :meth:`Code.rows`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from skinny.model.errors import CheckError
from skinny.model.limits import check
from skinny.model.program.forms import Form, Input, Linear, Weight, accumulator_cost, attention_steps
from skinny.model.program.program import Columns

from .polynomial import Coefficient, Fused

__all__ = ["Affine", "Code", "FormTable", "Instruction", "Row", "Scalar", "Scalars", "affine_scalar", "form_size"]

#: Instructions that are made to tuples at once, between two looks at the limits.
CHUNK = 1 << 14

#: An instruction of a code as ``(dst, src, sign, number of the scalar)``.
Row = tuple[int, int, int, int]


class Affine(NamedTuple):
    """``Σ c·x_u + bias`` with ``terms`` sorted by input."""

    terms: tuple[tuple[int, Coefficient], ...]
    bias: Coefficient = 0

    def minus(self, other: Affine) -> Affine:
        difference = dict(self.terms)
        for u, c in other.terms:
            difference[u] = difference.get(u, 0) - c
        return Affine(tuple(sorted((u, c) for u, c in difference.items() if c)), self.bias - other.bias)

    def scaled(self, scale: Coefficient) -> Affine:
        return Affine(tuple((u, c * scale) for u, c in self.terms), self.bias * scale)


#: The scalar of an instruction: an affine form with a positive leading coefficient.
Scalar = Affine
NOTHING = Affine(())
ONE = Affine((), 1)


class Instruction(NamedTuple):
    """One instruction ``R_dst += sign·scalar·R_src``, on registers or, inside a block, on roles."""

    dst: int
    src: int
    sign: int
    scalar: Scalar


def form_size(form: Affine) -> int:
    """The number of accumulator steps that build the form from nothing."""
    return len(form.terms) + (form.bias != 0)


def is_simple(form: Affine) -> bool:
    """Whether an instruction can use the form as it is: one input or one constant."""
    if form_size(form) != 1 or not form.terms:
        return form_size(form) == 1
    ((atom, coefficient),) = form.terms
    return abs(coefficient) == 1 and not isinstance(atom, Fused)


def affine_scalar(form: Affine) -> tuple[int, Scalar]:
    """``(sign, scalar)`` with a positive leading coefficient, so that a form and its negative are one scalar."""
    leading = form.terms[0][1] if form.terms else form.bias
    return (1, form) if leading > 0 else (-1, form.scaled(-1))


class FormTable:
    """The weights that forms use, numbered in order of first use."""

    def __init__(self) -> None:
        self.weights: dict[Fraction, int] = {}

    def form(self, scalar: Scalar) -> Form:
        """The scalar as a form over the weights of this table."""
        if not is_simple(scalar):
            bias = self._weight(scalar.bias) if scalar.bias else None
            return Linear(tuple((self._weight(c), u) for u, c in scalar.terms), bias)
        return Input(scalar.terms[0][0]) if scalar.terms else Weight(self._weight(scalar.bias))

    def _weight(self, value: Coefficient) -> int:
        return self.weights.setdefault(Fraction(value), len(self.weights))


class Scalars:
    """The scalars of a code, numbered in order of first use. Scalars are only ever added, so codes can share a table.

    ``simple[n]`` says whether an instruction can use scalar ``n`` without the accumulator.
    """

    def __init__(self, scalars: Iterable[Scalar] = ()) -> None:
        self._numbers: dict[Scalar, int] = {}
        self._list: list[Scalar] = []
        self._forms: list[Form] = []
        self._table = FormTable()
        self._costs: dict[tuple[int | None, int], int] = {}
        self._built: dict[int, frozenset[tuple[int, Coefficient]]] = {}
        self.simple: list[bool] = []
        for scalar in scalars:
            self.number(scalar)

    def __len__(self) -> int:
        return len(self._list)

    def __iter__(self) -> Iterator[Scalar]:
        return iter(self._list)

    def __getitem__(self, number: int) -> Scalar:
        return self._list[number]

    def number(self, scalar: Scalar) -> int:
        """The number of the scalar, which is added if it is new."""
        found = self._numbers.get(scalar)
        if found is None:
            found = self._numbers[scalar] = len(self._list)
            self._list.append(scalar)
            self.simple.append(is_simple(scalar))
        return found

    @property
    def inputs(self) -> int:
        """One more than the last input that a scalar uses."""
        return 1 + max((scalar.terms[-1][0] for scalar in self._list if scalar.terms), default=-1)

    @property
    def forms(self) -> list[Form]:
        """Each scalar as a form of a program."""
        for scalar in self._list[len(self._forms) :]:
            self._forms.append(self._table.form(scalar))
        return self._forms

    def accumulator_steps(self, held: int | None, wanted: int) -> int:
        """The steps before an instruction can use ``wanted`` when the accumulator holds ``held`` (None: nothing)."""
        if self.simple[wanted] or held == wanted:
            return 0
        key = held, wanted
        found = self._costs.get(key)
        if found is None:
            before = frozenset() if held is None else self._steps(held)
            found = self._costs[key] = accumulator_cost(before, self._steps(wanted))
        return found

    def _steps(self, number: int) -> frozenset[tuple[int, Coefficient]]:
        """The accumulator steps that build a form: an input and its coefficient, or -1 and the bias."""
        found = self._built.get(number)
        if found is None:
            terms, bias = self._list[number]
            found = self._built[number] = frozenset((*terms, (-1, bias)) if bias else terms)
        return found


@dataclass(frozen=True, eq=False)
class Code:
    """Instructions that run from ``start``; what they compute is read from register ``output``.

    The column ``columns.form`` holds numbers of ``scalars``.
    """

    columns: Columns
    scalars: Scalars
    start: tuple[int, ...]
    output: int = 0

    @classmethod
    def of(cls, instructions: Iterable[Instruction], start: tuple[int, ...], output: int = 0) -> Code:
        """The instructions with a table of scalars of their own."""
        scalars = Scalars()
        rows = [(dst, src, sign, scalars.number(scalar)) for dst, src, sign, scalar in instructions]
        return cls(_columns(rows), scalars, start, output)

    @property
    def width(self) -> int:
        return len(self.start)

    def __len__(self) -> int:
        return len(self.columns)

    @cached_property
    def cycles(self) -> int:
        """The instructions, and the accumulator steps that build their forms."""
        if all(self.scalars.simple):
            return len(self)
        return len(self) + attention_steps(self.scalars.forms, self.columns.form)

    def rows(self) -> Iterator[Row]:
        """The instructions one by one, with a look at the limits now and then."""
        for first in range(0, len(self), CHUNK):
            check()
            yield from zip(
                *(column[first : first + CHUNK].tolist() for column in self.columns.arrays()[:4]), strict=True
            )

    def instructions(self) -> list[Instruction]:
        """The instructions with their scalars written out."""
        return [Instruction(dst, src, sign, self.scalars[number]) for dst, src, sign, number in self.rows()]

    def with_rows(self, rows: list[Row]) -> Code:
        """Other instructions over the same scalars."""
        return replace(self, columns=_columns(rows))

    def part(self, chosen: Any) -> Code:
        """The instructions that a slice, a mask or an index array chooses."""
        return replace(self, columns=self.columns.part(chosen))

    def transposed(self) -> Code:
        """The instructions reversed, with ``dst`` and ``src`` exchanged. Run from the unit vector of the output, its
        registers hold how the output depends on each register."""
        back = self.columns.part(slice(None, None, -1))
        start = tuple(int(register == self.output) for register in range(self.width))
        return replace(self, columns=replace(back, dst=back.src, src=back.dst), start=start)

    def after(self, instructions: list[Instruction]) -> Code:
        """The code with ``instructions`` before it."""
        if not instructions:
            return self
        rows = [(dst, src, sign, self.scalars.number(scalar)) for dst, src, sign, scalar in instructions]
        return replace(self, columns=joined([_columns(rows), self.columns]))

    def verify(self, where: str) -> None:
        """Raise :exc:`CheckError`, which names ``where``, when an instruction means nothing."""
        columns, width = self.columns, self.width
        for what, bad in (
            (f"a register is out of range (width {width})", (columns.dst >= width) | (columns.src >= width)),
            ("source and target are one register", columns.dst == columns.src),
            ("the sign is neither +1 nor -1", np.abs(columns.sign) != 1),
            ("the scalar is not in the table", (columns.form < 0) | (columns.form >= len(self.scalars))),
        ):
            if bad.any():
                raise CheckError(f"internal error {where}: instruction {int(np.argmax(bad))}: {what}")
        if not 0 <= self.output < width:
            raise CheckError(f"internal error {where}: the output register {self.output} is out of range")


def _columns(rows: list[Row]) -> Columns:
    return Columns.of(*zip(*rows, strict=True)) if rows else Columns.empty()


def joined(pieces: list[Columns]) -> Columns:
    """Columns one after the other."""
    if len(pieces) == 1:
        return pieces[0]
    if not pieces:
        return Columns.empty()
    return Columns(*(np.concatenate(column) for column in zip(*(piece.arrays() for piece in pieces), strict=True)))
