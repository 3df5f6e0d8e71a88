"""The processors a user would take instead, as they were measured once with the same tools and devices: not in this
run. Program: a polynomial of degree 3 in 8 variables, compiled C, unrolled, 32 bit."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["PICORV32", "RIVALS", "Rival"]


class Rival(NamedTuple):
    """A processor: ``luts`` and ``mhz`` (of the best seed) by device, and the ``cycles`` that ``R += s·R`` takes."""

    name: str
    cycles: float
    luts: dict[str, int]
    mhz: dict[str, float]

    def rate(self, device: str) -> float:
        """The multiply-accumulates that it does in a second on ``device``."""
        return self.mhz[device] * 1e6 / self.cycles


PICORV32 = Rival(
    "picorv32, fast multiplier",
    14.3,
    {"up5k": 1572, "hx8k": 4583, "ecp5-25k": 1194},
    {"up5k": 30, "hx8k": 47, "ecp5-25k": 86},
)
RIVALS = (
    PICORV32,
    Rival(
        "picorv32, serial multiplier",
        48,
        {"up5k": 1605, "hx8k": 1600, "ecp5-25k": 1377},
        {"up5k": 29, "hx8k": 78, "ecp5-25k": 102},
    ),
    Rival("SERV", 5703, {"up5k": 215, "hx8k": 218, "ecp5-25k": 240}, {"up5k": 41, "hx8k": 117, "ecp5-25k": 95}),
    Rival(
        "FemtoRV electron",
        10.2,
        {"up5k": 1874, "hx8k": 4824, "ecp5-25k": 1644},
        {"up5k": 20, "hx8k": 33, "ecp5-25k": 50},
    ),
)
