"""Synthesis with yosys, and the guards against its silent failures.

Yosys can delete logic and still end with exit code 0, so a netlist is believed only after :func:`check_netlist`: no
conflict in the log, something in the netlist, every input bit read by something, and as many multiplier blocks and
block RAMs as were expected.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.back import rtlil
from amaranth.lib import wiring
from skinny.model.errors import CheckError, InputError
from skinny.sim.cache import cached

from .devices import Device
from .expected import Expected
from .tools import Done, run_tool, tool_version

__all__ = ["NO_COLLISION", "Cells", "Netlist", "check_blocks", "check_log", "check_netlist", "synthesise"]

#: Signs in the log that logic was lost.
CONFLICTS = ("Driver-driver conflict", "multiple conflicting drivers")
#: A read and a write of one address in the same cycle never matter in the core and the link, so nothing needs to be
#: built for it.
NO_COLLISION = "setparam -set COLLISION_X_MASK 1'1 t:$memrd_v2"
#: Products in LUTs: Booth's recoding takes a fifth of the LUTs of a 16-bit core away and is faster. It has to see the
#: products as words, with their unused bits gone.
BOOTH = "proc; flatten; opt; wreduce; booth"


@dataclass(frozen=True)
class Cells:
    """The cells that a netlist is made of. ``carry`` are SB_CARRY (beside a LUT) or CCU2C (in the place of two LUTs),
    ``lut_ram`` TRELLIS_DPR16X4 (in the place of six)."""

    lut4: int
    ff: int
    carry: int
    dsp: int
    block_ram: int
    lut_ram: int

    @classmethod
    def count(cls, types: Mapping[str, int]) -> Cells:
        """The cells of a netlist, from the number of cells of each type."""

        def total(*beginnings: str) -> int:
            return sum(count for name, count in types.items() if name.startswith(beginnings))

        return cls(
            lut4=total("SB_LUT4", "LUT4"),
            ff=total("SB_DFF", "TRELLIS_FF"),
            carry=total("SB_CARRY", "CCU2C"),
            dsp=total("SB_MAC16", "MULT18X18D"),
            block_ram=total("SB_RAM40", "DP16KD", "PDPW16KD"),
            lut_ram=total("TRELLIS_DPR16X4"),
        )


@dataclass(frozen=True)
class Netlist:
    """The result of a synthesis, in a folder: ``netlist.json``, ``netlist.v``, ``stat.json`` and ``yosys.log``."""

    folder: Path
    top: str

    @property
    def cells(self) -> Cells:
        return Cells.count(json.loads((self.folder / "stat.json").read_text())["design"]["num_cells_by_type"])

    @property
    def ports(self) -> list[str]:
        return list(self._module["ports"])

    @property
    def types(self) -> dict[str, str]:
        """The type of each cell."""
        return {name: cell["type"] for name, cell in self._module["cells"].items()}

    @property
    def unread(self) -> list[str]:
        """The input bits that no cell and no output reads, but for the reset: a design may have nothing to reset."""
        module = self._module
        read = {
            bit
            for cell in module["cells"].values()
            for pin, bits in cell["connections"].items()
            if cell["port_directions"][pin] != "output"
            for bit in bits
        }
        ports = module["ports"].items()
        read |= {bit for _, port in ports if port["direction"] != "input" for bit in port["bits"]}
        return [
            f"{name}[{number}]" if len(port["bits"]) > 1 else name
            for name, port in ports
            if port["direction"] == "input" and name != "rst"
            for number, bit in enumerate(port["bits"])
            if bit not in read
        ]

    @property
    def _module(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "netlist.json").read_text())["modules"][self.top]
        return found

    @property
    def log(self) -> str:
        return (self.folder / "yosys.log").read_text()


def synthesise(component: wiring.Component, top: str, device: Device, expected: Expected | None = None) -> Netlist:
    """The netlist of ``component`` as module ``top`` on ``device``, made unless it was made before. Raises
    :exc:`CheckError` when a guard fails."""
    text = rtlil.convert(component, name=top, emit_src=False)
    command = " ".join([*filter(None, [device.synth, device.use_multipliers]), f"-top {top} -json netlist.json"])
    script = [
        "read_rtlil design.il",
        f"hierarchy -top {top}",
        NO_COLLISION,
        *([] if device.multipliers else [BOOTH]),
        command,
        "tee -q -o stat.json stat -json",
        "write_verilog -noattr netlist.v",
    ]

    def make(folder: Path) -> None:
        (folder / "design.il").write_text(text)
        (folder / "script.ys").write_text("\n".join(script) + "\n")
        done = run_tool("yosys", ["-q", "-l", "yosys.log", "script.ys"], folder)
        if done.code:
            # What Yosys asserts of itself stands only in the log that it writes.
            log = folder / "yosys.log"
            said = log.read_text(errors="replace") if log.is_file() and not done.log.strip() else done.log
            raise InputError(f"yosys failed: {Done(done.code, said).complaint}")

    netlist = Netlist(cached(["synthesis", tool_version("yosys"), *script, text], make), top)
    check_netlist(netlist, expected)
    return netlist


def check_netlist(netlist: Netlist, expected: Expected | None = None) -> None:
    """Raise :exc:`CheckError` unless the netlist is whole, as far as can be told without simulating it."""
    check_log(netlist.top, netlist.log)
    cells = netlist.cells
    if not cells.ff or not (cells.lut4 or cells.carry):
        raise CheckError(f"synthesis of {netlist.top} lost logic: the netlist is empty")
    if unread := [bit for bit in netlist.unread if expected is None or bit not in expected.idle]:
        others = f" and {len(unread) - 1} other input bits" if len(unread) > 1 else ""
        raise CheckError(f"synthesis of {netlist.top} lost logic: nothing reads the input {unread[0]}{others}")
    if expected is not None:
        check_blocks(netlist.top, expected, dsp=cells.dsp, block_ram=cells.block_ram)


def check_log(design: str, log: str) -> None:
    """Raise :exc:`CheckError` if the ``log`` of a synthesis says that logic of ``design`` was lost."""
    for line in log.splitlines():
        if any(sign in line for sign in CONFLICTS):
            raise CheckError(f"synthesis of {design} lost logic: {line.strip()}")


def check_blocks(design: str, expected: Expected, *, dsp: int, block_ram: int) -> None:
    """Raise :exc:`CheckError` unless ``design`` has as many multiplier blocks and block RAMs as ``expected``."""
    for what, found, wanted in (
        ("multiplier blocks", dsp, expected.dsp),
        ("block RAMs", block_ram, expected.block_ram),
    ):
        if found not in wanted:
            least, most = wanted[0], wanted[-1]
            count = f"{least}" if least == most else f"{least} to {most}"
            raise CheckError(f"synthesis of {design} has {found} {what}, not {count}")
