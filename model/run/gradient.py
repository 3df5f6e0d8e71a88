"""Gradients of one output. Where the program is reversible, the memory does not depend on its length.

The way back carries the derivative of the output by each register, while undoing each instruction restores the
registers that it read. No trace is stored. What an assign overwrites cannot be restored: it is kept, on stretches that
are run again from saved registers, so that the memory grows with the square root of the number of assigns.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import isqrt
from typing import NamedTuple

import numpy as np
from skinny.model.errors import InputError
from skinny.model.program.forms import Input, Linear, Weight
from skinny.model.program.program import Mode, Program
from skinny.model.rings import Array, Exact, FixedPoint, Real, Ring

from .golden import assign, backwards, instructions, packed_inputs, packed_start, scalars, word

__all__ = ["Gradient", "gradient"]


#: Values that a stretch between saved registers may keep at least.
LEAST = 16


class Gradient(NamedTuple):
    """The derivative of the output by each weight, ``(batch, weights)``, and by each input, ``(batch, inputs)``."""

    weights: Array
    inputs: Array


def gradient(program: Program, ring: Ring, inputs: Array, output: str | None = None) -> Gradient:
    """Derivatives of ``output`` (by name; may be left out when there is only one) at the quantised weights and at
    ``inputs``, elements of shape ``(batch, inputs)``.

    Over a true ring this is the formal derivative of the polynomial that the program computes. In ``Real`` the
    registers restored on the way back carry rounding errors of the size of the largest intermediate. Time: about
    four times that of the run, plus two products a term of each linear form.
    """
    if isinstance(ring, FixedPoint):
        raise InputError(f"the rounding of {ring.name} has no derivative: use real")
    part = _up_to(program, output)
    if (part.code.mode == Mode.RELU).any() and not isinstance(ring, Exact | Real):
        raise InputError(f"the relu has no derivative in {ring.name}: use exact or real")
    return _Backwards(part, ring, inputs).gradient()


class _Backwards:
    """The way forwards to the output, and back with the derivative of the output by each register."""

    def __init__(self, program: Program, ring: Ring, inputs: Array) -> None:
        self.program, self.ring, self.batch = program, ring, len(inputs)
        self.packed = packed_inputs(program, ring, inputs)
        elements = program.quantise(ring)
        self.value = scalars(program, ring, self.packed, elements)
        self.weights = [word(ring, element) for element in elements]
        self.registers = list(packed_start(program, ring, self.batch))
        self.zero, self.unit = (word(ring, ring.embed(number)) for number in (0, 1))
        self.scratch = np.empty_like(self.registers[0])
        self.adjoint = self._zeros(program.width)
        self.adjoint[program.outputs[-1].register][...] = self.unit
        self.by_weight, self.by_input = self._zeros(len(program.weights)), self._zeros(len(program.inputs))

    def _zeros(self, count: int) -> list[Array]:
        return [np.repeat(self.zero, len(self.scratch)) for _ in range(count)]

    def gradient(self) -> Gradient:
        cuts = self._cuts()
        saved = []
        for first, end in pairwise(cuts[:-1]):
            saved.append([row.copy() for row in self.registers])
            self._forwards(first, end)
        for first, end in reversed(list(pairwise(cuts))):
            if end < len(self.program):
                self.registers = saved.pop()
            self._backwards(first, end, self._forwards(first, end))
        ring, batch = self.ring, self.batch
        return Gradient(
            *(
                ring.unpack(np.array(rows, dtype=ring.packed_dtype).reshape(len(rows), len(self.scratch)), batch).T
                for rows in (self.by_weight, self.by_input)
            )
        )

    def _cuts(self) -> list[int]:
        """The positions at which the registers are saved, so that no stretch overwrites more than it need keep: about
        as many values as are saved."""
        assigns = np.flatnonzero(self.program.code.mode != Mode.ADD)
        kept = max(LEAST, isqrt(len(assigns) * self.program.width))
        return [0, *assigns[kept::kept].tolist(), len(self.program)]

    def _forwards(self, first: int, end: int) -> list[Array]:
        """Run a stretch; returns what its assigns overwrote."""
        lost = []
        for instruction in instructions(self.program, first, end):
            dst, src, sign, form, mode = instruction
            scalar = self.value(form, self.registers)
            if mode == Mode.ADD:
                self.ring.accumulate(self.registers[dst], scalar, self.registers[src], sign, self.scratch)
            else:
                lost.append(self.registers[dst].copy())
                assign(self.ring, self.registers, scalar, instruction, self.scratch)
        return lost

    def _backwards(self, first: int, end: int, lost: list[Array]) -> None:
        """Undo a stretch, and carry the derivative back over it."""
        ring, registers, adjoint, scratch = self.ring, self.registers, self.adjoint, self.scratch
        for dst, src, sign, form, mode in backwards(self.program, first, end):
            slope = adjoint[dst]
            if mode == Mode.ADD:
                scalar = self.value(form, registers)
                ring.accumulate(registers[dst], scalar, registers[src], -sign, scratch)
            else:
                slope = slope.copy()
                if mode == Mode.RELU:
                    slope[registers[dst] <= 0] = self.zero[0]
                adjoint[dst][...] = self.zero
                registers[dst] = lost.pop()
                scalar = self.value(form, registers)
            # The derivative by the scalar first: the one by the source may be of the same register.
            self._scalar(form, ring.mul(registers[src], slope), sign)
            ring.accumulate(adjoint[src], scalar, slope, sign, scratch)

    def _scalar(self, number: int, slope: Array, sign: int) -> None:
        """Add ``±slope``, the derivative by the form ``number``, to what the form is made of."""
        accumulate, scratch = self.ring.accumulate, self.scratch
        match self.program.forms[number]:
            case Input(u):
                accumulate(self.by_input[u], slope, self.unit, sign, scratch)
            case Weight(k):
                accumulate(self.by_weight[k], slope, self.unit, sign, scratch)
            case Linear(terms, bias, sums):
                for k, u in terms:
                    accumulate(self.by_weight[k], slope, self.packed[u], sign, scratch)
                    accumulate(self.by_input[u], slope, self.weights[k], sign, scratch)
                if bias is not None:
                    accumulate(self.by_weight[bias], slope, self.unit, sign, scratch)
                for factor, register in sums:
                    if isinstance(factor, Input):
                        mine, scalar = self.by_input[factor.u], self.packed[factor.u]
                    else:
                        mine, scalar = self.by_weight[factor.k], self.weights[factor.k]
                    accumulate(mine, slope, self.registers[register], sign, scratch)
                    accumulate(self.adjoint[register], slope, scalar, sign, scratch)


def _up_to(program: Program, output: str | None) -> Program:
    """The part of ``program`` that computes ``output``: from the restart before it up to where it is sent."""
    names = [known.name for known in program.outputs]
    if output is None and len(names) > 1:
        raise InputError(f"the gradient of which output: {', '.join(names)}?")
    if output is not None and output not in names:
        raise InputError(f"there is no output {output!r}, only {', '.join(names)}")
    wanted = names[0] if output is None else output
    part, sent = next((part, o) for part in program.parts() for o in part.outputs if o.name == wanted)
    return replace(part, code=part.code.part(slice(sent.at)), outputs=(sent._replace(restart=False),))
