"""Amaranth's own simulator, for machines without a C++ compiler."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from amaranth import ResetInserter, Signal
from amaranth.sim import Simulator
from skinny.hdl.core.core import Core
from skinny.hdl.export.export import Pins
from skinny.hdl.parallel.engine import ParallelEngine
from skinny.model.files import copy_file
from skinny.sim.check.record import Record
from skinny.sim.check.session import StepRunner
from skinny.sim.check.steps import CoreStep

__all__ = ["run_steps"]


def run_steps(
    core: Core | ParallelEngine,
    steps: Iterable[CoreStep],
    vcd: str | None = None,
    pins: list[dict[str, int]] | None = None,
) -> list[Record]:
    """Do ``steps`` one after the other on ``core``; returns the record of each run. ``pins`` gets what is on each pin
    in each cycle. Raises :exc:`CheckError` on the first difference from the cycle model."""
    design = Pins(core)
    ports = {"rst": Signal(), **{name: getattr(design, name) for name in design.signature.members}}
    records: list[Record] = []

    async def testbench(ctx: Any) -> None:
        def read(name: str) -> int:
            return int(ctx.get(ports[name]))

        def write(name: str, value: int) -> None:
            ctx.set(ports[name], value)

        runner = StepRunner(read, write, {name: len(port) for name, port in ports.items()})
        for step in steps:
            for _ in runner.do(step):
                if pins is not None:
                    pins.append({name: read(name) for name in ports})
                await ctx.tick()
        records.extend(runner.records)

    simulator = Simulator(ResetInserter(ports["rst"])(design))
    simulator.add_clock(1e-8)
    simulator.add_testbench(testbench)
    if vcd is None:
        simulator.run()
    else:
        with tempfile.TemporaryDirectory(prefix="skinny-") as folder:
            wave = Path(folder, "wave.vcd")
            try:
                with simulator.write_vcd(str(wave)):
                    simulator.run()
            finally:  # a waveform is wanted most when the core differs from the model
                copy_file(wave, vcd)
    return records
