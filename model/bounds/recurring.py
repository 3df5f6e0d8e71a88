"""States that recur: the places of a program where bounds may forget what values have in common."""

from __future__ import annotations

import itertools
import random
from collections import Counter

from skinny.model.program.program import Input, Linear, Program, Weight

__all__ = ["recurring_states"]

_PRIME = (1 << 61) - 1
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
    values = _form_residues(program)
    restarts = {output.at for output in program.outputs if output.restart} | {0}
    unit = [[int(r == c) for r in range(width)] for c in range(width)]
    columns: list[list[int]] = []
    marks: list[int] = []
    moving = range(width) if width <= _MOST_REGISTERS else sorted({output.register for output in program.outputs})
    states = []
    for t, (dst, src, sign, form) in enumerate(
        zip(*(column.tolist() for column in program.code.arrays()), strict=True)
    ):
        if t in restarts:
            columns = unit.copy()
            marks = [hash((c, *column)) for c, column in enumerate(columns)]
        total = sum(marks)
        states.append([total - marks[r] for r in moving])
        factor = sign * values[form]
        columns[dst] = [(a + factor * b) % _PRIME for a, b in zip(columns[dst], columns[src], strict=True)]
        marks[dst] = hash((dst, *columns[dst]))
    seen = Counter(itertools.chain.from_iterable(states))
    often = max(seen.values(), default=0) / 2
    return [any(seen[state] >= often for state in others) for others in states]


def _form_residues(program: Program) -> list[int]:
    """The value of each form of ``program`` modulo ``_PRIME``, at random inputs."""
    point = random.Random(1)
    inputs = [point.randrange(_PRIME) for _ in program.inputs]
    weights = [w.numerator * pow(w.denominator % _PRIME or 1, -1, _PRIME) for w in program.weights]
    out = []
    for form in program.forms:
        match form:
            case Input(u):
                out.append(inputs[u])
            case Weight(k):
                out.append(weights[k])
            case Linear(terms, bias):
                constant = 0 if bias is None else weights[bias]
                out.append(sum(weights[k] * inputs[u] for k, u in terms) + constant)
    return out
