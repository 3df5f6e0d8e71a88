"""How many multiplier blocks and block RAMs a core must come out with: what the guards of synthesis compare with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from skinny.model.assemble import Image
from skinny.model.isa import CoreConfig, Words, index_bits
from skinny.model.rings import Boolean, FixedPoint, PrimeField

from .devices import Device

__all__ = ["Expected", "expected_cells"]


@dataclass(frozen=True)
class Expected:
    """The counts that are right, as ranges: where yosys weighs blocks against LUTs there are several."""

    dsp: range
    block_ram: range


def expected_cells(config: CoreConfig, device: Device, rom: Image | None = None) -> Expected:
    """For a core of ``config``, or the one whose memories never hold anything but the image ``rom``."""
    program, weights = (config.word_bits, config.depth), (config.bits, config.weights)
    if rom is not None:
        program = (_columns(rom.words, config.depth), config.depth)
        weights = (_columns(rom.weights, config.weights), config.weights)
    inputs = (config.bits, 2 << (index_bits(config.threads) + index_bits(config.inputs)))
    results = (config.bits + 2, config.fifo)
    memories = [program, weights, inputs, results]
    counts = [_blocks(device, *memory) for memory in memories]
    certain = [count for count, (bits, depth) in zip(counts, memories, strict=True) if bits * depth >= device.family.large]
    return Expected(_multipliers(config, device), range(sum(certain), sum(counts) + 1))


def _columns(words: Words, depth: int) -> int:
    """Bits that are not the same in all words; words past the end of an image are zero, and other columns no memory."""
    differing = int(np.bitwise_or.reduce(words ^ words[0], initial=0))
    if len(words) < depth:
        differing |= int(np.bitwise_or.reduce(words, initial=0))
    return differing.bit_count()


def _blocks(device: Device, bits: int, depth: int) -> int:
    """Block RAMs of a memory, in the best of their shapes."""
    return min(-(-bits // wide) * -(-depth // deep) for wide, deep in device.family.shapes)


def _multipliers(config: CoreConfig, device: Device) -> range:
    ring = config.ring
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
