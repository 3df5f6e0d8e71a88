"""The whole flow for one core on one device, and its report."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from skinny.hdl.core.core import Core
from skinny.hdl.export.export import TOP, Pins, to_verilog
from skinny.hdl.measure.scan import ScanWrapper
from skinny.hdl.parallel.engine import ParallelEngine, component
from skinny.model.files import write_folder
from skinny.model.machine.cycles import cycles_per_inference
from skinny.model.machine.image import MachineImage

from .devices import Device
from .expected import Expected, expect_fit, expected_cells
from .gate import expect_gate_level, gate_netlist, simulate_netlist
from .place import Placement, pack, packed_cells, place
from .synth import Netlist, synthesise
from .tools import processors

__all__ = ["SCAN_WRAPPER", "Design", "Report", "implement", "write_design"]

#: The name of the design that is placed: a core in its scan wrapper.
SCAN_WRAPPER = "scan_wrapper"


@dataclass(frozen=True)
class Design:
    """The design of a core or engine for ``image`` on ``device``, of the parts that there are for its family
    or ``inferred`` from generic ones. Without ``rom`` it is empty: programs are loaded."""

    image: MachineImage
    device: Device
    rom: bool = False
    inferred: bool = False

    @property
    def target(self) -> str:
        return "generic" if self.inferred else self.device.family.target

    def core(self) -> Core | ParallelEngine:
        """The core or engine, made anew."""
        return component(self.image.hardware, self.image if self.rom else None, rom=self.rom, target=self.target)

    def expected(self) -> Expected:
        """The counts of blocks that synthesis must find. Raises :exc:`InputError` if the device has fewer."""
        rom = self.image if self.rom else None
        cells = expected_cells(self.image.hardware, self.device, target=self.target, rom=rom)
        expect_fit(cells, self.device)
        return cells


@dataclass(frozen=True)
class Report:
    """The results of the flow. ``gate_cycles`` is the number of cycles in which the netlist was compared with the cycle
    model, None if that was not done. Frequencies are in MHz."""

    design: Design
    alone: Netlist
    wrapped: Netlist
    placement: Placement
    gate_cycles: int | None

    @property
    def cap(self) -> float | None:
        """The limit of the data sheet, if the design has a multiplier block that nextpnr knows no timing for."""
        return self.design.device.cap if self.wrapped.cells.dsp else None

    @property
    def frequency(self) -> float:
        """The frequency of the best seed, as far as it may be used."""
        config, blocks = self.design.image.config, self.wrapped.cells.dsp
        best = self.placement.best.frequency
        return self.design.device.usable(best, blocks=blocks, bits=config.bits, threads=config.threads)

    def as_dict(self) -> dict[str, Any]:
        """All figures, ready for JSON."""
        image = self.design.image
        config = image.config
        best = self.placement.best
        path = best.path
        cycles = cycles_per_inference(image)
        words = sum(map(len, image.lanes))
        return {
            "device": self.design.device.name,
            "ring": config.ring.name,
            "threads": config.threads,
            "width": config.width,
            "depth": config.depth,
            "inputs": config.inputs,
            "weights": config.weights,
            "fifo": config.fifo,
            "attention": config.attention,
            "check": config.check,
            "guard": config.guard,
            "assign": config.assign,
            "sums": config.sums,
            "relu": config.relu,
            "argmax": config.argmax,
            "registers": config.registers,
            **({"pipeline": config.pipeline} if config.deep else {}),
            "repeat": config.repeat,
            "lanes": len(image.lanes),
            "rom": self.design.rom,
            "target": self.design.target,
            "core": asdict(self.alone.cells) | {"cells": packed_cells(self.alone, self.design.device)},
            "with_scan_wrapper": asdict(self.wrapped.cells) | {"cells": best.cells},
            "utilisation": {
                name: {"used": used, "available": there} for name, (used, there) in best.utilisation.items()
            },
            "mhz": {
                "best": best.frequency,
                "median": self.placement.median,
                "seeds": {str(routed.seed): routed.frequency for routed in self.placement.seeds},
                "cap": self.cap,
                "effective": self.frequency,
            },
            "critical_path": {"words": path.words, **asdict(path)},
            "cycles_per_inference": cycles,
            "inferences_per_second": self.frequency * 1e6 / cycles,
            "state_bits": len(image.lanes) * config.threads * (config.width + config.attention) * config.bits,
            "program_words": words,
            "program_bits": words * config.word_bits,
            "gate_level_cycles": self.gate_cycles,
        }


def implement(
    design: Design,
    seeds: Sequence[int] = (1, 2, 3),
    *,
    frequency: float | None = None,
    gate_level: bool = False,
    done: Callable[[str], None] = lambda what: None,
) -> Report:
    """Synthesise, place and route, and with ``gate_level`` simulate the netlist. ``frequency`` (MHz) is the aim,
    ``done`` is told of each step that is through: two of synthesis, one a seed, one for the gate level. Raises
    :exc:`InputError` where a design does not fit or a tool fails, :exc:`CheckError` where a guard or the simulation
    does."""
    device = design.device
    expected = design.expected()
    if gate_level:
        expect_gate_level(device)

    def check_gates() -> int:
        netlist = gate_netlist(design.core(), device, expected)
        cycles = simulate_netlist(netlist, design.image, rom=design.rom)
        done(f"gate level: {cycles:,} cycles match")
        return cycles

    with ThreadPoolExecutor(processors()) as pool:
        wrapped = pool.submit(synthesise, ScanWrapper(design.core()), SCAN_WRAPPER, device, expected)
        alone = pool.submit(synthesise, Pins(design.core(), retire=False), TOP, device, expected)
        for name, netlist in (("core", alone), ("scan wrapper", wrapped)):
            done(f"{name}: {netlist.result().cells.lut4:,} LUT4")
        gates = pool.submit(check_gates) if gate_level else None
        placement = place(
            wrapped.result(), device, seeds, frequency, lambda r: done(f"seed {r.seed}: {r.frequency:.1f} MHz")
        )
        return Report(
            design=design,
            alone=alone.result(),
            wrapped=wrapped.result(),
            placement=placement,
            gate_cycles=gates.result() if gates else None,
        )


def write_design(report: Report, folder: str | Path) -> list[str]:
    """Write into ``folder``, which is made, the core as Verilog, the netlist, logs and reports, and the bitstream of
    the scan wrapper with the best seed; returns their names. Each file is written under another name and renamed,
    ``report.json`` last."""
    best = report.placement.best
    files = {
        f"{TOP}.v": to_verilog(report.design.core()).encode(),
        **{name: (report.wrapped.folder / name).read_bytes() for name in ("netlist.v", "netlist.json", "yosys.log")},
        "nextpnr.log": (best.folder / "nextpnr.log").read_bytes(),
        "nextpnr.json": (best.folder / "report.json").read_bytes(),
        "scan_wrapper.bit": pack(best, report.design.device),
        "report.json": (json.dumps(report.as_dict(), indent=2) + "\n").encode(),
    }
    write_folder(folder, files)
    return list(files)
