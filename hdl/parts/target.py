"""Targets: which memory and which multiplier a core is made of. Nothing else differs, least of all the timing."""

from pathlib import Path
from typing import NamedTuple

from .ecp5 import ECP5BlockRAM, ECP5Multiplier
from .generic import BlockRAM, Multiplier

__all__ = ["TARGETS", "Target"]


class Target(NamedTuple):
    """``cells``: the file beside this one with simulation models of the cells that are instantiated, if any."""

    memory: type[BlockRAM] = BlockRAM
    multiplier: type[Multiplier] = Multiplier
    cells: str | None = None

    def models(self) -> str:
        """Verilog of the cells, for simulation only: synthesis has its own."""
        return (Path(__file__).parent / self.cells).read_text() if self.cells else ""


#: ``generic`` infers both on any device.
TARGETS = {
    "generic": Target(),
    "ecp5": Target(ECP5BlockRAM, ECP5Multiplier, "ecp5_cells.v"),
}
