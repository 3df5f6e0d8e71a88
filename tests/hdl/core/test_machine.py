"""What every machine is made from: its ports, and what is refused."""

import gc

import pytest
from skinny.hdl.core.core import Core
from skinny.hdl.core.machine import Machine
from skinny.hdl.parallel.engine import ParallelEngine
from skinny.model.machine.assemble import assemble
from skinny.model.machine.isa import CoreConfig
from skinny.model.parallel.segments import EngineConfig, assemble_lanes
from skinny.model.program.text import loads
from skinny.model.rings import Modular

PROGRAM = loads("skinny 1\nwidth 3\ninputs a\nR0 += a*R1\nR2 += a*R0\nemit y = R2\nend\n")
CORE = CoreConfig(Modular(8))
ENGINE = EngineConfig(CoreConfig(Modular(8), check=False), 2)
IMAGES = {CORE: assemble(PROGRAM, CORE), ENGINE: assemble_lanes(PROGRAM, ENGINE)}

# Components that are made and never built are what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")


@pytest.fixture(autouse=True)
def unused_components():
    yield
    gc.collect()


@pytest.mark.parametrize("rom", [False, True])
def test_ports(rom):
    load = [] if rom else ["load"]
    core = Core(CORE, IMAGES[CORE], rom=rom)
    assert list(core.signature.members) == ["i", "o", *load, "retire", "fault", "busy"]
    engine = ParallelEngine(ENGINE, IMAGES[ENGINE], rom=rom)
    assert list(engine.signature.members) == ["i", "o", *load, "retire", "retire1", "fault", "busy"]
    lane = Core(ENGINE.core, IMAGES[ENGINE].lanes[0], rom=rom, lane=ENGINE.lane(0))
    assert list(lane.signature.members)[-4:] == ["able", "count", "hold", "drained"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((CORE, IMAGES[ENGINE], False, "generic"), r"the image must be made for CoreConfig\(.*, not EngineConfig\("),
        ((ENGINE, IMAGES[CORE], False, "generic"), r"the image must be made for EngineConfig\(.*, not CoreConfig\("),
        ((CORE, None, True, "generic"), "a design with rom must be given an image"),
        ((ENGINE, None, True, "generic"), "a design with rom must be given an image"),
        ((CORE, None, False, "ice41"), "the target must be one of generic, .*, not 'ice41'"),
    ],
)
def test_bad_arguments(given, message):
    with pytest.raises(ValueError, match=message):
        Machine(*given)
