"""Random power-up: any contents of registers and memories are made good by one reset and one load."""

import numpy as np
import pytest
from skinny.hdl.core.core import Core
from skinny.hdl.export.export import TOP, to_verilog
from skinny.model.machine.isa import CoreConfig
from skinny.model.rings import Boolean, FixedPoint, Modular, PrimeField
from skinny.sim.build import build_library
from skinny.sim.simulators.bulk import BulkCore, harness
from skinny.sim.simulators.state import State, expose, state_text
from skinny.sim.upsets.power_up import DESIGNS, power_up


@pytest.mark.parametrize(
    ("design", "ring"),
    [
        ("plain", PrimeField(8191)),
        ("self-check", FixedPoint(16, 8)),
        ("self-check", Boolean()),
        ("self-check rom", Modular(16)),
        ("lanes", FixedPoint(16, 8)),
        ("board", Modular(16)),
    ],
    ids=str,
)
def test_right_from_any_contents(design, ring):
    assert list(power_up(design, ring, range(12))) == [None] * 12


def test_every_design_is_here():
    assert list(DESIGNS) == ["plain", "self-check", "self-check rom", "lanes", "board"]


def test_every_bit_is_filled_and_no_other():
    # Bits of an element are seen with both values; those beyond it, which the simulator expects to be zero, never.
    config = CoreConfig(FixedPoint(12, 5), threads=3, depth=8, inputs=3, weights=4, guard=True)
    verilog, elements = expose(to_verilog(Core(config)), config.width)
    core = BulkCore(config, path=build_library(verilog, TOP, harness(config) + state_text("Core")))
    state = State(core.library, core.handle, elements)
    rng = np.random.default_rng(1)
    ones = [0] * len(elements)
    zeros = [0] * len(elements)
    for _ in range(40):
        state.randomise(rng)
        for number, (element, place) in enumerate(zip(elements, state.places, strict=True)):
            held = (np.ctypeslib.ctypes.c_uint8 * place.bytes).from_address(place.at)
            size = place.bytes // element.words
            for word in range(element.words):
                value = int.from_bytes(bytes(held[word * size : (word + 1) * size]), "little")
                assert value < 1 << element.bits, element
                ones[number] |= value
                zeros[number] |= ~value & (1 << element.bits) - 1
    assert ones == zeros == [(1 << element.bits) - 1 for element in elements]


def test_an_element_that_is_not_there():
    config = CoreConfig(Modular(8))
    verilog, elements = expose(to_verilog(Core(config)), config.width)
    core = BulkCore(config, path=build_library(verilog, TOP, harness(config) + state_text("Core")))
    with pytest.raises(KeyError, match=r"there is no nothing in skinny_core\.core"):
        State(core.library, core.handle, [elements[0]._replace(scope="skinny_core.core", name="nothing")])
