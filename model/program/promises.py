"""What a program promises: that it is linear, and that it is reversible; and the instruction that breaks a promise.

*Linear*: for fixed inputs the map of the registers is a matrix. Sums of registers and relu break that. Lanes, matrices
and checks by unit vectors need it. *Reversible*: every instruction is undone by the same one with the other sign.
Assigns and relu break that, but assigns with which a program begins, each to another register, count as its start.
Inverse, self-check and gradients without memory need it. A *pure* program keeps both, and begins from its start vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .columns import Columns, Mode

__all__ = ["Break", "linear_break", "reversible_break", "starting_assigns"]


class Break(NamedTuple):
    """The ``instruction`` that breaks a promise, counted from 0, and what it does."""

    instruction: int
    does: str

    def __str__(self) -> str:
        return f"instruction {self.instruction} {self.does}"


def linear_break(code: Columns, summing: Sequence[int]) -> Break | None:
    """The first instruction that is not linear; ``summing`` are the numbers of the forms that read registers."""
    relu = code.mode == Mode.RELU
    return _first(code, relu | np.isin(code.form, summing) if summing else relu, "multiplies with a sum of registers")


def reversible_break(code: Columns, starts: Sequence[int] | None) -> Break | None:
    """The first instruction that cannot be undone. Assigns from one of the positions ``starts`` on are the start; with
    None there are no such assigns."""
    broken = code.mode != Mode.ADD
    for start in starts or () if broken.any() else ():
        broken[start : start + starting_assigns(code, start)] = False
    return _first(code, broken, "assigns a register")


def starting_assigns(code: Columns, first: int = 0) -> int:
    """How many assigns in a row begin at the position ``first``, up to one that writes over a register that was
    assigned before, or over its own source: that is no start any more."""
    others = np.flatnonzero(code.mode[first:] != Mode.ASSIGN)
    count = int(others[0]) if len(others) else len(code) - first
    part = code.part(slice(first, first + count))
    assigned: set[int] = set()
    for number, (dst, src) in enumerate(zip(part.dst.tolist(), part.src.tolist(), strict=True)):
        if dst == src or dst in assigned:
            return number
        assigned.add(dst)
    return count


def _first(code: Columns, broken: NDArray[Any], does: str) -> Break | None:
    if not broken.any():
        return None
    at = int(np.argmax(broken))
    return Break(at, "takes the relu" if code.mode[at] == Mode.RELU else does)
