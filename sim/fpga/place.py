"""Place and route with nextpnr: several seeds side by side, and the critical path in words."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skinny.model.errors import InputError
from skinny.sim.cache import cached

from .devices import ICE40, Device, Family
from .path import CriticalPath, critical_path
from .synth import Netlist
from .tools import Done, run_tool, side_by_side, tool_version

__all__ = ["Placement", "Routed", "is_full", "pack", "packed_cells", "place", "place_seed", "shortage"]


#: The share of the frequency aimed at from which on a design counts as near it.
NEAR = 0.75


@dataclass(frozen=True)
class Routed:
    """The result of one seed, in a folder: ``report.json``, ``nextpnr.log``, ``cells.json`` and the file that is packed
    to a bitstream."""

    folder: Path
    seed: int

    @property
    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "report.json").read_text())
        return found

    @property
    def frequency(self) -> float:
        """The frequency of the slowest clock, in MHz."""
        return float(min(clock["achieved"] for clock in self.report["fmax"].values()))

    @property
    def utilisation(self) -> dict[str, tuple[int, int]]:
        """The number that is used and the number that there is of each kind of cell of the device that is used."""
        return {
            name: (count["used"], count["available"])
            for name, count in self.report["utilization"].items()
            if count["used"]
        }

    @property
    def cells(self) -> int:
        """The logic cells (iCE40) or slices (ECP5) that hold a LUT, a carry or a register of the design."""
        return int(json.loads((self.folder / "cells.json").read_text()))

    @property
    def path(self) -> CriticalPath:
        return critical_path(self.report, json.loads((self.folder / "types.json").read_text()))


@dataclass(frozen=True)
class Placement:
    """The results of all seeds."""

    seeds: tuple[Routed, ...]

    @property
    def best(self) -> Routed:
        return max(self.seeds, key=lambda routed: routed.frequency)

    @property
    def median(self) -> float:
        """The median of the frequencies of all seeds, in MHz."""
        return statistics.median(routed.frequency for routed in self.seeds)


def place(
    netlist: Netlist,
    device: Device,
    seeds: Sequence[int],
    frequency: float | None = None,
    done: Callable[[Routed], None] = lambda routed: None,
) -> Placement:
    """Place and route with every seed, as many at a time as there are processors; ``frequency`` (MHz) is the aim,
    ``done`` is told of each result. A seed that fails is an :exc:`InputError`."""
    return Placement(tuple(side_by_side(lambda seed: place_seed(netlist, device, seed, frequency), seeds, done)))


def place_seed(netlist: Netlist, device: Device, seed: int, frequency: float | None = None) -> Routed:
    """Place and route ``netlist`` on ``device``, unless that was done before. A design that comes near the frequency
    that is aimed at is routed once more with late nets ripped up, which takes long elsewhere; the better result
    counts."""
    aim = frequency or device.frequency
    routed = _route(netlist, device, seed, aim, ())
    if device.family.ripup and NEAR * aim <= routed.frequency < aim:
        again = _route(netlist, device, seed, aim, device.family.ripup)
        return max(routed, again, key=lambda one: one.frequency)
    return routed


def _route(netlist: Netlist, device: Device, seed: int, aim: float, more: Sequence[str]) -> Routed:
    options = (
        *device.place,
        *("--json", "netlist.json", "--seed", str(seed), "--freq", f"{aim:g}"),
        *("--timing-allow-fail", "--report", "report.json", "--write", "placed.json", *device.family.placed, *more),
    )
    content = (netlist.folder / "netlist.json").read_bytes()

    def make(folder: Path) -> None:
        (folder / "netlist.json").write_bytes(content)
        done = run_tool(device.family.place, options, folder)
        if done.code:
            why = f"does not fit: {shortage(done, device.family)}" if is_full(done.log) else done.complaint
            raise InputError(f"{device.name}, seed {seed}: {why}")
        (folder / "nextpnr.log").write_text(done.log)
        (folder / "types.json").write_text(json.dumps(netlist.types))
        sites = occupied_sites(json.loads((folder / "placed.json").read_text()), device.family.site)
        (folder / "cells.json").write_text(json.dumps(len(sites)))
        for name in ("netlist.json", "placed.json"):
            (folder / name).unlink()

    return Routed(cached(["place", tool_version(device.family.place), *options, content], make), seed)


def occupied_sites(placed: dict[str, Any], site: str) -> set[str]:
    """The places of the device that hold something of a placed design, of those whose names begin with ``site``: a
    slice of ECP5 is one place for two LUTs and two registers."""
    (design,) = placed["modules"].values()
    cells = design["cells"].values()
    places = (cell["attributes"].get("NEXTPNR_BEL", "").partition(".")[0] for cell in cells)
    return {place for place in places if place.rpartition("/")[2].startswith(site)}


def packed_cells(netlist: Netlist, device: Device) -> int | None:
    """The logic cells of a netlist before it is placed, whatever the number of its pins; None where the family's LUTs
    and registers come together only when they are placed."""
    if device.family is not ICE40:
        return None
    content = (netlist.folder / "netlist.json").read_bytes()
    options = (*device.place, "--json", "netlist.json", "--pack-only", "--report", "report.json")

    def make(folder: Path) -> None:
        (folder / "netlist.json").write_bytes(content)
        done = run_tool(device.family.place, options, folder)
        if done.code:
            raise InputError(f"{device.name}: {done.complaint}")
        (folder / "netlist.json").unlink()

    folder = cached(["packed", tool_version(device.family.place), *options, content], make)
    used: int = json.loads((folder / "report.json").read_text())["utilization"][device.family.luts]["used"]
    return used


def is_full(log: str) -> bool:
    """Whether nextpnr says in its ``log`` that the design has more cells or pins than the device."""
    return (
        re.search("[Uu]nable to (find a placement|place)|no BELs remaining|[Ff]ailed to (place|expand)|not enough", log)
        is not None
    )


def shortage(done: Done, family: Family) -> str:
    """What the device has too few of, in our words, else in those of the tool."""
    names = {family.luts: family.logic, family.multipliers: "multiplier blocks", family.block_rams: "block RAMs"}
    found = (f"there are too few {ours}" for theirs, ours in names.items() if theirs in done.complaint)
    return next(found, done.complaint)


def pack(routed: Routed, device: Device) -> bytes:
    """The bitstream of a design that was placed and routed."""
    placed = device.family.placed[1]

    def make(folder: Path) -> None:
        (folder / placed).write_bytes(content)
        done = run_tool(device.family.pack, [placed, "design.bit"], folder)
        if done.code:
            raise InputError(f"{device.name}: no bitstream: {done.complaint}")

    content = (routed.folder / placed).read_bytes()
    made = cached(["pack", tool_version(device.family.pack), content], make)
    return (made / "design.bit").read_bytes()
