"""A learned program in the units of the data, and the skinny program that computes it.

The program holds each unit in a register of its own: ``R = f·1`` and ``R = f·R`` make a square, with another form in
the second assign a product, and one assign with relu a relu. An output is one form of inputs, registers and a
constant, applied to one and sent. Of the family *separate*, whose units belong to one output each, only one unit is
held at a time: three registers do.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from skinny.model.program.columns import Columns, Mode
from skinny.model.program.forms import Form, Input, Linear, Weight
from skinny.model.program.program import Output, Program

from .network import FAMILIES, Array, Models

__all__ = ["Sparse", "build", "sparse"]

OUT, ONE, FIRST = 0, 1, 2


class Sparse(NamedTuple):
    """One program as arrays of floats. ``factors`` has the shape ``(units, forms of a unit, inputs + 1)``, ``outputs``
    ``(outputs, inputs + 1)``, with the constant last, ``reads`` ``(outputs, units)``. What is zero is not there."""

    family: str
    factors: Array
    outputs: Array
    reads: Array

    def values(self, rows: Array) -> Array:
        """The outputs of ``rows``, of shape ``(rows, outputs)``."""
        factors = rows @ self.factors[..., :-1].reshape(-1, rows.shape[1]).T
        shaped = factors.reshape(len(rows), *self.factors.shape[:2]) + self.factors[..., -1]
        if not self.factors.size:
            units = np.zeros((len(rows), 0))
        elif self.family == "relu":
            units = np.maximum(shaped[..., 0], 0)
        else:
            units = shaped[..., 0] * shaped[..., -1]
        return np.asarray(rows @ self.outputs[:, :-1].T + self.outputs[:, -1] + units @ self.reads.T)

    @property
    def width(self) -> int:
        """The registers that the program needs."""
        units = len(self.factors)
        return max(3, FIRST + (min(units, 1) if self.family == "separate" else units))


def sparse(models: Models, number: int, center: Array, span: Array, task: str) -> Sparse:
    """Model ``number``, trained on ``(x − center) / span``, for ``x``. With argmax a constant that all outputs have
    means nothing, so that the first of them has none."""
    shape = models.shape
    forms = (models.forms[number] * models.kept[number]).astype(np.float64)
    forms[:, :-1] /= span
    forms[:, -1] -= forms[:, :-1] @ center
    reads = (models.reads[number] * models.read[number]).astype(np.float64)
    alive = np.flatnonzero(reads.any(axis=0))
    factors = forms[: shape.factors].reshape(shape.units, FAMILIES[shape.family], shape.inputs + 1)
    outputs = forms[shape.factors :]
    if task == "classes":
        outputs[:, -1] -= outputs[0, -1]
    return Sparse(shape.family, factors[alive], outputs, reads[:, alive])


class _Writer:
    """Instructions on their way to a program."""

    def __init__(self) -> None:
        self.weights: dict[Fraction, int] = {}
        self.forms: dict[Form, int] = {}
        self.code: list[tuple[int, int, int, int, int]] = []
        self.outputs: list[Output] = []

    def weight(self, value: Fraction) -> int:
        return self.weights.setdefault(value, len(self.weights))

    def form(self, row: Sequence[Fraction], registers: dict[int, Fraction]) -> Form:
        """The form with a weight for each input, then the constant, and weights of registers."""
        terms = tuple((self.weight(value), u) for u, value in enumerate(row[:-1]) if value)
        sums: tuple[tuple[Input | Weight, int], ...] = tuple(
            (Weight(self.weight(value)), register) for register, value in registers.items() if value
        )
        if not terms and not sums:
            return Weight(self.weight(row[-1]))
        return Linear(terms, self.weight(row[-1]) if row[-1] else None, sums)

    def write(self, dst: int, src: int, form: Form, mode: Mode, sign: int = 1) -> None:
        self.code.append((dst, src, sign, self.forms.setdefault(form, len(self.forms)), mode))

    def unit(self, register: int, rows: Sequence[Sequence[Fraction]], family: str) -> None:
        """Make ``register`` hold a unit, the product of its first and its last form, or its form where that is above
        zero."""
        if family == "relu":
            self.write(register, ONE, self.form(rows[0], {}), Mode.RELU)
            return
        self.write(register, ONE, self.form(rows[0], {}), Mode.ASSIGN)
        self.write(register, register, self.form(rows[-1], {}), Mode.ASSIGN)


def build(
    exact: Sparse, inputs: Sequence[str], outputs: Sequence[tuple[str, int]], argmax: str, title: str = ""
) -> Program:
    """The program of ``exact``, whose arrays hold :class:`Fraction`; ``outputs`` are names and scales."""
    writer = _Writer()
    shared = exact.family != "separate"
    if shared:
        for number, rows in enumerate(exact.factors):
            writer.unit(FIRST + number, rows.tolist(), exact.family)
    for (name, scale), row, reads in zip(outputs, exact.outputs.tolist(), exact.reads.tolist(), strict=True):
        registers = {FIRST + number: value for number, value in enumerate(reads)} if shared else {}
        writer.write(OUT, ONE, writer.form(row, registers), Mode.ASSIGN)
        if not shared:
            for unit, value in enumerate(reads):
                if value:
                    first = exact.factors[unit, 0].tolist()
                    writer.write(FIRST, ONE, writer.form(first, {}), Mode.ASSIGN)
                    writer.write(OUT, FIRST, writer.form(first, {}), Mode.ADD, 1 if value > 0 else -1)
        writer.outputs.append(Output(name, OUT, len(writer.code), scale=scale))
    return Program(
        width=exact.width,
        inputs=tuple(inputs),
        weights=tuple(writer.weights),
        forms=tuple(writer.forms),
        code=Columns.of(*zip(*writer.code, strict=True)),
        outputs=tuple(writer.outputs),
        title=title,
        argmax=argmax,
    )
