"""The designs that ``skinny bench fpga`` measures, the core on every device beside the bare multiply-accumulate it is
built around, and the figures that were promised of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from skinny.hdl.measure.bare import Bare
from skinny.hdl.measure.scan import ScanWrapper
from skinny.model.machine.assemble import assemble
from skinny.model.machine.isa import CoreConfig
from skinny.model.rings import FixedPoint
from skinny.sim.check.generate import random_program
from skinny.sim.fpga.devices import ECP5, Device, find_device
from skinny.sim.fpga.expected import Expected, multipliers
from skinny.sim.fpga.place import Placement, packed_cells, place
from skinny.sim.fpga.report import SCAN_WRAPPER, Design, implement
from skinny.sim.fpga.synth import Netlist, synthesise
from skinny.sim.fpga.tools import side_by_side

from .fpga_rivals import PICORV32

__all__ = ["CORE", "FED", "LIMIT", "MINIMAL", "Subject", "bench_subjects", "claims", "subjects"]

Row = dict[str, Any]

CORE = "core"
MINIMAL = "minimal core"
LIMIT = "bare multiply-accumulate"
FED = "bare, from block RAM"
#: Words of the memories that feed the bare multiply-accumulate: as many as the core has weights.
WORDS = 256


class Subject(NamedTuple):
    """A design to be measured on a device, in fixed point with half of the bits fraction; ``inferred`` ones are made of
    generic parts."""

    name: str
    bits: int
    device: str
    inferred: bool

    @property
    def ring(self) -> FixedPoint:
        return FixedPoint(self.bits, self.bits // 2)

    @property
    def parts(self) -> str:
        return "inferred" if self.inferred else find_device(self.device).family.target


def subjects(devices: Iterable[str], sizes: Iterable[int] = (8, 16, 32)) -> list[Subject]:
    """The designs of each device and size: each core after the limits it is compared with. The minimal core has
    8 bits."""
    wanted = []
    for device in devices:
        generic_only = find_device(device).family.target == "generic"
        for inferred in (True,) if generic_only else (True, False):
            wanted += [Subject(name, bits, device, inferred) for bits in sizes for name in (LIMIT, FED, CORE)]
        if 8 in sizes:
            wanted.append(Subject(MINIMAL, 8, device, True))
    return wanted


def bench_subjects(wanted: Sequence[Subject], seeds: Sequence[int], say: Callable[[str], None]) -> list[Row]:
    """A row a design, with ratios to the limit fed from block RAM of the same device, parts and bits, and to picorv32
    on the same device where it was measured; ``say`` is told of each."""
    numbers = count(1)

    def tell(row: Row) -> None:
        what = f"{row['device']}, {row['parts']}: {row['design']}, {row['bits']} bit"
        say(f"{next(numbers)}/{len(wanted)} {what}: {row['lut']} LUT, {row['mhz']:.1f} MHz")

    # Those that take long come first, so that no processor is idle while another is at the last of them.
    order = sorted(wanted, key=lambda subject: -subject.bits)
    found = dict(zip(order, side_by_side(lambda subject: _measure(subject, seeds), order, tell), strict=True))
    rows = [found[subject] for subject in wanted]
    for subject, row in zip(wanted, rows, strict=True):
        limit = next((other["mhz"] for other in rows if other["design"] == FED and _like(row, other)), None)
        is_core = subject.name in (CORE, MINIMAL)
        row["to_limit"] = row["mhz"] / limit if limit and subject.name == CORE else None
        rival = PICORV32 if is_core and subject.device in PICORV32.mhz else None
        row["times_picorv32"] = rival and row["macs_per_second"] / rival.rate(subject.device)
        row["luts_to_picorv32"] = rival and row["lut"] / rival.luts[subject.device]
    return rows


def _like(row: Row, other: Row) -> bool:
    return all(row[key] == other[key] for key in ("device", "parts", "bits"))


def _measure(subject: Subject, seeds: Sequence[int]) -> Row:
    device = find_device(subject.device)
    alone, placement = (_place_bare if subject.name in (LIMIT, FED) else _place_core)(subject, device, seeds)
    cells, best = alone.cells, placement.best
    cap = device.cap if cells.dsp else None
    # The bare one has the registers of the usual core.
    threads = 1 if subject.name == MINIMAL else 4
    mhz = device.usable(best.frequency, blocks=cells.dsp, bits=subject.bits, threads=threads)
    # Carry cells of ECP5 take the place of two LUTs each; those of iCE40 are beside them.
    lut = cells.lut4 + (2 * cells.carry + 6 * cells.lut_ram if device.family is ECP5 else 0)
    return {
        **{"design": subject.name, "bits": subject.bits, "device": device.name, "parts": subject.parts},
        **{"lut": lut, "lut4": cells.lut4, "ff": cells.ff, "carry": cells.carry},
        **{"dsp": cells.dsp, "block_ram": cells.block_ram},
        **{"cells": packed_cells(alone, device), "placed_cells": best.cells},
        **{"mhz": mhz, "nextpnr_mhz": {str(seed.seed): seed.frequency for seed in placement.seeds}, "cap": cap},
        "critical_path": best.path.words,
        "macs_per_second": mhz * 1e6,
        "macs_per_second_per_lut": mhz * 1e6 / lut,
    }


def _place_core(subject: Subject, device: Device, seeds: Sequence[int]) -> tuple[Netlist, Placement]:
    small: dict[str, Any] = {"threads": 1, "depth": 256, "inputs": 16, "weights": 16, "fifo": 16}
    small |= {"attention": False, "check": False}
    minimal = subject.name == MINIMAL
    config = CoreConfig(subject.ring, **(small if minimal else {}))
    image = assemble(random_program(np.random.default_rng(1), config, config.depth // 2, inputs=16), config)
    report = implement(Design(image, device, rom=minimal, inferred=subject.inferred), seeds)
    return report.alone, report.placement


def _place_bare(subject: Subject, device: Device, seeds: Sequence[int]) -> tuple[Netlist, Placement]:
    words = WORDS if subject.name == FED else None
    target = "generic" if subject.inferred else device.family.target
    # Instantiated block RAMs are never 36 bits wide.
    wide = device.family.shapes[0][0] if subject.inferred else 18
    blocks = 2 * -(-subject.bits // wide) if words else 0
    expected = Expected(multipliers(subject.ring, device), range(blocks, blocks + 1))
    alone, harnessed = (
        synthesise(component, top, device, expected)
        for component, top in (
            (Bare(subject.ring, words, target), "bare"),
            (ScanWrapper(Bare(subject.ring, words, target)), SCAN_WRAPPER),
        )
    )
    return alone, place(harnessed, device, seeds)


class Promise(NamedTuple):
    """The figures that a 16-bit core must reach: MHz at least (inferred, and with the parts of the family), LUTs at
    most, and multiplier blocks."""

    mhz: dict[str, float]
    luts: int
    dsp: int


PROMISES = {
    "up5k": Promise({"inferred": 44}, 440, 1),
    "hx8k": Promise({"inferred": 75}, 1000, 0),
    "ecp5-25k": Promise({"inferred": 130, "ecp5": 195}, 420, 1),
}


def claims(rows: Iterable[Row]) -> list[Row]:
    """The promises about the designs that were measured: what is asked, what is reached, and whether it is met."""
    found: list[Row] = []

    def claim(row: Row, what: str, sense: str, asked: float, reached: float) -> None:
        met = reached >= asked if sense == "at least" else reached <= asked
        name = f"{row['device']}, {row['parts']}, {row['bits']} bit: {what}"
        found.append({"claim": name, "sense": sense, "asked": asked, "reached": reached, "met": met})

    for row in rows:
        promise = PROMISES.get(row["device"])
        if promise and row["design"] == CORE and row["bits"] == 16:
            claim(row, "MHz", "at least", promise.mhz[row["parts"]], row["mhz"])
            claim(row, "LUTs", "at most", promise.luts, row["lut"])
            claim(row, "multiplier blocks", "at most", promise.dsp, row["dsp"])
            if row["parts"] == "inferred":
                claim(row, "MHz to the bare one from block RAM", "at least", 0.9, row["to_limit"])
            claim(row, "times picorv32's multiply-accumulates a second", "at least", 15, row["times_picorv32"])
            claim(row, "share of picorv32's LUTs", "at most", 0.4, row["luts_to_picorv32"])
        if row["design"] == MINIMAL and row["device"] == "up5k":
            claim(row, "LUTs of the minimal core", "at most", 160, row["lut4"])
    return found
