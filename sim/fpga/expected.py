"""How many multiplier blocks and block RAMs a core must come out with: what the guards of synthesis compare with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from skinny.hdl.core import Core
from skinny.model.isa import Words, index_bits
from skinny.model.rings import Boolean, FixedPoint, PrimeField

from .devices import Device

__all__ = ["Expected", "expected_cells"]


@dataclass(frozen=True)
class Expected:
    """The counts that are right. They are ranges, because yosys weighs some blocks against LUTs."""

    dsp: range
    block_ram: range


def expected_cells(core: Core, device: Device) -> Expected:
    """For ``core`` on ``device``. All memories of a core are made of block RAM."""
    config = core.config
    program, weights = (config.word_bits, config.depth), (config.bits, config.weights)
    inputs = (config.bits, 2 << (index_bits(config.threads) + index_bits(config.inputs)))
    results = (config.bits + 2, config.fifo)
    most = least = sum(_blocks(core, device, *memory) for memory in (program, weights, inputs, results))
    if core.rom and core.image is not None:
        # Bits that are the same in all words that a memory will ever hold may be made constant.
        for (bits, depth), words in ((program, core.image.words), (weights, core.image.weights)):
            least += _blocks(core, device, _differing(words, depth), depth) - _blocks(core, device, bits, depth)
    return Expected(_multipliers(core, device), range(least, most + 1))


def _differing(words: Words, depth: int) -> int:
    """Bits that are not the same in all words of a memory; those past the end of ``words`` are zero."""
    held = np.append(words, np.uint64(0)) if len(words) < depth else words
    return int(np.bitwise_or.reduce(held ^ held[0])).bit_count()


def _blocks(core: Core, device: Device, bits: int, depth: int) -> int:
    """Block RAMs of a memory, in the best of their shapes; instantiated ones are never 36 bits wide."""
    shapes = [(wide, deep) for wide, deep in device.family.shapes if wide <= 18 or core.target.cells is None]
    return min(-(-bits // wide) * -(-depth // deep) for wide, deep in shapes)


def _multipliers(core: Core, device: Device) -> range:
    ring = core.config.ring
    if not device.multipliers or isinstance(ring, Boolean):
        return range(0, 1)
    product = ring.bits + {FixedPoint: getattr(ring, "frac", 0), PrimeField: ring.bits}.get(type(ring), 0)
    if product < device.family.product:
        return range(0, 1)
    parts = -(-ring.bits // device.family.operand)
    most = parts**2
    if isinstance(ring, PrimeField) and ring.p & (ring.p + 1):
        # Barrett's reduction has two more products, by constants; some of their parts go to LUTs.
        most += 3 * parts * (parts + 1)
    # Of the square of part products those above the word may be gone.
    return range(parts * (parts + 1) // 2, most + 1)
