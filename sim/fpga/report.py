"""The whole flow for one core on one device, and what a person wants to know of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from skinny.hdl.core import Core
from skinny.hdl.export import TOP, Pins, to_verilog
from skinny.hdl.harness import Harness
from skinny.model.assemble import Image
from skinny.model.cycles import schedule
from skinny.model.isa import CoreConfig
from skinny.model.rings import Boolean
from skinny.model.storage import write_folder

from .devices import ICE40, Device
from .expected import expected_cells
from .gate import gate_netlist, simulate_netlist
from .place import Placement, cores, pack, place
from .synth import Netlist, synthesise

__all__ = ["HARNESS", "Report", "cycles_per_inference", "implement", "make_core", "write_design"]

#: The name of the design that is placed.
HARNESS = "harness"


def make_core(image: Image, device: Device, *, rom: bool = False, inferred: bool = False) -> Core:
    """The core for ``device``: of the parts that there are for its family, or ``inferred`` from the generic ones.
    Without ``rom`` it is empty: programs are loaded."""
    target = "generic" if inferred else device.family.target
    return Core(image.config, image if rom else None, rom=rom, target=target)


def cycles_per_inference(image: Image) -> float:
    """In the long run, with a source and a sink that never wait."""
    config = image.config
    starts = schedule(image, [config.threads] * 16).starts
    vectors = 8 * config.threads
    return float(starts[-1] - starts[-9]) / vectors / (config.lanes if isinstance(config.ring, Boolean) else 1)


@dataclass(frozen=True)
class Report:
    """What came out. ``gate_cycles``: cycles of the netlist compared with the cycle model, None if that was not done.
    Frequencies in MHz."""

    device: Device
    image: Image
    core: Core
    alone: Netlist
    harnessed: Netlist
    placement: Placement
    gate_cycles: int | None

    @property
    def cap(self) -> float | None:
        """What the data sheet allows, if the design has a multiplier block that nextpnr knows no timing for."""
        return self.device.cap if self.harnessed.cells.dsp else None

    @property
    def frequency(self) -> float:
        """The best one that may be used."""
        best = self.placement.best.frequency
        return best if self.cap is None else min(best, self.cap)

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        config: CoreConfig = self.image.config
        best = self.placement.best
        path = best.path
        cycles = cycles_per_inference(self.image)
        return {
            "device": self.device.name,
            "ring": config.ring.name,
            "threads": config.threads,
            "width": config.width,
            "depth": config.depth,
            "inputs": config.inputs,
            "weights": config.weights,
            "fifo": config.fifo,
            "attention": config.attention,
            "check": config.check,
            "rom": self.core.rom,
            "core": asdict(self.alone.cells),
            "with_harness": asdict(self.harnessed.cells),
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
            "state_bits": config.threads * (config.width + config.attention) * config.bits,
            "program_words": len(self.image),
            "program_bits": len(self.image) * config.word_bits,
            "gate_level_cycles": self.gate_cycles,
        }


def implement(
    image: Image,
    device: Device,
    seeds: Sequence[int] = (1, 2, 3),
    *,
    rom: bool = False,
    inferred: bool = False,
    frequency: float | None = None,
    gate_level: bool | None = None,
    done: Callable[[str], None] = lambda what: None,
) -> Report:
    """Synthesise, simulate, place and route. ``gate_level`` is done where it can be, unless told otherwise; ``done``
    is told of each step that is through: two of synthesis, one a seed, one for the gate level. Raises
    :exc:`InputError` where a design does not fit or a tool fails, :exc:`CheckError` where a guard or the simulation
    does."""
    if gate_level is None:
        gate_level = device.family is ICE40

    def core() -> Core:
        return make_core(image, device, rom=rom, inferred=inferred)

    def check_gates() -> int | None:
        cycles = simulate_netlist(gate_netlist(core(), device), image, rom=rom) if gate_level else None
        if gate_level:
            done(f"gate level: {cycles:,} cycles match")
        return cycles

    described = core()
    expected = expected_cells(described, device)
    with ThreadPoolExecutor(cores()) as pool:
        harnessed = pool.submit(synthesise, Harness(described), HARNESS, device, expected)
        alone = pool.submit(synthesise, Pins(core(), retire=False), TOP, device, expected)
        for name, netlist in (("core", alone), ("harness", harnessed)):
            done(f"{name}: {netlist.result().cells.lut4:,} LUT4")
        gates = pool.submit(check_gates)
        placement = place(
            harnessed.result(), device, seeds, frequency, lambda r: done(f"seed {r.seed}: {r.frequency:.1f} MHz")
        )
        return Report(
            device=device,
            image=image,
            core=described,
            alone=alone.result(),
            harnessed=harnessed.result(),
            placement=placement,
            gate_cycles=gates.result(),
        )


def write_design(report: Report, folder: str | Path) -> list[str]:
    """Write into ``folder``, which is made, the core as Verilog, the netlist, logs and reports, and the bitstream of
    the harness with the best seed; returns their names. Each file is written under another name and renamed,
    ``report.json`` last."""
    best = report.placement.best
    core = make_core(report.image, report.device, rom=report.core.rom, inferred=report.core.target.cells is None)
    files = {
        f"{TOP}.v": to_verilog(core).encode(),
        **{name: (report.harnessed.folder / name).read_bytes() for name in ("netlist.v", "netlist.json", "yosys.log")},
        "nextpnr.log": (best.folder / "nextpnr.log").read_bytes(),
        "nextpnr.json": (best.folder / "report.json").read_bytes(),
        "harness.bit": pack(best, report.device),
        "report.json": (json.dumps(report.as_dict(), indent=2) + "\n").encode(),
    }
    write_folder(folder, files)
    return list(files)
