"""Which simulator runs a program, and all of them behind one function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from skinny.hdl.parallel.engine import component
from skinny.model.errors import InputError
from skinny.model.machine.image import MachineImage
from skinny.sim import build
from skinny.sim.check import bench
from skinny.sim.check.bench import Load, Reset, Run, Step
from skinny.sim.check.check import Record, Stimulus

from . import amaranth as amaranth_engine
from .bulk import BulkCore

__all__ = ["choose", "simulate"]


def choose(wanted: str | None, waveform: bool = False) -> tuple[str, str | None]:
    """The engine to take, and what the person should know about the choice. Without a compiler that is Amaranth's
    simulator, whatever was wanted. ``bulk`` writes no waveforms."""
    if wanted == "bulk" and waveform:
        raise InputError("the bulk simulator writes no waveform: take --simulator verilator")
    engine = wanted or ("verilator" if waveform else "bulk")
    missing = build.missing_tools()
    if engine != "amaranth" and missing:
        return "amaranth", f"{missing}: simulating with Amaranth, which is slow"
    return engine, None


def simulate(image: MachineImage, stimuli: Iterable[Stimulus], engine: str, vcd: str | None = None) -> Iterator[Record]:
    """Load ``image`` into its core or engine and run ``stimuli``, each checked against the cycle model: the first
    difference is a :exc:`CheckError`."""
    hardware = image.hardware
    steps: Iterable[Step] = (step for part in ((Reset(), Load(image)), map(Run, stimuli)) for step in part)
    if engine == "bulk":
        yield from BulkCore(hardware).do(steps)
    elif engine == "verilator":
        yield from bench.run_steps(component(hardware), list(steps), vcd)
    else:
        yield from amaranth_engine.run_steps(component(hardware), steps, vcd)
