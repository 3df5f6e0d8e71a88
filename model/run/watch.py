"""The watch beside a golden run in fixed point: in which rows did a value wrap that the program reads.

Two's complement sums may wrap on the way and come out right. What must fit the word is what is read: a source register
that is multiplied, a linear form that is used, a word that is sent. The watch adds the same products to registers that
do not wrap; where such a register is read and is not the golden one, the row wrapped.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from skinny.model.program.forms import Linear
from skinny.model.program.program import Program
from skinny.model.rings import Array, FixedPoint

__all__ = ["Watch"]


class Watch:
    """The unwrapped registers beside the golden ``rows`` of a block; ``wrapped`` is a mask of its rows, to be filled.

    The unwrapped registers are floats. A wrapped register differs from them by ``2^bits`` or more, so it is told apart
    although floats round, as long as the sum of all products stays far below ``2^(bits + 52)``.
    """

    def __init__(
        self, program: Program, ring: FixedPoint, weights: Array, packed: Array, rows: Sequence[Array], wrapped: Array
    ) -> None:
        self._program = program
        self._ring = ring
        self._weights = weights
        self._packed = packed
        self._rows = rows
        self._wrapped = wrapped
        self._wide = [row.astype(np.float64) for row in rows]
        self._scratch = np.empty_like(self._wide[0])
        self._far = np.empty(len(wrapped), dtype=np.bool_)
        self._unread: set[int] = set()
        self._used: set[int] = set()

    def restart(self, begin: Array) -> None:
        """The registers get the start vector again."""
        for wide, row in zip(self._wide, begin, strict=True):
            wide[...] = row
        self._unread.clear()

    def use(self, form: int, value: Array) -> None:
        """An instruction multiplies with ``value`` of the form with this number."""
        if form in self._used:
            return
        self._used.add(form)
        found = self._program.forms[form]
        if isinstance(found, Linear):
            wide = np.zeros_like(self._scratch)
            for k, u in found.terms:
                wide += self._ring.rounded(self._weights[k] * self._packed[u])
            if found.bias is not None:
                wide += self._weights[found.bias]
            self._compare(wide, value)

    def read(self, register: int) -> None:
        """The content of ``register`` is multiplied or sent."""
        if register in self._unread:
            self._unread.remove(register)
            self._compare(self._wide[register], self._rows[register])

    def write(self, register: int, sign: int, product: Array) -> None:
        """A rounded ``product`` was added to ``register`` or taken away."""
        (np.add if sign > 0 else np.subtract)(self._wide[register], product, out=self._wide[register])
        self._unread.add(register)

    def _compare(self, wide: Array, golden: Array) -> None:
        np.subtract(wide, golden, out=self._scratch)
        np.abs(self._scratch, out=self._scratch)
        np.greater(self._scratch, 2.0 ** (self._ring.bits - 1), out=self._far)
        self._wrapped |= self._far
