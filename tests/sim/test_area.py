"""Cells after synthesis: what is known of a core is found again, and a failure is told."""

import pytest
from skinny.hdl.core import Core
from skinny.hdl.export import to_verilog
from skinny.model.errors import CheckError
from skinny.model.isa import CoreConfig
from skinny.model.rings import Boolean
from skinny.sim import area
from skinny.sim.state import MEMORIES, expose

SMALL = CoreConfig(Boolean(), threads=2, lanes=4, depth=256, inputs=64, weights=256, attention=False, check=False)


def test_cells_of_a_small_core():
    found = area.cells(SMALL)
    # A bit of the Boolean ring is multiplied by a gate, four memories are large enough for a block RAM or two, and what
    # is a register in the Verilog is a flip-flop, unless it serves only `retire`.
    _, elements = expose(to_verilog(Core(SMALL)), SMALL.width)
    registers = sum(element.bits for element in elements if element.place not in MEMORIES)
    assert found["multipliers"] == 0
    assert found["block_rams"] in (4, 5)
    assert registers / 2 < found["flip_flops"] <= registers
    assert 50 < found["luts"] < registers


def test_failed_synthesis(monkeypatch):
    monkeypatch.setattr(area, "SCRIPT", "read_verilog core.v; no_such_command")
    with pytest.raises(CheckError, match=r"^synthesis failed: .*no_such_command"):
        area.cells(SMALL)
