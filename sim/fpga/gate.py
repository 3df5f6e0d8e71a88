"""Gate level: the netlist of a core runs the test bench of its RTL and is compared with the cycle model in every cycle.

The netlist that is simulated is that of ``hdl/export``'s ``Pins`` with the port ``retire``, made by the same
script as the one on the device but for that port: not only results are seen, but the value of every instruction. The
cells are yosys' own models, which exist for iCE40.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from skinny.hdl.core.core import Core
from skinny.hdl.export.export import TOP, Pins
from skinny.hdl.parallel.engine import ParallelEngine
from skinny.model.errors import InputError
from skinny.model.machine.image import MachineImage
from skinny.model.rings import Boolean
from skinny.sim.build import build_testbench, missing_tools
from skinny.sim.check.steps import CoreStep, LoadImage, ResetCore, RunStimulus
from skinny.sim.check.stimulus import Stimulus, random_elements, random_stimulus
from skinny.sim.simulators.cocotb_runner import run_steps

from .devices import ICE40, Device
from .expected import Expected
from .synth import Netlist, synthesise
from .tools import share

__all__ = ["expect_gate_level", "gate_netlist", "gate_testbench", "simulate_netlist"]

#: Cycles after which a simulation has shown enough; a second passes about ten thousand.
ENOUGH = 20_000


def expect_gate_level(device: Device) -> None:
    """Raise :exc:`InputError` if netlists of ``device`` cannot be simulated."""
    if device.family is not ICE40:
        raise InputError(f"there is no gate-level simulation for {device.name}, only for iCE40")
    if missing := missing_tools():
        raise InputError(f"{missing}: the netlist cannot be simulated, --no-gate-level goes without")


def gate_netlist(core: Core | ParallelEngine, device: Device, expected: Expected | None = None) -> Netlist:
    """The netlist of ``core`` with all its pins."""
    return synthesise(Pins(core), TOP, device, expected)


def gate_testbench(netlist: Netlist) -> Path:
    """The simulator of ``netlist``, for :func:`skinny.sim.simulators.cocotb_runner.run_testbench`."""
    cells = share("yosys") / "ice40" / "cells_sim.v"
    text = (netlist.folder / "netlist.v").read_text() + cells.read_text()
    # All wires of a flat netlist are in its top module, so only the ports are shown. Few cycles are simulated: to
    # compile quickly is worth more than to run fast.
    return build_testbench(text, netlist.top, ports=netlist.ports, level="-O0")


def simulate_netlist(netlist: Netlist, image: MachineImage, *, rom: bool = False) -> int:
    """Run ``image`` on random vectors, at full speed and with a source and a sink that wait; returns the number of
    cycles that were compared. The first difference from the cycle model is a :exc:`CheckError`."""
    config = image.config
    rng = np.random.default_rng(1)
    batches = max(2, min(16, ENOUGH // (2 * image.steps * config.threads)))
    rows = batches * config.threads * (config.slices if isinstance(config.ring, Boolean) else 1)
    vectors = config.pack(random_elements(rng, config.ring, (rows, image.vector)))
    steps: list[CoreStep] = [ResetCore(), *([] if rom else [LoadImage(image)])]
    steps += [
        RunStimulus(Stimulus.steady(image, vectors)),
        RunStimulus(random_stimulus(rng, image, vectors, 0.3, 0.3, 0.3)),
    ]
    return sum(record.cycles for record in run_steps(gate_testbench(netlist), steps))
