"""The choice of a simulator, and one function that runs a program on any of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from skinny.hdl.parallel.engine import component
from skinny.model.errors import InputError
from skinny.model.machine.image import MachineImage
from skinny.sim import build
from skinny.sim.check.record import Record
from skinny.sim.check.steps import CoreStep, LoadImage, ResetCore, RunStimulus
from skinny.sim.check.stimulus import Stimulus

from . import amaranth as amaranth_simulator
from . import cocotb_runner
from .bulk import BulkCore

__all__ = ["choose", "simulate"]


def choose(wanted: str | None, waveform: bool = False) -> tuple[str, str | None]:
    """The name of the simulator to take, and a remark for the person if it is not the one that was wanted. Without a
    compiler only Amaranth's simulator can run."""
    if wanted == "bulk" and waveform:
        raise InputError("the bulk simulator writes no waveform: take --simulator verilator")
    simulator = wanted or ("verilator" if waveform else "bulk")
    missing = build.missing_tools()
    if simulator != "amaranth" and missing:
        return "amaranth", f"{missing}: simulating with Amaranth, which is slow"
    return simulator, None


def simulate(
    image: MachineImage, stimuli: Iterable[Stimulus], simulator: str, vcd: str | None = None
) -> Iterator[Record]:
    """Load ``image`` into its core or engine and run ``stimuli``, each checked against the cycle model: the first
    difference is a :exc:`CheckError`."""
    hardware = image.hardware
    steps: Iterable[CoreStep] = (
        step for part in ((ResetCore(), LoadImage(image)), map(RunStimulus, stimuli)) for step in part
    )
    if simulator == "bulk":
        yield from BulkCore(hardware).do(steps)
    elif simulator == "verilator":
        yield from cocotb_runner.run_steps(component(hardware), list(steps), vcd)
    else:
        yield from amaranth_simulator.run_steps(component(hardware), steps, vcd)
