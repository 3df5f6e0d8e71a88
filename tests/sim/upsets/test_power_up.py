"""Random power-up: any contents of registers and memories are made good by one reset and one load."""

import pytest
from skinny.model.rings import Boolean, FixedPoint, Modular, PrimeField
from skinny.sim.upsets.power_up import DESIGNS, power_up


@pytest.mark.parametrize(
    ("design", "ring"),
    [
        ("plain", PrimeField(8191)),
        ("self-check", FixedPoint(16, 8)),
        ("self-check", Boolean()),
        ("self-check rom", Modular(16)),
        ("lanes", FixedPoint(16, 8)),
        ("registers in memory", FixedPoint(16, 8)),
        ("board", Modular(16)),
    ],
    ids=str,
)
def test_right_from_any_contents(design, ring):
    assert list(power_up(design, ring, range(12))) == [None] * 12


def test_every_design_is_here():
    assert list(DESIGNS) == ["plain", "self-check", "self-check rom", "lanes", "registers in memory", "board"]
