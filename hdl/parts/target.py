"""Targets: a target names the memory and the multiplier that a core is made of. Nothing else differs, least of all the
timing: in cycles every target, so every device and board, has the latency that docs/isa.md gives."""

from pathlib import Path
from typing import NamedTuple

from .ecp5 import ECP5BlockRAM, ECP5Multiplier
from .generic import BlockRAM, Multiplier

__all__ = ["TARGETS", "Target"]


class Target(NamedTuple):
    """The parts that a core is made of. ``cells`` is the file beside this one with simulation models of the cells that
    are instantiated, if there are any."""

    memory: type[BlockRAM] = BlockRAM
    multiplier: type[Multiplier] = Multiplier
    cells: str | None = None

    def models(self) -> str:
        """The Verilog of the cells, for simulation only: synthesis has its own."""
        return (Path(__file__).parent / self.cells).read_text() if self.cells else ""


#: The targets by name; ``generic`` infers both parts on any device.
TARGETS = {
    "generic": Target(),
    "ecp5": Target(ECP5BlockRAM, ECP5Multiplier, "ecp5_cells.v"),
}
