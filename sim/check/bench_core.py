"""cocotb bench of the core: in every cycle it does what the cycle model says.

The job (see :mod:`.bench`) is a list of steps, or of images with vectors for the tests that make their own
stimuli.
"""

from __future__ import annotations

import random
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from .bench import Load, Reset, Run, Step, read_job, write_answer
from .check import random_stimulus
from .scenarios import load_steps, reset_steps
from .session import Driver


class Testbench:
    """Driver, monitor and in-order checker around the core. Everything happens at the falling edge: outputs have
    settled then, in any simulator, and inputs are there before the next rising edge."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.handles = {handle._name: handle for handle in dut if not handle._name.startswith(("initial", "$"))}
        self.started = False
        self.driver = Driver(self.read, self.write, {name: len(handle) for name, handle in self.handles.items()})
        Clock(dut.clk, 10, unit="ns").start()

    def read(self, name: str) -> int:
        return int(self.handles[name].value)

    def write(self, name: str, value: int) -> None:
        self.handles[name].value = value

    async def do(self, *steps: Step) -> None:
        if not self.started:
            await FallingEdge(self.dut.clk)
            self.started = True
        for step in steps:
            for _ in self.driver.do(step):
                await FallingEdge(self.dut.clk)


@cocotb.test()
async def does_the_steps(dut: Any) -> None:
    """Each run of the job retires what the model says; answers with what was seen."""
    bench = Testbench(dut)
    await bench.do(*read_job())
    write_answer(bench.driver.records)


@cocotb.test()
@cocotb.parametrize(idle=[0, 0.5], stall=[0, 0.5], early=[0, 0.5])
async def matches_model(dut: Any, idle: float, stall: float, early: float) -> None:
    """Whatever source and sink do, and wherever batches end, all cycles are those of the model."""
    bench = Testbench(dut)
    await bench.do(Reset())
    rng = np.random.default_rng(random.getrandbits(32))
    for image, vectors in read_job():
        await bench.do(Load(image), Run(random_stimulus(rng, image, vectors, idle, stall, early)))


@cocotb.test()
async def load_waits_while_busy(dut: Any) -> None:
    """What is offered at the load port during a run is taken when the core is idle, and disturbs nothing before."""
    rng = np.random.default_rng(random.getrandbits(32))
    (image, vectors), (other, after) = read_job()[:2]
    await Testbench(dut).do(Reset(), *load_steps(rng, image, other, vectors, after))


@cocotb.test()
async def reset_drops_what_runs(dut: Any) -> None:
    """Whatever a run has come to, after a reset everything is as in the beginning, but for what was loaded."""
    rng = np.random.default_rng(random.getrandbits(32))
    bench = Testbench(dut)
    await bench.do(Reset())
    for image, vectors in read_job():
        await bench.do(*reset_steps(rng, image, vectors))
