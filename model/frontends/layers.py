"""Layers: which layer of a model a value of its program belongs to, so that messages can name it."""

from __future__ import annotations

import numpy as np
from skinny.model.bounds.analysis import Overflow
from skinny.model.program.program import Program
from skinny.model.rings import Array, FixedPoint, Real
from skinny.model.run.golden import scalars, trace_chunks

from .imported import Layer
from .ranges import Floats, row_values
from .scale import Scaled

__all__ = ["layer_values", "overflowing_layer", "wrapping_layer"]

#: A program sums in another order than a formula.
NEAR = 1e-9
UNKNOWN = "a value between its layers"


def layer_values(layer: Layer, columns: dict[str, Floats]) -> Floats:
    """The values of a layer at rows, those that a relu is taken of included, of shape ``(values, rows)``."""
    nodes = [*layer.values, *(value.args[0] for value in layer.values if value.kind == "relu")]
    return np.stack(row_values(columns, nodes))


def overflowing_layer(program: Program, scaled: Scaled, overflow: Overflow) -> str:
    """The name of the layer whose value overflows: that with the value that is read there in a run of random inputs."""
    if overflow.output is not None:
        return scaled.layers[-1].name if scaled.layers else f"the output {overflow.output}"
    row = np.random.default_rng(0).uniform(-1, 1, (1, len(program.inputs)))
    columns = {name: row[:, u] for u, name in enumerate(program.inputs)}
    at = overflow.instruction
    assert at is not None
    registers = next(
        seen[at - first, 0] for first, seen in trace_chunks(program, Real(), row) if first <= at < first + len(seen)
    )
    form, src = int(program.code.form[at]), int(program.code.src[at])
    ring = Real()
    scalar = scalars(program, ring, ring.pack(row.T))(form, [registers[r : r + 1] for r in range(program.width)])
    read = [float(scalar[0]), float(scalar[0] * registers[src])]
    read += [] if overflow.register is None else [float(registers[overflow.register])]
    for layer in scaled.layers:
        values = layer_values(layer, columns)[:, 0]
        if any(np.abs(np.abs(values) - abs(value)).min() <= NEAR * max(abs(value), NEAR) for value in read):
            return layer.name
    return UNKNOWN


def wrapping_layer(program: Program, ring: FixedPoint, scaled: Scaled, elements: Array) -> str:
    """The name of the first layer whose values do not fit the word at rows; empty when all fit."""
    columns = {
        name: np.ldexp(column.astype(float), -ring.frac)
        for name, column in zip(program.inputs, elements.T, strict=True)
    }
    most = 2.0 ** (ring.bits - 1 - ring.frac)
    return next((layer.name for layer in scaled.layers if (np.abs(layer_values(layer, columns)) >= most).any()), "")
