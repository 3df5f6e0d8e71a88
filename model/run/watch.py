"""The watch beside a golden run in fixed point: in which rows did a value wrap that the program reads.

Two's complement sums may wrap on the way and come out right. What must fit the word is what is read: a source register
that is multiplied, a linear form that is used, a word that is sent, what a relu is taken of. The watch adds the same
products to registers that do not wrap; where such a register is read and is not the golden one, the row wrapped.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from skinny.model.program.forms import Input, Linear
from skinny.model.program.program import Mode, Program
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
        found = self._program.forms[form]
        if form in self._used or not isinstance(found, Linear):
            return
        if found.sums:
            wide = self._terms(found)
            for factor, register in found.sums:
                self.read(register)
                scalar = self._packed[factor.u] if isinstance(factor, Input) else self._weights[factor.k]
                wide += self._ring.rounded(scalar * self._rows[register])
            self._compare(wide, value)
        else:
            self._used.add(form)
            self._compare(self._terms(found), value)

    def _terms(self, form: Linear) -> Array:
        """The unwrapped sum of the terms of ``form`` that read no registers."""
        wide = np.zeros_like(self._scratch)
        for k, u in form.terms:
            wide += self._ring.rounded(self._weights[k] * self._packed[u])
        if form.bias is not None:
            wide += self._weights[form.bias]
        return wide

    def read(self, register: int) -> None:
        """The content of ``register`` is multiplied or sent."""
        if register in self._unread:
            self._unread.remove(register)
            self._compare(self._wide[register], self._rows[register])

    def write(self, register: int, sign: int, mode: int, product: Array) -> None:
        """A rounded ``product`` was added to ``register`` or taken away, or assigned to it."""
        wide = self._wide[register]
        if mode != Mode.ADD:
            wide[...] = 0
        (np.add if sign > 0 else np.subtract)(wide, product, out=wide)
        if mode == Mode.RELU:
            self._compare(wide, self._ring.wrap(product if sign > 0 else -product))
            np.maximum(wide, 0, out=wide)
        self._unread.add(register)

    def _compare(self, wide: Array, golden: Array) -> None:
        np.subtract(wide, golden, out=self._scratch)
        np.abs(self._scratch, out=self._scratch)
        np.greater(self._scratch, 2.0 ** (self._ring.bits - 1), out=self._far)
        self._wrapped |= self._far
