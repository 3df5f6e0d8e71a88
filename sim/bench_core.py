"""cocotb bench of the core: in every cycle it does what the cycle model says.

The job (see :mod:`skinny.sim.bench`) is a list of steps, or of images with vectors for the tests that make their own
stimuli.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from skinny.sim import session
from skinny.sim.bench import Load, Reset, Run, read_job, write_answer
from skinny.sim.check import Record, Stimulus, random_stimulus
from skinny.sim.session import Session


class Testbench:
    """Driver, monitor and in-order checker around the core. Everything happens at the falling edge: outputs have
    settled then, in any simulator, and inputs are there before the next rising edge."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.handles = {handle._name: handle for handle in dut if not handle._name.startswith(("initial", "$"))}
        self.rom = "load_valid" not in self.handles
        self.driven: dict[str, int] = {}
        Clock(dut.clk, 10, unit="ns").start()

    def read(self, name: str) -> int:
        return int(self.handles[name].value)

    def write(self, name: str, value: int) -> None:
        if self.driven.get(name) != value:
            self.driven[name] = value
            self.handles[name].value = value

    async def drive(self, driver: Iterator[None]) -> None:
        for _ in driver:
            await FallingEdge(self.dut.clk)

    async def reset(self) -> None:
        await FallingEdge(self.dut.clk)
        await self.drive(session.reset(self.write, self.rom))

    async def load(self, image: Any) -> None:
        await self.drive(session.load(self.read, self.write, image))

    async def run(self, stimulus: Stimulus) -> Record:
        run = Session(stimulus, self.read, self.write)
        await self.drive(run.steps())
        return run.record


@cocotb.test()
async def does_the_steps(dut: Any) -> None:
    """Each run of the job retires what the model says; answers with what was seen."""
    bench = Testbench(dut)
    records = []
    for step in read_job():
        match step:
            case Reset():
                await bench.reset()
            case Load(image):
                await bench.load(image)
            case Run(stimulus):
                records.append(await bench.run(stimulus))
    write_answer(records)


@cocotb.test()
@cocotb.parametrize(idle=[0, 0.5], stall=[0, 0.5], early=[0, 0.5])
async def matches_model(dut: Any, idle: float, stall: float, early: float) -> None:
    """Whatever source and sink do, and wherever batches end, all cycles are those of the model."""
    bench = Testbench(dut)
    await bench.reset()
    rng = np.random.default_rng(random.getrandbits(32))
    for image, vectors in read_job():
        await bench.load(image)
        await bench.run(random_stimulus(rng, image, vectors, idle, stall, early))


@cocotb.test()
async def load_waits_while_busy(dut: Any) -> None:
    """What is offered at the load port during a run waits for its end and disturbs nothing before."""
    bench = Testbench(dut)
    await bench.reset()
    (image, vectors), *_ = read_job()
    await bench.load(image)
    first = next(iter(image.loads()))
    size = min(len(vectors), image.batch)
    run = Session(Stimulus.steady(image, vectors[:size]), bench.read, bench.write)
    for _ in run.steps():
        if run.cycle == run.expected.trace["cycle"][0] - 1:
            for name, value in zip(("space", "address", "data"), first, strict=True):
                bench.write(f"load_{name}", int(value))
            bench.write("load_valid", 1)
        if bench.read("load_ready"):
            bench.write("load_valid", 0)
        assert bench.read("load_ready") == 1 - bench.read("busy"), f"cycle {run.cycle}: load_ready and busy agree"
        await FallingEdge(dut.clk)
    assert bench.driven["load_valid"] == 0, "the word was never taken"
    await bench.run(Stimulus.steady(image, vectors[:size]))
