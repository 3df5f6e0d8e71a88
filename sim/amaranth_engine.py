"""The engine for machines without a C++ compiler: Amaranth's own simulator, with the same driver and checks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from amaranth.sim import Simulator
from skinny.hdl.core import Core
from skinny.hdl.engine import ParallelEngine
from skinny.hdl.export import Pins

from . import session
from .bench import Load, Reset, Run, Step
from .check import Record

__all__ = ["run_steps"]


def run_steps(core: Core | ParallelEngine, steps: Iterable[Step], vcd: str | None = None) -> list[Record]:
    """Do ``steps`` one after the other on ``core``; what each run showed. Raises :exc:`CheckError` on the first
    difference to the cycle model."""
    pins = Pins(core)
    ports = {name: getattr(pins, name) for name in pins.signature.members}
    records: list[Record] = []

    async def testbench(ctx: Any) -> None:
        def read(name: str) -> int:
            return int(ctx.get(ports[name]))

        def write(name: str, value: int) -> None:
            if name != "rst":  # the registers begin with their reset values
                ctx.set(ports[name], value)

        for step in steps:
            match step:
                case Reset():
                    driver = session.reset(write, core.rom)
                case Load(image):
                    driver = session.load(read, write, image)
                case Run(stimulus):
                    run = session.Session(stimulus, read, write)
                    driver = run.steps()
            for _ in driver:
                await ctx.tick()
            if isinstance(step, Run):
                records.append(run.record)

    simulator = Simulator(pins)
    simulator.add_clock(1e-8)
    simulator.add_testbench(testbench)
    if vcd is None:
        simulator.run()
    else:
        with simulator.write_vcd(vcd):
            simulator.run()
    return records
