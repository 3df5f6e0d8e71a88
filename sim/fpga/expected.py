"""The numbers of multiplier blocks and block RAMs that a core must come out with, for the guards of synthesis."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from skinny.model.errors import InputError
from skinny.model.machine.image import Hardware, MachineImage
from skinny.model.machine.isa import Words, index_bits
from skinny.model.parallel.image import ImageOptions
from skinny.model.parallel.segments import EngineConfig
from skinny.model.program.program import Program
from skinny.model.rings import Boolean, FixedPoint, PrimeField, Ring

from .devices import Device

__all__ = ["Expected", "expect_fit", "expected_cells", "image_for", "multipliers"]


@dataclass(frozen=True)
class Expected:
    """The right counts. They are ranges, because yosys weighs some blocks against LUTs. ``idle`` are the inputs that
    mean nothing to the design."""

    dsp: range
    block_ram: range
    idle: frozenset[str] = frozenset()


def expected_cells(
    hardware: Hardware,
    device: Device,
    *,
    target: str = "generic",
    rom: MachineImage | None = None,
) -> Expected:
    """The counts of a core or an engine on ``device``, all of whose memories are made of block RAM; with ``rom`` they
    never hold anything but that image."""
    config, cores = hardware.core, hardware.cores
    engine = cores > 1
    vectors = hardware.vectors if isinstance(hardware, EngineConfig) else max(2, config.threads)
    vector_bits = (vectors - 1).bit_length()
    guard = int(config.guard)
    program, weights = (config.word_bits + guard, config.depth), (config.bits + guard, config.weights)
    inputs = (config.bits + guard, 2 << (vector_bits + index_bits(config.inputs)))
    results = (config.bits + 2 + guard * (1 + index_bits(2 * config.fifo)), config.fifo)
    each = [program, weights, inputs, results]
    if config.deep:
        # Registers are there twice; the accumulator as a factor once more.
        threads = 1 << index_bits(config.threads)
        registers = (config.bits + guard, threads << index_bits(config.width))
        each += [registers, registers, *([(config.bits + guard, threads)] if config.attention else [])]
    if config.window:
        each.append((config.window_bits + guard, 2 << vector_bits))
    memories = each * cores + [results] * engine
    if config.argmax:
        memories += (1 + guard) * [(config.bits + index_bits(config.argmax), 2 << (config.threads - 1).bit_length())]
    images = rom.lanes if rom is not None else []
    # Bits that are the same in all words that a memory will ever hold may be made constant, and blocks that hold
    # nothing left out.
    held = [(memory, words) for image in images for memory, words in ((program, image.words), (weights, image.weights))]
    shapes = device.family.shapes
    own = [memory for memory in memories if target == "ecp5" and _instantiated(shapes, *memory)]
    inferred = [memory for memory in memories if memory not in own]
    most = sum(_instantiated(shapes, *memory) for memory in own)
    least = most + sum(min(_blocks(shapes, *memory), _packed(shapes, *memory)) for memory in inferred)
    most += sum(_blocks(shapes, *memory) for memory in inferred)
    for (bits, depth), words in held:
        if (bits, depth) in inferred:
            least += _blocks(shapes, _differing(words, depth), len(words)) - _blocks(shapes, bits, depth)
    products = multipliers(config.ring, device)
    times = cores + engine
    # Every vector of an engine is a batch.
    idle = frozenset(["i_last"] if engine else [])
    return Expected(range(products[0] * times, products[-1] * times + 1), range(least, most + 1), idle)


def expect_fit(cells: Expected, device: Device) -> None:
    """Raise :exc:`InputError` if the core needs more than the device has."""
    for what, needed, there in (
        ("block RAMs", cells.block_ram[0], device.block_rams),
        ("multiplier blocks", cells.dsp[0], device.multipliers),
    ):
        if needed > there:
            raise InputError(f"the core does not fit {device.name}: it needs {needed:,} {what}, there are {there}")


def image_for(
    device: Device, program: Program, ring: Ring, options: ImageOptions, *, target: str = "generic", rom: bool = False
) -> MachineImage:
    """The image of ``program`` for a core of ``target``'s parts on ``device``. A program that fits the block RAMs of
    the device only when what repeats becomes loops is rolled, unless ``options`` say something about that."""
    image = device.family.build_image(program, ring, options)
    if options.roll is None and options.depth is None and len(image.lanes) == 1:
        try:
            _expect_image_fits(image, device, target, rom)
        except InputError:
            rolled = device.family.build_image(program, ring, replace(options, roll=True))
            _expect_image_fits(rolled, device, target, rom)
            return rolled
    return image


def _expect_image_fits(image: MachineImage, device: Device, target: str, rom: bool) -> None:
    expect_fit(expected_cells(image.hardware, device, target=target, rom=image if rom else None), device)


def _differing(words: Words, depth: int) -> int:
    """The number of bits that differ between words of a memory; words past the end of ``words`` are zero."""
    held = np.append(words, np.uint64(0)) if len(words) < depth else words
    return int(np.bitwise_or.reduce(held ^ held[0])).bit_count()


def _blocks(shapes: Iterable[tuple[int, int]], bits: int, depth: int) -> int:
    """Block RAMs of a memory, in the best of their shapes."""
    return min(-(-bits // wide) * -(-depth // deep) for wide, deep in shapes)


def _instantiated(shapes: Iterable[tuple[int, int]], bits: int, depth: int) -> int:
    """Block RAMs of a memory that is instantiated: side by side, as wide as its depth allows, but not 36 bits. Zero for
    deeper ones, which are inferred."""
    wide = next((wide for wide, deep in shapes if wide <= 18 and depth <= deep), None)
    return -(-bits // wide) if wide else 0


def _packed(shapes: Iterable[tuple[int, int]], bits: int, depth: int) -> int:
    """Block RAMs of a memory whose last column is narrower than every shape and shares its blocks with further words
    of that column."""
    narrow, deep = min(shapes)
    rest = bits % narrow
    return _blocks(shapes, bits - rest, depth) + -(-rest * depth // (narrow * deep))


def multipliers(ring: Ring, device: Device) -> range:
    """Multiplier blocks of a product in ``ring``."""
    if not device.multipliers or isinstance(ring, Boolean):
        return range(0, 1)
    product = ring.bits + {FixedPoint: getattr(ring, "frac", 0), PrimeField: ring.bits}.get(type(ring), 0)
    if product < device.family.product:
        return range(0, 1)
    # Yosys makes a wider product of four, without the one of the high parts where its bits are not used or too few; a
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
