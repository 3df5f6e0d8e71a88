"""Estimates without synthesis: closed formulas whose coefficients :mod:`.fit` found from our own synthesis runs.

LUTs and registers are sums of terms that follow the structure of the core (so many a bit, a register, an address bit
and so on). The period is the slowest of the paths from register to register: which steps of an instruction share a
path depends on the number of threads. Coefficients and the errors found on designs that were not fitted are kept in
``estimate.json``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import log2
from pathlib import Path
from typing import Any, NamedTuple

from skinny.model.errors import InputError
from skinny.model.machine.cycles import cycles_per_inference
from skinny.model.machine.image import MachineImage
from skinny.model.machine.isa import CoreConfig, index_bits
from skinny.model.rings import Boolean, FixedPoint, PrimeField

from .devices import ECP5, Device
from .expected import expect_fit, expected_cells, multipliers

__all__ = [
    "LEAST_FOR_PRIMES",
    "RANGES",
    "TABLE",
    "Estimate",
    "Shape",
    "estimate",
    "estimate_report",
    "ff_terms",
    "lut_terms",
    "paths",
    "read_table",
    "weigh",
]

TABLE = Path(__file__).with_name("estimate.json")
#: What the designs that were fitted had.
RANGES = {
    "bits": (7, 32),
    "threads": (1, 6),
    "width": (3, 5),
    "depth": (16, 4096),
    "inputs": (2, 128),
    "weights": (2, 512),
    "fifo": (16, 128),
}
#: With fewer threads the reduction after a product in a prime field is not cut off from the registers, and synthesis
#: makes of it what no formula tells.
LEAST_FOR_PRIMES = 4

Terms = dict[str, float]


class Shape(NamedTuple):
    """All that the formulas see of a design."""

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
        """Multiplier blocks; none where the product is made of LUTs, or of ANDs."""
        return multipliers(self.config.ring, self.device)[0]

    @property
    def bare(self) -> bool:
        """Registers of a single thread that begin with a constant need nothing but their own enable and reset."""
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
        return not self.blocks and not isinstance(self.config.ring, Boolean)

    @property
    def groups(self) -> tuple[str, str]:
        """Whose coefficients for cells, and for the period."""
        family = self.device.family
        return family.name, f"ecp5, {self.target}" if family is ECP5 else self.device.name


class Estimate(NamedTuple):
    """``mhz`` is the median of seeds as nextpnr gives it; ``path`` what decides it; ``outside`` names the parameters
    that no fitted design had."""

    lut4: int
    ff: int
    mhz: float
    path: str
    outside: tuple[str, ...]


def read_table() -> dict[str, Any]:
    """Coefficients and errors as they were fitted last."""
    found: dict[str, Any] = json.loads(TABLE.read_text())
    return found


def estimate(shape: Shape, table: Mapping[str, Any]) -> Estimate:
    """With the coefficients of ``table``. Raises :exc:`InputError` where there is no formula: for primes that are not
    Mersenne's, and for primes with few threads."""
    config = shape.config
    if isinstance(config.ring, PrimeField):
        if config.ring.p & (config.ring.p + 1):
            raise InputError(f"there is no estimate for {config.ring.name}: only for primes of the form 2^k - 1")
        if config.threads < LEAST_FOR_PRIMES:
            raise InputError(f"there is no estimate for {config.ring.name} with fewer than {LEAST_FOR_PRIMES} threads")
    cells, speed = shape.groups
    delays = {name: weigh(table["period"][speed], terms) for name, terms in paths(shape).items()}
    slowest = max(delays, key=lambda name: delays[name])
    return Estimate(
        lut4=round(weigh(table["lut4"][cells], lut_terms(shape))),
        ff=round(weigh(table["ff"][cells], ff_terms(shape))),
        mhz=1000 / delays[slowest],
        path=slowest,
        outside=tuple(
            f"{name} {getattr(config, name)} (fitted: {least} to {most})"
            for name, (least, most) in RANGES.items()
            if not least <= getattr(config, name) <= most
        ),
    )


def estimate_report(image: MachineImage, device: Device, target: str, *, rom: bool) -> dict[str, Any]:
    """What the report of a synthesis would say, as far as it can be told. Raises :exc:`InputError` where there is no
    estimate or the core does not fit."""
    config = image.config
    if len(image.lanes) > 1 or config.guard:
        raise InputError("there are no estimates of engines and of cores with the guard")
    table = read_table()
    found = estimate(Shape(config, device, target, rom), table)
    cells = expected_cells(config, device, target=target, rom=image if rom else None)
    expect_fit(cells, device)
    if (needed := max(found.lut4, found.ff)) > device.cells:
        raise InputError(
            f"the core does not fit {device.name}: it needs about {needed:,} cells, there are {device.cells:,}"
        )
    cap = device.cap if cells.dsp[-1] else None
    effective = device.usable(found.mhz, blocks=cells.dsp[-1], bits=config.bits, threads=config.threads)
    cycles = cycles_per_inference(image)
    return {
        "device": device.name,
        "ring": config.ring.name,
        "target": target,
        "rom": rom,
        # Of a rom some may be gone.
        "core": {"lut4": found.lut4, "ff": found.ff, "dsp": cells.dsp[-1], "block_ram": cells.block_ram[-1]},
        "mhz": {"median": found.mhz, "cap": cap, "effective": effective},
        "critical_path": found.path,
        "cycles_per_inference": cycles,
        "inferences_per_second": effective * 1e6 / cycles,
        "state_bits": config.threads * (config.width + config.attention) * config.bits,
        "program_words": len(image),
        "program_bits": len(image) * config.word_bits,
        "worst_errors": table["worst"],
        "outside": list(found.outside),
    }


def weigh(weights: Mapping[str, float], terms: Terms) -> float:
    """The sum of the terms, each times its coefficient."""
    return sum(weights[name] * value for name, value in terms.items())


def lut_terms(shape: Shape) -> Terms:
    """How many of each thing that takes LUTs a core has."""
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
    """How many of each thing that takes registers a core has."""
    config = shape.config
    bits, width, threads = config.bits, config.width, config.threads
    own = shape.target == "ecp5"
    fabric = bits * (not own or bits > shape.device.family.operand)
    return {
        "core": 1,
        "bit of state": threads * bits * (width + config.attention),
        "bit of a scalar": bits * (1 + 2 * config.attention),
        # What the product is added to waits for it; then sums, then their operands are held as well.
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
    """From register to register: what lies on the way. With more threads the way round is cut more often."""
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
    # Of adders one behind the other the second begins to carry before the first is through.
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
    # As the stages of the multiply-add unit are (``registers_after`` in hdl/parts/arithmetic.py). What takes the time
    # to negate is the way from one bit to many; a product is later than that.
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
