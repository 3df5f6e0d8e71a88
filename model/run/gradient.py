"""Gradients of one output, with a memory that does not depend on the length of the program.

The transposed program carries the derivative of the output by each register backwards, while the inverse program
beside it restores the registers that each instruction read. No trace is stored.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from skinny.model.errors import InputError
from skinny.model.program.forms import Input, Linear, Weight
from skinny.model.program.program import Program
from skinny.model.rings import Array, FixedPoint, Ring

from .golden import instructions, packed_inputs, packed_start, run, scalars, word

__all__ = ["Gradient", "gradient"]


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
    batch = len(inputs)
    packed = packed_inputs(part, ring, inputs)
    elements = part.quantise(ring)
    value = scalars(part, ring, packed, elements)
    weights = [word(ring, element) for element in elements]
    unit = word(ring, ring.embed(1))

    # Copies, because pack() may hand out the array it was given.
    registers = ring.pack(run(part, ring, inputs).registers.T).copy()
    adjoint = packed_start(part.transpose(), ring, batch)
    by_weight = ring.pack(np.full((len(part.weights), batch), ring.embed(0), dtype=ring.element_dtype))
    by_input = ring.pack(np.full((len(part.inputs), batch), ring.embed(0), dtype=ring.element_dtype))
    scratch = np.empty_like(registers[0])

    back = instructions(part.inverse(), 0, len(part))
    across = instructions(part.transpose(), 0, len(part))
    for (dst, src, undo, number), (to, out_of, sign, _) in zip(back, across, strict=True):
        scalar = value(number)
        ring.accumulate(registers[dst], scalar, registers[src], undo, scratch)
        ring.accumulate(adjoint[to], scalar, adjoint[out_of], sign, scratch)
        # The scalar's own derivative is ±R[src]·adjoint[dst]: neither is changed by the instruction.
        match part.forms[number]:
            case Input(u):
                ring.accumulate(by_input[u], registers[src], adjoint[dst], sign, scratch)
            case Weight(k):
                ring.accumulate(by_weight[k], registers[src], adjoint[dst], sign, scratch)
            case Linear(terms, bias):
                slope = ring.mul(registers[src], adjoint[dst])
                for k, u in terms:
                    ring.accumulate(by_weight[k], slope, packed[u], sign, scratch)
                    ring.accumulate(by_input[u], slope, weights[k], sign, scratch)
                if bias is not None:
                    ring.accumulate(by_weight[bias], slope, unit, sign, scratch)
    return Gradient(ring.unpack(by_weight, batch).T, ring.unpack(by_input, batch).T)


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
