"""Peephole: cancel and merge instructions that can be brought together.

Precondition: any program. Postcondition: the same matrix, never longer. ``(j, i)`` and ``(j', i')`` commute unless
``i = j'`` or ``j = i'``; an instruction looks back over those it commutes with for its own opposite (both go) or for a
constant between the same registers (they become one). Repeated until nothing changes. Cost: linear a round.
"""

from __future__ import annotations

from skinny.model.compiler.contracts import Affine, Scalar
from skinny.model.compiler.polynomial import Coefficient, magnitude
from skinny.model.limits import checked

from .emit import MINUS

__all__ = ["peephole"]

REACH = 200


def peephole(code: list[int], scalars: dict[Scalar, int]) -> list[int]:
    """``code`` as packed instructions; merged constants are added to ``scalars``."""
    names = list(scalars)
    constant = [not scalar.terms for scalar in names]
    while True:
        before = len(code)
        out: list[int] = []
        for instruction in checked(code):
            dst, src = instruction >> 4 & 15, instruction & 15
            pair = instruction & 255
            opposite = instruction ^ MINUS
            is_constant = constant[instruction >> 9]
            position = len(out) - 1
            floor = max(0, position - REACH)
            while position >= floor:
                other = out[position]
                if other == opposite:
                    del out[position]
                    break
                if is_constant and other & 255 == pair and constant[other >> 9]:
                    total = _signed(names, instruction) + _signed(names, other)
                    if total:
                        scalar = Affine((), magnitude(total))
                        number = scalars.setdefault(scalar, len(scalars))
                        if number == len(names):
                            names.append(scalar)
                            constant.append(True)
                        out[position] = number << 9 | (MINUS if total < 0 else 0) | pair
                    else:
                        del out[position]
                    break
                if other >> 4 & 15 == src or other & 15 == dst:
                    position = -1
                    break
                position -= 1
            else:
                position = -1
            if position < 0:
                out.append(instruction)
        code = out
        if len(code) == before:
            return code


def _signed(names: list[Scalar], instruction: int) -> Coefficient:
    value = names[instruction >> 9].bias
    return -value if instruction & MINUS else value
