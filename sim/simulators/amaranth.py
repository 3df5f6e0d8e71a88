"""The engine for machines without a C++ compiler: Amaranth's own simulator, with the same driver and checks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from amaranth import ResetInserter, Signal
from amaranth.sim import Simulator
from skinny.hdl.core.core import Core
from skinny.hdl.export.export import Pins
from skinny.hdl.parallel.engine import ParallelEngine
from skinny.sim.check.bench import Step
from skinny.sim.check.check import Record
from skinny.sim.check.session import Driver

__all__ = ["run_steps"]


def run_steps(core: Core | ParallelEngine, steps: Iterable[Step], vcd: str | None = None) -> list[Record]:
    """Do ``steps`` one after the other on ``core``; what each run showed. Raises :exc:`CheckError` on the first
    difference to the cycle model."""
    pins = Pins(core)
    ports = {"rst": Signal(), **{name: getattr(pins, name) for name in pins.signature.members}}
    records: list[Record] = []

    async def testbench(ctx: Any) -> None:
        def read(name: str) -> int:
            return int(ctx.get(ports[name]))

        def write(name: str, value: int) -> None:
            ctx.set(ports[name], value)

        driver = Driver(read, write, {name: len(port) for name, port in ports.items()})
        for step in steps:
            for _ in driver.do(step):
                await ctx.tick()
        records.extend(driver.records)

    simulator = Simulator(ResetInserter(ports["rst"])(pins))
    simulator.add_clock(1e-8)
    simulator.add_testbench(testbench)
    if vcd is None:
        simulator.run()
    else:
        with simulator.write_vcd(vcd):
            simulator.run()
    return records
