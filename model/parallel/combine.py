"""The golden model of the parallel run: what the lanes of an engine found is combined in their order.

``value = Σ_t vector[t]·column[t]``, each product rounded by the ring, the sum wrapped; the vector of one lane is what
the lane before it ended with. Over a true ring that is the sequential run, bit for bit. In fixed point it is near:
:func:`distance` says how near.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from skinny.model.program.program import Mode
from skinny.model.rings import Array, FixedPoint, Ring
from skinny.model.run.golden import instructions, packed_inputs, run, scalars

if TYPE_CHECKING:
    from .segments import EngineImage

__all__ = ["combine_column", "distance", "run_lanes"]


def combine_column(ring: Ring, vector: Array, column: Array, sign: int) -> Array:
    """The sum over the first axis of ``vector`` times ``column``, both in the type the ring computes with."""
    total: Array = np.zeros_like(column[0])
    for factor, word in zip(vector, column, strict=True):
        product = ring.mul(factor, word)
        total = ring.add(total, product) if sign > 0 else ring.sub(total, product)
    return total


def run_lanes(image: EngineImage, elements: Array) -> Array:
    """The outputs of the engine for ``elements`` of shape ``(batch, inputs)``, of shape ``(batch, outputs)``."""
    return np.concatenate([sent for sent, _ in _lanes(image, elements)], axis=1)


def _lanes(image: EngineImage, elements: Array) -> list[tuple[Array, Array]]:
    """For each lane, the outputs it adds and the registers that leave it (none for the last)."""
    ring, width = image.config.ring, image.config.width
    word, sign = image.hardware.unit
    one = image.config.unpack(np.full((1, 1), word, dtype=np.uint64), 1)[0, 0]
    out: list[tuple[Array, Array]] = []
    for number, lane in enumerate(image.lanes):
        parts = lane.program.parts()
        alike = [run(part, ring, elements).outputs for part in parts[bool(number) :]]
        found = []
        if number:
            vector = ring.pack(out[-1][1].T)
            units = np.zeros((width, width), dtype=ring.element_dtype)
            np.fill_diagonal(units, one)
            rows = [ring.pack(run(parts[0], ring, elements, unit).outputs.T) for unit in units]
            columns = np.stack(rows, axis=1)
            found = [ring.unpack(combine_column(ring, vector, column, sign), len(elements)) for column in columns]
        columns = np.concatenate(
            [np.array(found, dtype=ring.element_dtype).reshape(-1, len(elements)).T, *alike], axis=1
        )
        out.append((columns[:, : image.sent[number]], columns[:, image.sent[number] :]))
    return out


def distance(image: EngineImage, elements: Array) -> NDArray[np.float64]:
    """A bound of |parallel - sequential| for each inference and output, provided that no register overflows in either
    run. Zero over a true ring.

    Both runs have the same scalars, so both are the exact linear map of the start vector plus rounding errors of at
    most half a unit of the last place, each times the derivative ``g`` of the output by the register it is added to.
    Sequentially that is Σ |g| over all instructions. In a lane an error of the thread of unit vector ``t`` is
    multiplied by the entry ``v[t]`` of the vector that comes in, and the combiner rounds ``width`` products for each
    entry of the vector that leaves. Together, in half units of the last place,

        Σ over the instructions of lane k: (1 + Σ_t |v_k[t]|)·|g|   +   Σ over lanes k: width·Σ_j |g_k[j]|

    with ``g_k`` the derivative by the registers that leave lane ``k``. In the lane where the run begins, or where it
    was restarted last, nothing comes in: there an instruction counts 2·|g|, and nothing is combined.
    """
    program, ring = image.program, image.config.ring
    if ring.is_ring:
        return np.zeros((len(elements), image.emits))
    assert isinstance(ring, FixedPoint)
    step = 2.0**-ring.frac
    incoming = [np.abs(state).sum(axis=1) * step for _, state in _lanes(image, elements)]
    value = scalars(program, ring, packed_inputs(program, ring, elements))
    ends = np.cumsum([0, *(len(lane.program) for lane in image.lanes)]).tolist()
    owners = np.repeat(np.arange(len(image.lanes)), image.sent).tolist()
    out = np.zeros((len(elements), image.emits))
    home = begin = 0
    for place, (output, owner) in enumerate(zip(program.outputs, owners, strict=True)):
        gradient = np.zeros((image.config.width, len(elements)))
        gradient[output.register] = 1
        for lane in range(owner, home - 1, -1):
            if lane > home:
                out[:, place] += image.config.width * np.abs(gradient).sum(axis=0)
            times = 1 + incoming[lane - 1] if lane > home else 2
            part = list(instructions(program, max(begin, ends[lane]), min(output.at, ends[lane + 1])))
            for dst, src, sign, form, mode in reversed(part):
                slope = gradient[dst].copy()
                if mode != Mode.ADD:
                    gradient[dst] = 0
                out[:, place] += times * np.abs(slope)
                gradient[src] += sign * step * value(form) * slope
        if output.restart:
            home, begin = owner, output.at
    # These are sums of floats: a millionth more is far beyond what they lose.
    return out * (step / 2 * (1 + 1e-6))
