"""Peephole: cancel and merge instructions that can be brought together.

Precondition: any program. Postcondition: the same matrix, never longer. ``(j, i)`` and ``(j', i')`` commute unless
``i = j'`` or ``j = i'``; an instruction looks back over those it commutes with for its own opposite (both go) or for a
constant between the same registers (they become one). Repeated until nothing changes. Cost: linear a round.
"""

from __future__ import annotations

from skinny.model.compiler.code import Affine, Code, Row, Scalars, affine_scalar
from skinny.model.limits import checked

__all__ = ["peephole"]

#: The number of instructions that an instruction looks back over.
REACH = 200


def peephole(code: Code) -> Code:
    """The code with neighbours cancelled and merged; merged constants are added to its scalars."""
    before = list(code.rows())
    while True:
        after: list[Row] = []
        for row in checked(before):
            _append(after, row, code.scalars)
        if len(after) == len(before):
            return code.with_rows(after)
        before = after


def _append(done: list[Row], row: Row, scalars: Scalars) -> None:
    """Add an instruction to those done, or merge it with one of them."""
    dst, src, sign, number = row
    for position in range(len(done) - 1, max(-1, len(done) - 2 - REACH), -1):
        other_dst, other_src, other_sign, other_number = done[position]
        if other_dst == src or other_src == dst:
            break
        if other_dst != dst or other_src != src:
            continue
        if other_number == number and other_sign != sign:
            del done[position]
            return
        if not (scalars[number].terms or scalars[other_number].terms):
            total = sign * scalars[number].bias + other_sign * scalars[other_number].bias
            if total:
                sign, scalar = affine_scalar(Affine((), total))
                done[position] = dst, src, sign, scalars.number(scalar)
            else:
                del done[position]
            return
    done.append(row)
