"""The terms of the estimates: how many of each thing that takes LUTs, registers or time a core has.

The terms follow the structure of the core (a bit, a register, an address bit and so on). The period is the delay of the
slowest path from register to register; the number of threads decides which steps of an instruction share a path.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log2
from typing import NamedTuple

from skinny.model.machine.isa import CoreConfig, index_bits
from skinny.model.rings import Boolean, FixedPoint, PrimeField

from .devices import ECP5, Device
from .expected import multipliers

__all__ = ["Shape", "Terms", "ff_terms", "lut_terms", "paths", "weigh"]

Terms = dict[str, float]


class Shape(NamedTuple):
    """The parameters of a design that the formulas use."""

    config: CoreConfig
    device: Device
    target: str
    rom: bool

    @property
    def kept(self) -> int:
        """Bits of the product that are used, from the lowest."""
        ring = self.config.ring
        if isinstance(ring, PrimeField):
            return 2 * ring.bits
        return ring.bits + (ring.frac if isinstance(ring, FixedPoint) else 0)

    @property
    def blocks(self) -> int:
        """The number of multiplier blocks; none where the product is made of LUTs, or of ANDs."""
        return multipliers(self.config.ring, self.device)[0]

    @property
    def bare(self) -> bool:
        """Whether registers need nothing but their own enable and reset: those of a single thread that begin with a
        constant."""
        return self.config.threads == 1 and self.rom

    @property
    def wide(self) -> int:
        """Bits of the product that are made of more than one block: none where a block is enough."""
        more = self.kept - self.device.family.operand
        # A single bit that one block does not take is next to nothing if no more than that is kept.
        several = self.blocks > 1 or (self.blocks == 1 and more > 2)
        return more if self.config.bits > self.device.family.operand and several else 0

    @property
    def in_luts(self) -> bool:
        """Whether the product is made of LUTs."""
        return not self.blocks and not isinstance(self.config.ring, Boolean)

    @property
    def groups(self) -> tuple[str, str]:
        """The names of the groups of designs that share coefficients: for cells, and for the period."""
        family = self.device.family
        return family.name, f"ecp5, {self.target}" if family is ECP5 else self.device.name


def weigh(weights: Mapping[str, float], terms: Terms) -> float:
    """The sum of the terms, each times its coefficient."""
    return sum(weights[name] * value for name, value in terms.items())


def lut_terms(shape: Shape) -> Terms:
    """The number of each thing that takes LUTs in a core."""
    config = shape.config
    bits, width, threads = config.bits, config.width, config.threads
    # Registers gated by a bit each and joined by OR, with the weight or the accumulator: a LUT joins three to a fourth.
    gates = -(-(2 * width + config.attention - 1) // 3)
    return {
        "core": 1,
        "register": width,
        "load port": not shape.rom,
        "address bit": index_bits(config.depth) + index_bits(config.inputs),
        "FIFO address bit": index_bits(config.fifo),
        # On ECP5 counters of up to four bits are made of LUTs, wider ones of carry cells.
        "bit of a short counter": sum(
            b for b in (index_bits(config.fifo),) * 2 + (index_bits(config.inputs),) if b <= 4
        ),
        "bit": bits,
        "bit of a gate": 2 * bits * gates,
        "bit of a register": bits * width * (not shape.bare),
        "bit of a register, one thread, load port": bits * width * (threads == 1 and not shape.rom),
        "bit, up to two threads": bits * (threads <= 2),
        "bit, four threads and more": bits * (threads >= 4),
        "bit, attention": bits * config.attention,
        "bit of a register, check": bits * width * config.check * (1 if shape.bare else 2) / 3,
        "bit of a register, check, one thread": bits * width * config.check * (threads == 1),
        "bit, Boolean": bits * isinstance(config.ring, Boolean),
        "bit, Mersenne prime": bits * isinstance(config.ring, PrimeField),
        # The bits of partial products below the highest that is kept: a square without a corner.
        "bit of partial products": shape.in_luts * (bits**2 - (2 * bits - shape.kept) ** 2 / 2),
        "bit, product in LUTs": shape.in_luts * bits,
        "bit kept, product of blocks": shape.wide * (threads > 1),
        "bit kept, product of blocks, one thread": shape.wide * (threads == 1),
        "bit kept, product of a block and a bit": shape.wide * (bits == shape.device.family.operand + 1),
    }


def ff_terms(shape: Shape) -> Terms:
    """The number of each thing that takes registers in a core."""
    config = shape.config
    bits, width, threads = config.bits, config.width, config.threads
    own = shape.target == "ecp5"
    fabric = bits * (not own or bits > shape.device.family.operand)
    return {
        "core": 1,
        "bit of state": threads * bits * (width + config.attention),
        "bit of a scalar": bits * (1 + 2 * config.attention),
        # The value that the product is added to waits for it; then sums, then their operands are held as well.
        "bit of the pipeline": bits * (0, 1, 2, 3, 5)[min(threads, 5) - 1],
        "bit, thread": bits * max(0, threads - 5),
        "bit of a start vector": bits * width * (not shape.rom),
        "bit of a gated start vector": bits * width * (threads > 1 and not shape.rom),
        "bit of a register, check": bits * width * config.check * (threads > 1) / 2,
        "bit of a memory": 0 if own else 3 * bits + config.word_bits,
        "bit of a word": config.word_bits,
        "address bit": index_bits(config.depth) + index_bits(config.inputs),
        "address bit, thread": index_bits(config.depth) * threads,
        "thread": threads,
        "thread, register": threads * width,
        "bit of operands": 2 * fabric * (threads > 2),
        "bit of operands, product in LUTs": 2 * bits * (threads > 2) * shape.in_luts,
        "bit of a product": shape.kept * (threads > 1) * (fabric > 0),
        "bit of a product in LUTs": shape.kept * (threads > 1) * shape.in_luts,
        "bit of a product of blocks": shape.kept * (threads > 1) * (bits > shape.device.family.operand),
        "bit, Boolean": bits * isinstance(config.ring, Boolean),
        "bit, Mersenne prime": bits * isinstance(config.ring, PrimeField) * max(0, threads - 4),
    }


def paths(shape: Shape) -> dict[str, Terms]:
    """The paths from register to register, with the terms of their delays. With more threads the way round is cut more
    often."""
    config = shape.config
    bits, threads = config.bits, config.threads
    control: Terms = {
        "control": 1,
        "control, address bit": index_bits(config.depth) + index_bits(config.inputs),
        "control, load port": not shape.rom,
        "control, bit of a loaded register": bits * config.width * (not shape.rom),
    }
    # Whether a register is there has to be told only of some widths.
    decode: Terms = {"decode": 1, "decode, no power of two": config.width & (config.width - 1) > 0}
    select: Terms = {"select": 1, "select, register": config.width, "select, bit": bits}
    product: Terms = {"product": 1}
    if shape.in_luts:
        product = {"product in LUTs": 1, "product in LUTs, bit": bits, "product in LUTs, bit kept": shape.kept}
    elif bits > shape.device.family.operand and not shape.wide:
        product = {"product beside a bit": 1}
    elif shape.wide:
        product = {"product of blocks": 1, "product of blocks, bit kept": shape.kept}
    negate: Terms = {"negate": 1}
    # The second of two adders in a row begins to carry before the first is through.
    prime = isinstance(config.ring, PrimeField)
    overlap = (threads == 1 and (shape.in_luts or shape.wide)) or (prime and threads <= 5)
    add: Terms = {"sum": 1, "sum, bit": 0 if overlap else bits}
    fold: Terms = {}
    if isinstance(config.ring, Boolean):
        product, negate, add = {"product of bits": 1}, {}, {}
    elif prime:
        add, fold = {**add, "sum of three": 1}, {"fold": 1, "fold, bit": bits}
    # On ECP5 the way to the block RAM of the results is as long as that through a LUT to a register.
    short = shape.bare and shape.device.family is not ECP5
    write: Terms = {"write": not short, "write, attention": config.attention}
    # The cuts are the stages of the multiply-add unit (``registers_after`` in hdl/parts/arithmetic.py). The time to
    # negate is that of the way from one bit to many; a product is later than that.
    operands: dict[str, list[Terms]] = {"operand selection": [select], "product": [product]}
    later: dict[str, list[Terms]] = {"sum": [add], "fold": [fold], "write": [write]}
    cut = {
        1: {"the whole instruction": [select, product, add, fold, write]},
        2: {"operand selection and product": [select, product], "sum and write": [negate, add, fold, write]},
        3: operands | {"sum and write": [negate, add, fold, write]},
        4: operands | {"sum": [negate, add, fold], "write": [write]},
        5: operands | {"sum": [add, fold], "write": [write]},
    }.get(threads, operands | later)
    found = {"control": control, "decoder": decode}
    for name, parts in cut.items():
        found[name] = {k: v for part in parts for k, v in part.items()}
    if config.check and threads <= 2:
        found["check"] = {"check": 1, "check, level": log2(config.width * bits)}
    return found
