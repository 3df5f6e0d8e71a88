"""Estimates without synthesis: closed formulas whose coefficients :mod:`.fit` found from our own synthesis runs.

LUTs and registers are sums of terms that follow the structure of the core (so many a bit, a register, an address bit
and so on). The period is the slowest of the paths from register to register: which steps of an instruction share a
path depends on the number of threads. Coefficients and the errors found on designs that were not fitted are kept in
``estimate.json``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from skinny.model.assemble import Image
from skinny.model.errors import InputError
from skinny.model.isa import CoreConfig, index_bits
from skinny.model.lane_cycles import cycles_per_inference
from skinny.model.rings import Boolean, FixedPoint, PrimeField
from skinny.model.segments import EngineImage

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
    "bits": (8, 32),
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


def estimate_report(image: Image | EngineImage, device: Device, target: str, *, rom: bool) -> dict[str, Any]:
    """What the report of a synthesis would say, as far as it can be told. Raises :exc:`InputError` where there is no
    estimate or the core does not fit."""
    config = image.config
    if isinstance(image, EngineImage) or config.guard:
        raise InputError("there are no estimates of engines and of cores with the guard")
    table = read_table()
    found = estimate(Shape(config, device, target, rom), table)
    cells = expected_cells(config, device, target=target, rom=image if rom else None)
    expect_fit(cells, device)
    cap = device.cap if cells.dsp[-1] else None
    effective = found.mhz if cap is None else min(found.mhz, cap)
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


def _mersenne(shape: Shape) -> bool:
    return isinstance(shape.config.ring, PrimeField)


def lut_terms(shape: Shape) -> Terms:
    """How many of each thing that takes LUTs a core has."""
    config = shape.config
    bits, width = config.bits, config.width
    is_boolean = isinstance(config.ring, Boolean)
    return {
        "core": 1,
        "bit": bits,
        "bit of a register": bits * width,
        "bit, attention": bits * config.attention,
        "bit of a register, check": bits * width * config.check,
        "bit of a register, one thread": bits * width * (config.threads == 1),
        "address bit": index_bits(config.depth) + index_bits(config.inputs),
        "FIFO address bit": index_bits(config.fifo),
        "load port": not shape.rom,
        "register, load port": width * (not shape.rom),
        "bit, Boolean": bits * is_boolean,
        "bit, Mersenne prime": bits * _mersenne(shape),
        # The bits of partial products below the highest that is kept: a square without a corner.
        "bit of partial products": shape.in_luts * (bits**2 - (2 * bits - shape.kept) ** 2 / 2),
        "bit, product in LUTs": shape.in_luts * bits,
        "bit kept, product of blocks": shape.kept * (bits > shape.device.family.operand) * (shape.blocks > 0),
    }


def ff_terms(shape: Shape) -> Terms:
    """How many of each thing that takes registers a core has."""
    config = shape.config
    bits, width, threads = config.bits, config.width, config.threads
    return {
        "core": 1,
        "bit": bits,
        "bit of state": threads * bits * (width + config.attention),
        "bit of a register": bits * width,
        "bit, attention": bits * config.attention,
        "bit of a register, check": bits * width * config.check * (threads > 1),
        "bit of a register, load port": bits * width * (not shape.rom),
        "thread": threads,
        "thread, register": threads * width,
        "bit, thread": bits * threads,
        "address bit": index_bits(config.depth) + index_bits(config.inputs),
        "bit of a word": config.word_bits,
        "bit, instantiated": bits * (shape.target == "ecp5"),
        "bit of a word, instantiated": config.word_bits * (shape.target == "ecp5"),
        "bit of a product": shape.kept * (threads > 1) * shape.in_luts,
        "bit of an operand": bits * (threads > 2) * shape.in_luts,
        "bit of a product of several blocks": shape.kept * (threads > 1) * (bits > shape.device.family.operand),
    }


def paths(shape: Shape) -> dict[str, Terms]:
    """From register to register: what lies on the way. With more threads the way round is cut more often."""
    config = shape.config
    bits = config.bits
    control: Terms = {"control": 1, "control, address bit": index_bits(config.depth) + index_bits(config.inputs)}
    select: Terms = {"select": 1, "select, register": config.width}
    product: Terms = {"product": 1}
    if shape.in_luts:
        product = {"product in LUTs": 1, "product in LUTs, bit": bits, "product in LUTs, bit kept": shape.kept}
    elif bits > shape.device.family.operand:
        product = {"product of blocks": 1, "product of blocks, bit kept": shape.kept}
    add: Terms = {"sum": 1, "sum, bit": bits}
    if isinstance(config.ring, Boolean):
        product, add = {"product of bits": 1}, {}
    elif _mersenne(shape):
        add |= {"fold": 1, "fold, bit": bits}
    write: Terms = {"write": 1}
    cut: dict[str, list[Terms]] = {
        1: {"the whole instruction": [select, product, add, write]},
        2: {"operand selection and product": [select, product], "sum and write": [add, write]},
        3: {"operand selection": [select], "product": [product], "sum and write": [add, write]},
    }.get(config.threads, {"operand selection": [select], "product": [product], "sum": [add], "write": [write]})
    return {"control": control} | {
        name: {k: v for part in parts for k, v in part.items()} for name, parts in cut.items()
    }
