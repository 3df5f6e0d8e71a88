"""Prune: drop the instructions that do not change the output of a clean program.

Precondition: a program promised only from its start vector, only for its output register. Postcondition: the same
output. An instruction changes the output by ``s·R_src·a_dst``, where ``a`` is the adjoint (how the output depends on
each register afterwards): it is dropped when its source is identically zero or its target no longer matters. Both are
found by evaluation at a random point mod 2^61 - 1; the adjoint is what the transposed code computes. Repeated until
nothing changes. Cost: linear a round.
"""

from __future__ import annotations

import random

import numpy as np
from numpy.typing import NDArray
from skinny.model.compiler.code import Code
from skinny.model.program.modular import form_residues, random_point, travel

__all__ = ["prune"]


def prune(code: Code) -> Code:
    """The instructions of ``code`` that its output depends on."""
    scalars = code.scalars
    values = form_residues(scalars, random_point(random.Random(len(code)), scalars.inputs))
    while True:
        kept = code.part(_reads_something(code, values))
        kept = kept.part(_reads_something(kept.transposed(), values)[::-1])
        if len(kept) == len(code):
            return kept
        code = kept


def _reads_something(code: Code, values: list[int]) -> NDArray[np.bool_]:
    """For each instruction, whether its source is other than zero."""
    reads = travel(code.rows(), values, list(code.start))
    return np.fromiter(map(bool, reads), dtype=bool, count=len(code))
