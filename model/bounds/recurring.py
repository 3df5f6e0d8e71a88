"""States that recur: the places of a program where bounds may forget what values have in common."""

from __future__ import annotations

import itertools
import random
from collections import Counter

from skinny.model.program.modular import PRIME, form_residues, program_forms, random_point
from skinny.model.program.program import Program

__all__ = ["recurring_states"]

#: In programs with more registers than this, only the output registers may differ from a state that recurs.
_MOST_REGISTERS = 16


def recurring_states(program: Program) -> list[bool]:
    """For each instruction, whether all registers but one hold, before it, what they hold often in this program.

    Hardly anything is about to be taken away again at such a place, which lies for example between two terms of a long
    sum. Bounds may forget there what values have in common.

    The product of all matrices so far is followed at a random point modulo a prime. A column of it that comes back is a
    register that comes back. A wrong answer makes bounds less tight, never wrong.
    """
    width = program.width
    try:
        values = form_residues(program_forms(program), random_point(random.Random(1), len(program.inputs)))
    except ValueError:  # the prime divides the denominator of a weight
        return [False] * len(program)
    restarts = {output.at for output in program.outputs if output.restart} | {0}
    unit = [[int(r == c) for r in range(width)] for c in range(width)]
    columns: list[list[int]] = []
    marks: list[int] = []
    moving = range(width) if width <= _MOST_REGISTERS else sorted({output.register for output in program.outputs})
    states = []
    for t, (dst, src, sign, form) in enumerate(
        zip(*(column.tolist() for column in program.code.arrays()[:4]), strict=True)
    ):
        if t in restarts:
            columns = unit.copy()
            marks = [hash((c, *column)) for c, column in enumerate(columns)]
        total = sum(marks)
        states.append([total - marks[r] for r in moving])
        factor = sign * values[form]
        columns[dst] = [(a + factor * b) % PRIME for a, b in zip(columns[dst], columns[src], strict=True)]
        marks[dst] = hash((dst, *columns[dst]))
    seen = Counter(itertools.chain.from_iterable(states))
    often = max(seen.values(), default=0) / 2
    return [any(seen[state] >= often for state in others) for others in states]
