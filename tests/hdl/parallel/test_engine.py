"""The parallel engine as a component: its ports, its text and its arguments."""

import gc

import numpy as np
import pytest
from skinny.hdl.core.core import Core
from skinny.hdl.export.export import Pins, to_verilog
from skinny.hdl.parallel.engine import ParallelEngine, component
from skinny.model.machine.isa import CoreConfig
from skinny.model.parallel.segments import EngineConfig, assemble_lanes
from skinny.model.rings import FixedPoint
from skinny.sim.check.generate import random_program

#: Components of which only the ports are looked at are never elaborated.
pytestmark = pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")
SMALL = {"depth": 32, "inputs": 4, "weights": 4, "check": False, "fifo": 64}


@pytest.fixture(autouse=True)
def collected():
    """They are gone before the next test, which may not say so."""
    yield
    gc.collect()


def engine(cores=2, **given):
    return EngineConfig(CoreConfig(**({"ring": FixedPoint(16, 8)} | SMALL | given)), cores)


def test_ports():
    config = engine(cores=3)
    names = set(Pins(ParallelEngine(config)).signature.members)
    single = set(Pins(Core(config.core)).signature.members)
    lanes = {name.replace("retire_", f"retire{n}_") for n in (1, 2) for name in single if name.startswith("retire_")}
    assert names == single | lanes
    image = assemble_lanes(random_program(np.random.default_rng(1), config.core, 10), config)
    rom = set(Pins(ParallelEngine(config, image, rom=True)).signature.members)
    assert names - rom == {name for name in names if name.startswith("load_")}


def test_component():
    assert isinstance(component(engine()), ParallelEngine)
    assert isinstance(component(engine().core), Core)


def test_the_same_text_every_time():
    assert to_verilog(ParallelEngine(engine())) == to_verilog(ParallelEngine(engine()))
