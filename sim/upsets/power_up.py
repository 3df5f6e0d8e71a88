"""Random power-up: whatever registers and memories hold when power comes on, one reset and one load make it good."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from skinny.model.compiler.pipeline import compile_formula
from skinny.model.errors import CheckError
from skinny.model.formula.parse import parse_formula
from skinny.model.link.host import Host
from skinny.model.link.wire import BoardInfo
from skinny.model.machine.assemble import Image
from skinny.model.machine.image import MachineImage
from skinny.model.parallel.image import ImageOptions, build_image
from skinny.model.rings import Ring
from skinny.sim.check.divergence import first_divergence
from skinny.sim.check.generate import golden_words, random_vectors
from skinny.sim.check.record import expect
from skinny.sim.check.stimulus import random_stimulus
from skinny.sim.link.board import SimulatedBoard
from skinny.sim.simulators.bulk import BulkCore

__all__ = ["DESIGNS", "power_up"]

#: The designs by their names, with the options of their images; with ``rom`` the image is part of the design.
DESIGNS: dict[str, dict[str, Any]] = {
    "plain": {},
    "self-check": {"self_check": True},
    "self-check rom": {"self_check": True, "rom": True},
    "lanes": {"lanes": 2},
    "registers in memory": {"self_check": True, "registers": "memory", "width": 20},
    "board": {"self_check": True},
}
#: Programs that take turns. The second has no weights, so that it does not overwrite the weight memory. Registers in
#: memory know no restart, and nothing but one in register 1.
FORMULAS = ("y0 = (a + b + 1)*c - d; y1 = a*b*d", "y = a*b*c*d")
DEEP_FORMULAS = ("y = (a + b + 1)*(c - d)", "y = a*b")
SIZE = {"depth": 128, "inputs": 4, "weights": 8}
#: Vectors of a run.
VECTORS = 10
#: The clock of the board in Hz, and the seconds that a reply may take.
CLOCK, PATIENCE = 24_000_000, 0.005


def power_up(design: str, ring: Ring, seeds: range) -> Iterator[str | None]:
    """Try each of ``seeds``: fill all state of a core, engine or board with random bits, reset it, load a program and
    run it on random vectors. Yields a message for each seed, or None if all was right."""
    options = DESIGNS[design] | SIZE
    rom = options.pop("rom", False)
    formulas = DEEP_FORMULAS if "registers" in options else FORMULAS
    programs = [compile_formula(parse_formula(text)).program for text in formulas]
    images = [build_image(program, ring, ImageOptions(**options)) for program in programs]
    tried = [_Board(image) if design == "board" and isinstance(image, Image) else _Core(image, rom) for image in images]
    for seed in seeds:
        yield tried[seed % len(tried)].attempt(np.random.default_rng(seed))


class _Core:
    """A core or an engine whose state can be filled. Its record is compared with the cycle model."""

    def __init__(self, image: MachineImage, rom: bool) -> None:
        self.image = image
        self.rom = rom
        self.core = BulkCore(image.hardware, image if rom else None, rom=rom, exposed=True)

    def attempt(self, rng: np.random.Generator) -> str | None:
        self.core.state.randomise(rng)
        self.core.reset()
        if not self.rom:
            self.core.load(self.image)
        vectors = random_vectors(rng, self.image, VECTORS)
        stimulus = random_stimulus(rng, self.image, vectors, idle=0.3, stall=0.3, early=0.5)
        return first_divergence(stimulus, expect(stimulus), self.core.run(stimulus))


class _Board:
    """A board whose state can be filled, driven by the host library. Its results are compared with the golden model."""

    def __init__(self, image: Image) -> None:
        self.image = image
        self.board = SimulatedBoard(BoardInfo(image.config, "simulated", CLOCK), exposed=True)

    def attempt(self, rng: np.random.Generator) -> str | None:
        self.board.state.randomise(rng)
        self.board.reset()
        vectors = random_vectors(rng, self.image, VECTORS)
        host = Host(self.board, seconds=PATIENCE)
        try:
            found = host.run(self.image, vectors)
        except CheckError as error:
            return str(error)
        if found.faults.any():
            return f"{found.faults.any(axis=1).sum()} of {VECTORS} vectors met a fault"
        return None if np.array_equal(found.words, golden_words(self.image, vectors)) else "wrong results"
