"""``skinny bench parallel``: one inference on one core and on engines of several lanes, measured in the simulated RTL,
and what they cost on an ECP5."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from skinny.hdl.export.export import TOP, Pins
from skinny.hdl.parallel.engine import component
from skinny.model.errors import CheckError
from skinny.model.machine.image import Hardware, MachineImage
from skinny.model.machine.isa import CoreConfig
from skinny.model.parallel.image import ImageOptions, build_image
from skinny.model.program.program import Output, Program
from skinny.model.rings import FixedPoint
from skinny.scripts.progress import counted
from skinny.sim.check.divergence import first_divergence
from skinny.sim.check.generate import random_program
from skinny.sim.check.record import expect
from skinny.sim.check.stimulus import Stimulus, random_elements
from skinny.sim.fpga.devices import find_device
from skinny.sim.fpga.expected import expected_cells
from skinny.sim.fpga.synth import synthesise
from skinny.sim.simulators.bulk import BulkCore

__all__ = ["LANES", "bench_parallel", "measure", "sized_program"]

LANES = (1, 2, 4, 8)
WORDS = 20_000
RING = FixedPoint(16, 8)
INPUTS = 8
DEVICE = find_device("ecp5-85k")


def bench_parallel() -> list[dict[str, Any]]:
    """A row a number of lanes: cycles of one inference, from its last input word to its result, and cells."""
    rows: list[dict[str, Any]] = []
    program = sized_program(WORDS)
    for lanes in counted("engines, each built, simulated and synthesised", LANES):
        image = build_image(program, RING, ImageOptions(lanes=lanes))
        taken = measure(BulkCore(image.hardware), image)
        found = cells(image.hardware)
        first = rows[0] if rows else {"cycles": taken, "luts": found["luts"]}
        rows.append(
            {
                "lanes": lanes,
                "cycles": taken,
                "speed_up": first["cycles"] / taken,
                **found,
                "times_luts": found["luts"] / first["luts"],
            }
        )
    return rows


def sized_program(words: int) -> Program:
    """A random program of all kinds of scalars of ``words`` program words, or one or two less."""
    config = CoreConfig(RING, inputs=INPUTS, weights=8)
    program = random_program(np.random.default_rng(1), config, words, inputs=INPUTS)
    cost, _ = program.costs()
    length = int(np.searchsorted(np.cumsum(cost), words, side="right"))
    return replace(program, code=program.code.part(slice(0, length)), outputs=(Output("y", 2, length),))


def measure(core: BulkCore, image: MachineImage) -> int:
    """Cycles of one inference in the RTL, every one of them compared with the cycle model."""
    core.load(image)
    elements = random_elements(np.random.default_rng(1), RING, (1, INPUTS))
    stimulus = Stimulus.steady(image, image.config.pack(elements))
    record = core.run(stimulus)
    if (difference := first_divergence(stimulus, expect(stimulus), record)) is not None:
        raise CheckError(difference)
    return int(record.results["valid"][-1] - record.accepted[-1])


def cells(hardware: Hardware) -> dict[str, int]:
    """Cells after synthesis, before place and route."""
    design = Pins(component(hardware, target=DEVICE.family.target), retire=False)
    found = synthesise(design, TOP, DEVICE, expected_cells(hardware, DEVICE, target=DEVICE.family.target)).cells
    return {
        "luts": found.lut4 + 2 * found.carry + 6 * found.lut_ram,
        "registers": found.ff,
        "multipliers": found.dsp,
        "block_rams": found.block_ram,
    }
