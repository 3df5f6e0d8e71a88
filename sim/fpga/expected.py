"""How many multiplier blocks and block RAMs a core must come out with: what the guards of synthesis compare with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from skinny.model.assemble import Image
from skinny.model.errors import InputError
from skinny.model.isa import CoreConfig, Words, index_bits
from skinny.model.rings import Boolean, FixedPoint, PrimeField, Ring

from .devices import Device

__all__ = ["Expected", "expect_fit", "expected_cells", "multipliers"]


@dataclass(frozen=True)
class Expected:
    """The counts that are right. They are ranges, because yosys weighs some blocks against LUTs."""

    dsp: range
    block_ram: range


def expected_cells(
    config: CoreConfig, device: Device, *, target: str = "generic", rom: Image | None = None
) -> Expected:
    """For a core of ``config`` on ``device``, all of whose memories are made of block RAM; with ``rom`` they never hold
    anything but that image."""
    program, weights = (config.word_bits, config.depth), (config.bits, config.weights)
    inputs = (config.bits, 2 << (index_bits(config.threads) + index_bits(config.inputs)))
    results = (config.bits + 2, config.fifo)
    # Instantiated block RAMs are never 36 bits wide.
    shapes = [shape for shape in device.family.shapes if shape[0] <= 18 or target == "generic"]
    most = least = sum(_blocks(shapes, *memory) for memory in (program, weights, inputs, results))
    if rom is not None:
        # Bits that are the same in all words that a memory will ever hold may be made constant, and blocks that hold
        # nothing left out.
        for (bits, depth), words in ((program, rom.words), (weights, rom.weights)):
            least += _blocks(shapes, _differing(words, depth), len(words)) - _blocks(shapes, bits, depth)
    return Expected(multipliers(config.ring, device), range(least, most + 1))


def expect_fit(cells: Expected, device: Device) -> None:
    """Raise :exc:`InputError` if the core needs more than the device has."""
    for what, needed, there in (
        ("block RAMs", cells.block_ram[0], device.block_rams),
        ("multiplier blocks", cells.dsp[0], device.multipliers),
    ):
        if needed > there:
            raise InputError(f"the core does not fit {device.name}: it needs {needed:,} {what}, there are {there}")


def _differing(words: Words, depth: int) -> int:
    """Bits that are not the same in all words of a memory; those past the end of ``words`` are zero."""
    held = np.append(words, np.uint64(0)) if len(words) < depth else words
    return int(np.bitwise_or.reduce(held ^ held[0])).bit_count()


def _blocks(shapes: Iterable[tuple[int, int]], bits: int, depth: int) -> int:
    """Block RAMs of a memory, in the best of their shapes."""
    return min(-(-bits // wide) * -(-depth // deep) for wide, deep in shapes)


def multipliers(ring: Ring, device: Device) -> range:
    """Multiplier blocks of a product in ``ring``."""
    if not device.multipliers or isinstance(ring, Boolean):
        return range(0, 1)
    product = ring.bits + {FixedPoint: getattr(ring, "frac", 0), PrimeField: ring.bits}.get(type(ring), 0)
    if product < device.family.product:
        return range(0, 1)
    # Of a wider product yosys makes four, without the one of the high parts where its bits are not used or too few; a
    # high part of one bit goes to LUTs.
    rest = ring.bits - device.family.operand
    least = 1
    if rest > 1:
        least = 4 if product > 2 * device.family.operand and 2 * rest >= device.family.product else 3
    most = least
    if isinstance(ring, PrimeField) and ring.p & (ring.p + 1):
        # Barrett's reduction has two more products, by constants; some of their parts go to LUTs.
        parts = -(-ring.bits // device.family.operand)
        most += 3 * parts * (parts + 1)
    return range(least, most + 1)
