"""Lower: the instructions of a graph to a program.

Precondition: a listing. Postcondition: a :class:`Program` on as many registers as it uses, with its tables in order of
first use. Cost: linear.
"""

from __future__ import annotations

from fractions import Fraction

from skinny.model.compiler.lower import Tables
from skinny.model.compiler.polynomial import Table
from skinny.model.program.forms import Form, Input, Linear, Weight
from skinny.model.program.program import Columns, Mode, Output, Program

from .generate import Listing
from .values import NONE, Graph, TermForm, is_simple

__all__ = ["lower_listing"]

MODES = {"add": Mode.ADD, "assign": Mode.ASSIGN, "relu": Mode.RELU}


def lower_listing(listing: Listing, graph: Graph, given: frozenset[Fraction]) -> Program:
    """The program of a listing. ``given`` are the constants of the formula; all others count as derived."""
    tables = Tables(Table(graph.inputs, weights=graph.weights))
    known: dict[TermForm, int] = {}
    numbers = []
    for instruction in listing.code:
        number = known.get(instruction.form)
        if number is None:
            number = known[instruction.form] = tables.number(_form(instruction.form, tables))
        numbers.append(number)
    code = listing.code
    columns = Columns.of(
        [instruction.dst for instruction in code],
        [instruction.src for instruction in code],
        [instruction.sign for instruction in code],
        numbers,
        [MODES[instruction.mode] for instruction in code],
    )
    return Program(
        width=listing.width,
        inputs=tuple(graph.inputs),
        weights=tuple(tables.values()),
        derived=tables.derived(given),
        forms=tuple(tables.forms),
        code=columns,
        outputs=tuple(Output(*output) for output in listing.outputs),
        named=tuple(tables.named()),
    )


def _form(form: TermForm, tables: Tables) -> Form:
    """A form of registers, inputs and numbers as a form of a program."""

    def weight(named: int, value: Fraction | int) -> int:
        return tables.weight(None if named == NONE else tables.table.inputs + named, value)

    if is_simple(form):
        (((named, u, _), c),) = form
        return Weight(weight(named, c)) if u == NONE else Input(u)
    terms: list[tuple[int, int]] = []
    sums: list[tuple[Input | Weight, int]] = []
    bias: int | None = None
    for (named, u, register), c in form:
        if register != NONE:
            sums.append((Weight(weight(named, c)), register))
        elif u != NONE:
            terms.append((weight(named, c), u))
        else:
            bias = weight(named, c)
    return Linear(tuple(terms), bias, tuple(sums))
