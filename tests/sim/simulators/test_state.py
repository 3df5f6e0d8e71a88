"""All state of a design is found in its Verilog, and every bit of it can be reached."""

import ctypes

import numpy as np
import pytest
from skinny.hdl.core.core import Core
from skinny.hdl.export.export import to_verilog
from skinny.model.machine.isa import CoreConfig
from skinny.model.rings import FixedPoint, Modular
from skinny.sim.simulators.bulk import BulkCore
from skinny.sim.simulators.state import MEMORIES, PLACES, State, expose

SIZE = {"depth": 64, "inputs": 4, "weights": 8}
CORES = {
    "plain": CoreConfig(FixedPoint(16, 8), check=False, **SIZE),
    "check": CoreConfig(FixedPoint(16, 8), **SIZE),
    "guard": CoreConfig(FixedPoint(16, 8), guard=True, **SIZE),
    "registers in memory": CoreConfig(
        FixedPoint(16, 8), guard=True, registers="memory", **(SIZE | {"width": 8, "threads": 8, "fifo": 64})
    ),
}


@pytest.mark.parametrize("config", CORES.values(), ids=CORES.keys())
def test_all_state_is_found(config):
    _, elements = expose(to_verilog(Core(config)), config.width)
    bits = dict.fromkeys(MEMORIES, 0)
    for element in elements:
        if element.place in bits:
            bits[element.place] += element.bits * element.words
    seal = 1 + (2 * config.fifo - 1).bit_length()
    assert bits == {
        "program memory": (config.word_bits + config.guard) * config.depth,
        "weight memory": (config.bits + config.guard) * config.weights,
        "input memory": (config.bits + config.guard) * 2 * config.threads * config.inputs,
        "register memory": (config.bits + config.guard) * config.threads * (2 * config.width + 1) * config.deep,
        "result FIFO": (config.bits + 2 + config.guard * seal) * config.fifo,
    }
    registers = [e for e in elements if e.place == "registers R"]
    assert sum(e.bits for e in registers) == config.starts * config.threads * config.bits
    assert any(e.place == "guard" for e in elements) == config.guard
    assert sum(e.place == "accumulator S" for e in elements) == config.threads * (not config.deep)
    assert {e.place for e in elements} <= set(PLACES)


def test_state_that_is_not_declared_is_an_error():
    with pytest.raises(ValueError, match="no declaration of b in top"):
        expose("module top (clk);\n  reg [3:0] a;\n  always @(posedge clk)\n    b <= a;\nendmodule\n", 3)


def test_every_bit_is_filled_and_no_other():
    # Bits of an element are seen with both values; those beyond it, which the simulator expects to be zero, never.
    config = CoreConfig(FixedPoint(12, 5), threads=3, depth=8, inputs=3, weights=4, guard=True)
    core = BulkCore(config, exposed=True)
    state, elements = core.state, core.state.elements
    rng = np.random.default_rng(1)
    ones = [0] * len(elements)
    zeros = [0] * len(elements)
    for _ in range(40):
        state.randomise(rng)
        for number, (element, place) in enumerate(zip(elements, state.places, strict=True)):
            held = (ctypes.c_uint8 * place.bytes).from_address(place.at)
            size = place.bytes // element.words
            for word in range(element.words):
                value = int.from_bytes(bytes(held[word * size : (word + 1) * size]), "little")
                assert value < 1 << element.bits, element
                ones[number] |= value
                zeros[number] |= ~value & (1 << element.bits) - 1
    assert ones == zeros == [(1 << element.bits) - 1 for element in elements]


def test_an_element_that_is_not_there():
    core = BulkCore(CoreConfig(Modular(8)), exposed=True)
    missing = core.state.elements[0]._replace(scope="skinny_core.core", name="nothing")
    with pytest.raises(KeyError, match=r"there is no nothing in skinny_core\.core"):
        State(core.library, core.handle, [missing])
