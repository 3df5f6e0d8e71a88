"""Lower: the code of all outputs to one program.

Precondition: code for each output. Postcondition: one :class:`Program` with its tables in order of first use; outputs
but the last restart. Named weights, which code takes for variables, become weights of the program, a word for each
factor that they are used with. A form of a program has one constant; an instruction whose form has more of them, named
or not, becomes several. Cost: linear.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from skinny.model.named_weight import NamedWeight
from skinny.model.program.forms import Form, Input, Linear, Weight
from skinny.model.program.program import Columns, Output, Program

from .code import Code, Scalar, is_simple, joined
from .polynomial import Coefficient, Table

__all__ = ["Tables", "lower"]


def lower(codes: Mapping[str, Code], table: Table, contract: str, given: frozenset[Fraction]) -> Program:
    """The program of ``codes``, by output. ``given`` are the constants of the formula; all others count as derived."""
    tables = Tables(table)
    columns: list[Columns] = []
    outputs: list[Output] = []
    reached = 0
    for name, code in codes.items():
        numbers = code.columns.form
        used, first = np.unique(numbers, return_index=True)
        forms = np.zeros(len(code.scalars) + 1, dtype=np.int32)
        further: dict[int, list[int]] = {}
        for number in used[np.argsort(first)].tolist():
            forms[number], *rest = tables.numbers(code.scalars[number])
            if rest:
                further[number] = rest
        columns.append(_with_forms(code.columns, forms[numbers], further))
        reached += len(columns[-1])
        outputs.append(Output(name, code.output, reached, len(outputs) + 1 < len(codes)))
    start = next(iter(codes.values())).start
    return Program(
        width=len(start),
        inputs=tuple(table.names[: table.inputs]),
        weights=tuple(tables.values()),
        derived=tables.derived(given),
        forms=tuple(tables.forms),
        code=joined(columns),
        outputs=tuple(outputs),
        contract=contract,
        start=start,
        named=tuple(tables.named()),
    )


def _with_forms(columns: Columns, forms: np.typing.NDArray[np.int32], further: Mapping[int, list[int]]) -> Columns:
    """The instructions with the forms of a program; one whose scalar has ``further`` forms is repeated with these."""
    if not further:
        return Columns(columns.dst, columns.src, columns.sign, forms)
    counts = np.ones(len(columns), dtype=np.int64)
    for number, rest in further.items():
        counts[columns.form == number] += len(rest)
    place = np.repeat(np.arange(len(columns)), counts)
    out = Columns(columns.dst[place], columns.src[place], columns.sign[place], forms[place])
    first = np.cumsum(counts) - counts
    for number, rest in further.items():
        at = first[columns.form == number]
        for offset, form in enumerate(rest, 1):
            out.form[at + offset] = form
    return out


class Tables:
    """The weights and forms of a program, numbered in order of first use. A weight is a constant ``(None, value)``, or
    a named weight times a factor, ``(number of the atom, factor)``."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.fused = {int(atom): pair for pair, atom in table.fused.items()}
        self.weights: dict[tuple[int | None, Fraction], int] = {}
        self.forms: dict[Form, int] = {}

    def numbers(self, scalar: Scalar) -> list[int]:
        """The numbers of the forms whose sum is ``scalar``: one, unless it has several constants."""
        terms: list[tuple[int, int]] = []
        constants = [self.weight(None, scalar.bias)] if scalar.bias else []
        for atom, coefficient in scalar.terms:
            if atom in self.fused:
                weight, u = self.fused[atom]
                terms.append((self.weight(weight, coefficient), u))
            elif self.table.is_weight(atom):
                constants.append(self.weight(atom, coefficient))
            elif is_simple(scalar):
                return [self.number(Input(atom))]
            else:
                terms.append((self.weight(None, coefficient), atom))
        forms: list[Form] = [Weight(k) for k in constants]
        if terms:
            forms[:1] = [Linear(tuple(terms), constants[0] if constants else None)]
        return [self.number(form) for form in forms]

    def number(self, form: Form) -> int:
        return self.forms.setdefault(form, len(self.forms))

    def weight(self, atom: int | None, value: Coefficient) -> int:
        key = None if atom is None else int(atom), Fraction(value)
        return self.weights.setdefault(key, len(self.weights))

    def values(self) -> list[Fraction]:
        """The value of each weight."""
        return [
            factor if atom is None else factor * self.table.weights[atom - self.table.inputs].value
            for atom, factor in self.weights
        ]

    def derived(self, given: frozenset[Fraction]) -> tuple[bool, ...]:
        """For each weight whether it is neither named nor a constant of the formula, which are ``given``."""
        return tuple(atom is None and abs(value) not in given for atom, value in self.weights)

    def named(self) -> list[NamedWeight]:
        """The named weights with the words that come from them; one that the program does not use has none."""
        out = []
        for number, weight in enumerate(self.table.weights, self.table.inputs):
            words = tuple((k, factor) for k, (atom, factor) in enumerate(self.weights) if atom == number)
            out.append(weight._replace(words=words))
        return out
