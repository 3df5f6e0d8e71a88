"""The critical path in words: the part of the core that decides the frequency."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["CriticalPath", "critical_path"]

#: Where yosys' own additions to the name of a register begin, and what nextpnr adds to the name of a cell.
ADDED = re.compile(r"_(SB|TRELLIS|LUT4|CCU2C|PFUMX|L6MUX21|MULT18X18D|DP16KD)_.*|\$\d+|_(LC|DFFLC|RAM|DSP)$")
PACKED = re.compile(r"_(LC|DFFLC|RAM|DSP)$")
BLOCKS = {
    **dict.fromkeys(("SB_RAM40_4K", "DP16KD", "PDPW16KD"), "block RAM"),
    **dict.fromkeys(("SB_MAC16", "MULT18X18D"), "multiplier block"),
}
#: The components of the core by their names in the design.
COMPONENTS = {
    "": "core",
    **{name: name for name in ("store", "sequencer", "decoder", "datapath")},
    "inputs": "input buffer",
    "inputs.memory": "input buffer",
    "datapath.arithmetic": "multiply-add unit",
    "datapath.arithmetic.multiplier": "multiply-add unit",
    "results": "result FIFO",
    "results.memory": "result FIFO",
    "store.program": "program memory",
    "store.weights": "weight memory",
}


@dataclass(frozen=True)
class CriticalPath:
    """The slowest way from a register to a register. ``start`` and ``end`` in words; ``luts``, ``carries`` and
    ``multipliers`` count the cells between; delays in ns, those of the registers counted as logic."""

    start: str
    end: str
    luts: int
    carries: int
    multipliers: int
    logic: float
    routing: float

    @property
    def words(self) -> str:
        parts = [
            f"{count} {name}{'s' * (count > 1)}"
            for count, name in (
                (self.luts, "LUT"),
                (self.carries, "carry cell"),
                (self.multipliers, "multiplier block"),
            )
            if count
        ]
        through = f" through {' and '.join(parts)}" if parts else ""
        return f"{self.start} to {self.end}{through}: {self.logic:.1f} ns logic, {self.routing:.1f} ns routing"


def critical_path(report: Mapping[str, Any], types: Mapping[str, str]) -> CriticalPath:
    """The slowest path in the report of nextpnr; ``types`` gives the type of each cell of the netlist."""
    inside = [path for path in report["critical_paths"] if path["from"] == path["to"] != "<async>"]
    steps = max((path["path"] for path in inside), key=lambda steps: sum(step["delay"] for step in steps))
    between = [step["to"] for step in steps if step["type"] == "logic"]
    multipliers = sum(_type(cell["cell"], types) == "multiplier block" for cell in between)
    carries = sum(cell["port"] in ("COUT", "FCO") for cell in between)
    routing = sum(step["delay"] for step in steps if step["type"] == "routing")
    return CriticalPath(
        start=_place(steps[0]["from"]["cell"], types),
        end=_place(steps[-1]["to"]["cell"], types),
        luts=len(between) - multipliers - carries,
        carries=carries,
        multipliers=multipliers,
        logic=sum(step["delay"] for step in steps) - routing,
        routing=routing,
    )


def _type(cell: str, types: Mapping[str, str]) -> str | None:
    return BLOCKS.get(types.get(PACKED.sub("", cell), ""))


def _place(cell: str, types: Mapping[str, str]) -> str:
    """A cell in words, from the names that the design gives its components and registers."""
    block = _type(cell, types)
    top, *path = ADDED.sub("", cell).split(".")
    if top != "core" or not path:
        return "the scan wrapper"
    # Names of components, then, unless it is a block RAM, of a register or a field of one.
    known = max(length for length in range(len(path)) if ".".join(path[:length]) in COMPONENTS)
    owner = COMPONENTS[".".join(path[:known])]
    return f"{block} of the {owner}" if block else f"register {'.'.join(path[known:])} of the {owner}"
