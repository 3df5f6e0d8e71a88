"""Peephole: cancel and merge instructions that can be brought together.

Precondition: any program. Postcondition: the same matrix, never longer. ``(j, i)`` and ``(j', i')`` commute unless
``i = j'`` or ``j = i'``; an instruction looks back over those it commutes with for its own opposite (both go) or for a
constant between the same registers (they become one). Repeated until nothing changes. Cost: linear a round.
"""

from __future__ import annotations

from dataclasses import replace

from skinny.model.compiler.code import Affine, Code, Row, Scalars, affine_scalar
from skinny.model.program.program import Columns

__all__ = ["peephole"]

#: The number of instructions that an instruction looks back over.
REACH = 200


def peephole(code: Code) -> Code:
    """The code with neighbours cancelled and merged; merged constants are added to its scalars."""
    while True:
        done = _Done(code.scalars)
        for row in code.rows():
            done.append(row)
        if len(done.dst) == len(code):
            return code
        code = replace(code, columns=Columns.of(done.dst, done.src, done.sign, done.number))


class _Done:
    """The instructions done so far, as columns: tuples would take twice the memory."""

    def __init__(self, scalars: Scalars) -> None:
        self.scalars = scalars
        self.dst: list[int] = []
        self.src: list[int] = []
        self.sign: list[int] = []
        self.number: list[int] = []

    def append(self, row: Row) -> None:
        """Add an instruction, or merge it with one that is there."""
        dst, src, sign, number = row
        targets, sources = self.dst, self.src
        for position in range(len(targets) - 1, max(-1, len(targets) - 2 - REACH), -1):
            if targets[position] == src or sources[position] == dst:
                break
            if targets[position] == dst and sources[position] == src:
                other, other_sign = self.number[position], self.sign[position]
                if other == number and other_sign != sign:
                    self._delete(position)
                    return
                if not (self.scalars[number].terms or self.scalars[other].terms):
                    total = sign * self.scalars[number].bias + other_sign * self.scalars[other].bias
                    if total:
                        self.sign[position], scalar = affine_scalar(Affine((), total))
                        self.number[position] = self.scalars.number(scalar)
                    else:
                        self._delete(position)
                    return
        targets.append(dst)
        sources.append(src)
        self.sign.append(sign)
        self.number.append(number)

    def _delete(self, position: int) -> None:
        for column in (self.dst, self.src, self.sign, self.number):
            del column[position]
