"""Cores drawn at random from the domain of the estimates, and the figures of their synthesis.

The coefficients are fitted to ``fitting_set`` and judged by ``held_out_set``. Both are the same on
every machine; rings, word sizes, threads, widths and options are spread evenly, the memories are left to chance.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from amaranth import Shape
from amaranth.lib.wiring import In, Out
from skinny.hdl.export.export import TOP, Pins
from skinny.hdl.measure.scan import ScanWrapper
from skinny.model.machine.assemble import Image, assemble
from skinny.model.machine.isa import CoreConfig
from skinny.model.rings import Boolean, FixedPoint, Modular, PrimeField, Ring
from skinny.sim.check.generate import random_program

from .devices import ECP5, find_device
from .estimate import LEAST_FOR_PRIMES
from .expected import expected_cells
from .place import packed_cells, place_seed
from .report import SCAN_WRAPPER, Design
from .synth import synthesise

__all__ = ["draw_designs", "fitting_set", "held_out_set", "measure"]

#: Kinds of devices, and whether the core has generic parts there.
VARIANTS = (("up5k", True), ("hx8k", True), ("ecp5-25k", True), ("ecp5-25k", False))


#: The kinds of rings, as often in twenty as they are drawn; primes are drawn only with threads enough.
KINDS = ("fixed",) * 9 + ("modular",) * 6 + ("prime",) * 3 + ("boolean",) * 2


def _draw_ring(rng: np.random.Generator, kind: str, bits: int) -> Ring:
    """A ring of ``bits`` bits, or of as many as the nearest Mersenne prime has. Slices of ``Boolean`` are a parameter
    of the core."""
    if kind == "prime":
        return PrimeField((1 << min((7, 13, 17, 19, 31), key=lambda exponent: abs(exponent - bits))) - 1)
    if kind == "boolean":
        return Boolean()
    return Modular(bits) if kind == "modular" else FixedPoint(bits, int(rng.integers(1, bits - 1)))


def draw_designs(seed: int, count: int, device: str, inferred: bool) -> list[Design]:
    """``count`` cores for ``device``, small enough for every device. Programs are random."""
    rng = np.random.default_rng(seed)

    def spread(levels: int) -> list[int]:
        return [int(place) * levels // count for place in rng.permutation(count)]

    smallest = find_device("up5k")
    designs: list[Design] = []
    bits = [8 + int(place) * 24 // (count - 1) for place in rng.permutation(count)]
    columns = [bits, *(spread(levels) for levels in (6, 3, 2, 2, 3, len(KINDS)))]
    for wide, threads, width, attention, check, rom, kind in zip(*columns, strict=True):
        name = KINDS[kind] if KINDS[kind] != "prime" or threads + 1 >= LEAST_FOR_PRIMES else "fixed"
        ring = _draw_ring(rng, name, wide)
        while True:
            config = CoreConfig(
                ring,
                width=3 + width,
                threads=1 + threads,
                depth=1 << int(rng.integers(4, 13)),
                inputs=1 << int(rng.integers(1, 8)),
                weights=1 << int(rng.integers(1, 10)),
                attention=bool(attention),
                check=bool(check),
                fifo=1 << int(rng.integers(4, 8)),
                slices=wide,
            )
            if expected_cells(config, smallest).block_ram[-1] <= smallest.block_rams:
                break
        designs.append(Design(_image(config), find_device(device), rom == 0, inferred))
    return designs


def _image(config: CoreConfig) -> Image:
    return assemble(random_program(np.random.default_rng(1), config, config.depth // 8, inputs=64), config)


def fitting_set() -> list[Design]:
    """The cores of ``skinny bench fpga``, then 24 drawn for each variant, in turn, then twelve more of those that have
    multiplier blocks: whether a block is used, or several, makes more kinds of them."""
    usual = [
        Design(_image(CoreConfig(FixedPoint(bits, bits // 2))), find_device(device), inferred=inferred)
        for bits in (8, 16, 32)
        for device, inferred in VARIANTS
    ]
    drawn = [draw_designs(n, 24, *variant) for n, variant in enumerate(VARIANTS)]
    more = [draw_designs(10 + n, 12, *variant) for n, variant in enumerate(VARIANTS) if variant[0] != "hx8k"]
    return usual + [design for draws in (drawn, more) for turn in zip(*draws, strict=True) for design in turn]


def held_out_set() -> list[Design]:
    """Twenty cores, five of each variant, the first of ten that are drawn; two of each variant on ECP5 are on the
    larger device."""
    drawn = [design for n, variant in enumerate(VARIANTS) for design in draw_designs(200 + n, 10, *variant)[:5]]
    return [
        replace(design, device=find_device("ecp5-85k")) if design.device.family is ECP5 and n % 5 < 2 else design
        for n, design in enumerate(drawn)
    ]


def measure(design: Design, seeds: Sequence[int], *, alone: bool) -> dict[str, float]:
    """``lut4`` and ``ff`` of the core, its ``cells`` on iCE40, and ``mhz``, the median of the ``seeds``. The cells are
    those of the core ``alone``, or those of the core in its scan wrapper less those of the wrapper: that spares a
    synthesis and is off by a LUT or two."""
    device, expected = design.device, design.expected()
    wrapped = synthesise(ScanWrapper(design.core()), SCAN_WRAPPER, device, expected)
    mhz = statistics.median(place_seed(wrapped, device, seed).frequency for seed in seeds)
    if alone:
        netlist = synthesise(Pins(design.core(), retire=False), TOP, device, expected)
        packed = packed_cells(netlist, device)
        cells = netlist.cells
        return {"lut4": cells.lut4, "ff": cells.ff, "mhz": mhz} | ({"cells": packed} if packed else {})
    pins = Pins(design.core(), retire=False).signature.members
    bits = {flow: sum(Shape.cast(pin.shape).width for pin in pins.values() if pin.flow is flow) for flow in (In, Out)}
    cells, packed = wrapped.cells, packed_cells(wrapped, device)
    registers = bits[In] + 2 * bits[Out]
    found = {"lut4": cells.lut4 - bits[Out], "ff": cells.ff - registers, "mhz": mhz}
    return found | ({"cells": packed - registers} if packed else {})
