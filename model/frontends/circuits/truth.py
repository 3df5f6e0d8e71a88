"""Truth tables: functions of bits as whole numbers. Bit ``i`` of a table is the value for the inputs that are the bits
of ``i``, the first input the lowest.

The algebraic normal form of a table is a whole number too: bit ``m`` says whether the product of the inputs that are
the bits of ``m`` is one of the terms, whose sum over GF(2) is the function.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from .blif import Table

__all__ = [
    "cofactors",
    "composed",
    "depends",
    "monomials",
    "normal_form",
    "ones",
    "table_of",
    "variable",
    "without_idle",
]


def ones(count: int) -> int:
    """The table of ``count`` inputs that is one everywhere."""
    return (1 << (1 << count)) - 1


@cache
def variable(place: int, count: int) -> int:
    """The table of the input ``place`` of ``count``."""
    period = 1 << (place + 1)
    block = ((1 << (period >> 1)) - 1) << (period >> 1)
    return block * (ones(count) // ((1 << period) - 1))


def table_of(table: Table) -> int:
    """The truth table of a table of a circuit."""
    count = len(table.inputs)
    full = ones(count)
    found = 0
    for row in table.rows:
        cube = full
        for place, sign in enumerate(row):
            if sign != "-":
                cube &= variable(place, count) if sign == "1" else ~variable(place, count)
        found |= cube
    return found if table.value else full ^ found


def cofactors(table: int, place: int, count: int) -> tuple[int, int]:
    """The tables for the input ``place`` zero and one, as tables of all inputs that do not depend on it."""
    high = table & variable(place, count)
    low = table ^ high
    step = 1 << place
    return low | low << step, high | high >> step


def depends(table: int, place: int, count: int) -> bool:
    """Whether the function depends on the input ``place``."""
    low, high = cofactors(table, place, count)
    return low != high


def normal_form(table: int, count: int) -> int:
    """The algebraic normal form of a table; the same again gives the table."""
    for place in range(count):
        table ^= (table & ~variable(place, count)) << (1 << place)
    return table & ones(count)


def monomials(form: int) -> list[int]:
    """The terms of a normal form, each as a set of inputs."""
    out = []
    while form:
        low = form & -form
        out.append(low.bit_length() - 1)
        form ^= low
    return out


def composed(table: int, values: Sequence[int], count: int) -> int:
    """The table of functions: that of ``count`` inputs for which the inputs of ``table`` have the ``values``, a table
    each."""
    found = 0
    for row in range(1 << len(values)):
        if table >> row & 1:
            place = ones(count)
            for n, value in enumerate(values):
                place &= value if row >> n & 1 else ~value
            found |= place
    return found


def without_idle(table: int, count: int) -> tuple[int, list[int]]:
    """The function as one of those inputs that it depends on, and which these are."""
    used = [place for place in range(count) if depends(table, place, count)]
    values = [variable(used.index(place), len(used)) if place in used else 0 for place in range(count)]
    return composed(table, values, len(used)), used
