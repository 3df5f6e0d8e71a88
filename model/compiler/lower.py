"""Lower: the code of all outputs to one program.

Precondition: code for each output. Postcondition: one :class:`Program` with its tables in order of first use; outputs
but the last restart. Cost: linear.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from skinny.model.program.program import Columns, Output, Program

from .code import Code, FormTable, joined

__all__ = ["lower"]


def lower(codes: Mapping[str, Code], inputs: Sequence[str], contract: str, given: frozenset[Fraction]) -> Program:
    """The program of ``codes``, by output. ``given`` are the constants of the formula; all others count as derived."""
    tables = FormTable()
    columns: list[Columns] = []
    outputs: list[Output] = []
    reached = 0
    for name, code in codes.items():
        numbers = code.columns.form
        used, first = np.unique(numbers, return_index=True)
        forms = np.zeros(len(code.scalars) + 1, dtype=np.int32)
        for number in used[np.argsort(first)].tolist():
            forms[number] = tables.number(code.scalars[number])
        columns.append(replace(code.columns, form=forms[numbers]))
        reached += len(code)
        outputs.append(Output(name, code.output, reached, len(outputs) + 1 < len(codes)))
    start = next(iter(codes.values())).start
    return Program(
        width=len(start),
        inputs=tuple(inputs),
        weights=tuple(tables.weights),
        derived=tuple(abs(value) not in given for value in tables.weights),
        forms=tuple(tables.forms),
        code=joined(columns),
        outputs=tuple(outputs),
        contract=contract,
        start=start,
    )
