"""The report of the flow from the results of its parts, with tools that are stood in for."""

import json
from types import SimpleNamespace

import pytest
from amaranth.hdl import Fragment
from skinny.model.errors import InputError
from skinny.model.machine.assemble import assemble
from skinny.model.machine.isa import CoreConfig
from skinny.model.program.text import loads
from skinny.model.rings import FixedPoint
from skinny.sim.fpga import report as module
from skinny.sim.fpga.devices import DEVICES
from skinny.sim.fpga.path import CriticalPath
from skinny.sim.fpga.place import Placement
from skinny.sim.fpga.report import Design, implement
from skinny.sim.fpga.synth import Cells

PROGRAM = "skinny 1\nwidth 3\ninputs a\nR2 += a*R1\nR0 += a*R2\nemit y = R0\nend\n"
CONFIG = CoreConfig(FixedPoint(16, 8), threads=2)


@pytest.fixture
def parts(monkeypatch):
    """Synthesis gives 300 LUTs alone and 350 in the wrapper, place and route 30, 50 and 40 MHz."""
    netlists = {"skinny_core": 300}
    path = CriticalPath("register a of the core", "register b of the core", 3, 0, 0, 10.0, 15.0)

    def synthesise(component, top, device, expected):
        Fragment.get(component, None)
        return SimpleNamespace(cells=Cells(netlists.get(top, 350), 200, 40, 1, 11, 0))

    def place(netlist, device, seeds, frequency, done):
        assert netlist.cells.lut4 == 350
        results = []
        for seed, mhz in zip(seeds, (30.0, 50.0, 40.0), strict=True):
            used = {"ICESTORM_LC": (400, 5280)}
            results.append(SimpleNamespace(seed=seed, frequency=mhz, path=path, utilisation=used, cells=400))
            done(results[-1])
        return Placement(tuple(results))

    monkeypatch.setattr(module, "synthesise", synthesise)
    monkeypatch.setattr(module, "place", place)
    monkeypatch.setattr(module, "packed_cells", lambda netlist, device: netlist.cells.lut4 + 50)


def test_figures(parts):
    told = []
    design = Design(assemble(loads(PROGRAM), CONFIG), DEVICES["up5k"])
    report = implement(design, done=told.append)
    found = report.as_dict()
    assert json.loads(json.dumps(found)) == found
    assert found["core"]["lut4"] == 300
    assert (found["core"]["cells"], found["with_scan_wrapper"]["cells"]) == (350, 400)
    assert found["mhz"]["seeds"] == {"1": 30.0, "2": 50.0, "3": 40.0}
    assert (found["mhz"]["best"], found["mhz"]["median"], found["mhz"]["cap"]) == (50.0, 40.0, 50)
    # Two threads: the multiplier block has no registers before it, and nextpnr leaves its 9.05 ns out.
    assert report.frequency == found["mhz"]["effective"] == pytest.approx(1000 / (20 + 9.05))
    # Three words a thread.
    assert found["inferences_per_second"] == pytest.approx(1e9 / (20 + 9.05) / 3)
    assert (found["program_words"], found["gate_level_cycles"]) == (3, None)
    assert told[-3:] == ["seed 1: 30.0 MHz", "seed 2: 50.0 MHz", "seed 3: 40.0 MHz"]
    assert len(told) == 5


def test_a_design_that_does_not_fit_is_not_begun():
    image = assemble(loads(PROGRAM), CoreConfig(FixedPoint(16, 8), depth=1 << 15))
    with pytest.raises(InputError, match=r"^the core does not fit up5k: it needs \d+ block RAMs, there are 30$"):
        implement(Design(image, DEVICES["up5k"]))


@pytest.mark.parametrize(
    ("device", "inferred", "target"),
    [("up5k", False, "generic"), ("ecp5-25k", False, "ecp5"), ("ecp5-25k", True, "generic")],
)
def test_target(device, inferred, target):
    assert Design(assemble(loads(PROGRAM), CONFIG), DEVICES[device], inferred=inferred).target == target
