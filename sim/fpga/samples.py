"""Cores drawn at random from the domain of the estimates, and what synthesis makes of them.

``fitting_set`` is what the coefficients are fitted to, ``held_out_set`` what they are judged by. Both are the same on
every machine; threads and word sizes are spread evenly, everything else is left to chance.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from skinny.hdl.core import Core
from skinny.hdl.export import TOP, Pins
from skinny.hdl.harness import Harness
from skinny.model.assemble import Image, assemble
from skinny.model.isa import CoreConfig
from skinny.model.rings import Boolean, FixedPoint, Modular, PrimeField, Ring

from ..generate import random_program
from .devices import ECP5, find_device
from .expected import count_cells, expected_cells
from .place import place_seed
from .report import HARNESS
from .synth import synthesise

__all__ = ["Sample", "draw_samples", "fitting_set", "held_out_set", "measure"]

#: Kinds of devices, and whether the core has generic parts there.
VARIANTS = (("up5k", True), ("hx8k", True), ("ecp5-25k", True), ("ecp5-25k", False))
#: What the smallest device has.
BLOCK_RAMS = 30


class Sample(NamedTuple):
    """A core on a device."""

    config: CoreConfig
    device: str
    inferred: bool
    rom: bool

    def core(self) -> Core:
        target = "generic" if self.inferred else find_device(self.device).family.target
        return Core(self.config, self.image() if self.rom else None, rom=self.rom, target=target)

    def image(self) -> Image:
        """A random program that fills a good part of the memory."""
        program = random_program(np.random.default_rng(1), self.config, self.config.depth // 4, inputs=64)
        return assemble(program, self.config)


def _draw_ring(rng: np.random.Generator, bits: int) -> Ring:
    """Of ``bits`` bits, or as many as the nearest Mersenne prime has. The lanes of ``Boolean`` are not its own."""
    kind = rng.choice(["modular", "fixed", "prime", "boolean"], p=[0.3, 0.45, 0.15, 0.1])
    if kind == "fixed":
        return FixedPoint(bits, int(rng.integers(1, bits)))
    if kind == "prime":
        return PrimeField((1 << min((7, 13, 17, 19, 31), key=lambda exponent: abs(exponent - bits))) - 1)
    return Modular(bits) if kind == "modular" else Boolean()


def draw_samples(seed: int, count: int, device: str, inferred: bool) -> list[Sample]:
    """``count`` cores for ``device``."""
    rng = np.random.default_rng(seed)
    bits = 8 + (rng.permutation(count) * 24 / max(1, count - 1)).round().astype(int)
    threads = 1 + (rng.permutation(count) + seed) % 6
    samples: list[Sample] = []
    while len(samples) < count:
        wide = int(bits[len(samples)])
        config = CoreConfig(
            _draw_ring(rng, wide),
            width=int(rng.integers(3, 6)),
            threads=int(threads[len(samples)]),
            depth=1 << int(rng.integers(6, 13)),
            inputs=1 << int(rng.integers(2, 8)),
            weights=1 << int(rng.integers(3, 10)),
            attention=bool(rng.integers(2)),
            check=bool(rng.integers(2)),
            fifo=1 << int(rng.integers(4, 8)),
            lanes=wide,
        )
        sample = Sample(config, device, inferred, bool(rng.integers(3) == 0))
        if count_cells(config, find_device("up5k"), None, inferred=True).block_ram[-1] <= BLOCK_RAMS:
            samples.append(sample)
    return samples


def fitting_set() -> list[Sample]:
    return [sample for n, variant in enumerate(VARIANTS) for sample in draw_samples(n, 18, *variant)]


def held_out_set() -> list[Sample]:
    """Twenty, five of each variant; on ECP5 two of each on the larger device."""
    drawn = [sample for n, variant in enumerate(VARIANTS) for sample in draw_samples(100 + n, 5, *variant)]
    return [
        sample._replace(device="ecp5-85k") if find_device(sample.device).family is ECP5 and n % 5 < 2 else sample
        for n, sample in enumerate(drawn)
    ]


def measure(sample: Sample, seeds: Sequence[int], *, alone: bool) -> dict[str, Any]:
    """LUT4 and FF of the core with its harness and, if asked, ``alone``; the frequency with each seed and the part
    of the core that decides it."""
    device = find_device(sample.device)
    core = sample.core()
    expected = expected_cells(core, device)
    harnessed = synthesise(Harness(core), HARNESS, device, expected)
    routed = [place_seed(harnessed, device, seed) for seed in seeds]
    cells = synthesise(Pins(sample.core(), retire=False), TOP, device, expected).cells if alone else None
    return {
        "lut4": harnessed.cells.lut4,
        "ff": harnessed.cells.ff,
        "alone": cells and {"lut4": cells.lut4, "ff": cells.ff, "dsp": cells.dsp, "block_ram": cells.block_ram},
        "mhz": statistics.median(seed.frequency for seed in routed),
        "path": routed[0].path.words,
    }
