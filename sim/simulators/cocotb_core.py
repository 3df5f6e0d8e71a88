"""cocotb test bench of a core: in every cycle the core does what the cycle model says.

The job (see :mod:`.cocotb_runner`) is a list of steps, or a list of images with vectors for the tests that make their
own stimuli.
"""

from __future__ import annotations

import random
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from skinny.sim.check.scenarios import load_steps, reset_steps
from skinny.sim.check.session import StepRunner
from skinny.sim.check.steps import CoreStep, LoadImage, ResetCore, RunStimulus
from skinny.sim.check.stimulus import random_stimulus

from .cocotb_runner import read_job, write_answer


class Testbench:
    """Driver, monitor and in-order checker around the core. Everything happens at the falling edge: outputs have
    settled then, in any simulator, and inputs are there before the next rising edge."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.handles = {handle._name: handle for handle in dut if not handle._name.startswith(("initial", "$"))}
        self.started = False
        self.runner = StepRunner(self.read, self.write, {name: len(handle) for name, handle in self.handles.items()})
        Clock(dut.clk, 10, unit="ns").start()

    def read(self, name: str) -> int:
        return int(self.handles[name].value)

    def write(self, name: str, value: int) -> None:
        self.handles[name].value = value

    async def do(self, *steps: CoreStep) -> None:
        if not self.started:
            await FallingEdge(self.dut.clk)
            self.started = True
        for step in steps:
            for _ in self.runner.do(step):
                await FallingEdge(self.dut.clk)


@cocotb.test()
async def does_the_steps(dut: Any) -> None:
    """Each run of the job retires what the model says; the answer is the record of each run."""
    testbench = Testbench(dut)
    await testbench.do(*read_job())
    write_answer(testbench.runner.records)


@cocotb.test()
@cocotb.parametrize(idle=[0, 0.5], stall=[0, 0.5], early=[0, 0.5])
async def matches_model(dut: Any, idle: float, stall: float, early: float) -> None:
    """All cycles are those of the model, whatever source and sink do and wherever batches end."""
    testbench = Testbench(dut)
    await testbench.do(ResetCore())
    rng = np.random.default_rng(random.getrandbits(32))
    for image, vectors in read_job():
        await testbench.do(LoadImage(image), RunStimulus(random_stimulus(rng, image, vectors, idle, stall, early)))


@cocotb.test()
async def load_waits_while_busy(dut: Any) -> None:
    """A word offered at the load port during a run is taken when the core is idle, and disturbs nothing before."""
    rng = np.random.default_rng(random.getrandbits(32))
    (image, vectors), (other, after) = read_job()[:2]
    await Testbench(dut).do(ResetCore(), *load_steps(rng, image, other, vectors, after))


@cocotb.test()
async def reset_drops_what_runs(dut: Any) -> None:
    """After a reset in any cycle of a run everything is as in the beginning, but for the image that was loaded."""
    rng = np.random.default_rng(random.getrandbits(32))
    testbench = Testbench(dut)
    await testbench.do(ResetCore())
    for image, vectors in read_job():
        await testbench.do(*reset_steps(rng, image, vectors))
