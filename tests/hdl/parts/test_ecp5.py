"""The parts of an ECP5: how many cells they take, what the cells hold, and that their models know every mode."""

import pytest
from amaranth.back import rtlil
from skinny.hdl.core.core import Core
from skinny.hdl.parts.ecp5 import ECP5BlockRAM
from skinny.hdl.parts.target import TARGETS
from skinny.model.machine.isa import CoreConfig
from skinny.model.rings import Boolean, FixedPoint, Modular, PrimeField
from skinny.sim.build import build_program


def cells(core, kind):
    return rtlil.convert(core).count(f"cell \\{kind} ")


@pytest.mark.parametrize(
    ("config", "memories", "multipliers"),
    [
        (CoreConfig(FixedPoint(16, 8)), 5, 1),  # 23 bits of program: two; weights, inputs, results: one each
        (CoreConfig(Modular(18)), 6, 1),  # results of 20 bits: two
        (CoreConfig(Modular(19)), 8, 0),
        (CoreConfig(PrimeField(251), depth=2048), 6, 1),
        (CoreConfig(Modular(16), depth=64, inputs=4096), 4, 1),  # inputs are too many: inferred
        (CoreConfig(Boolean(), slices=8), 5, 0),
    ],
)
def test_how_many_cells(config, memories, multipliers):
    core = Core(config, target="ecp5")
    assert (cells(core, "DP16KD"), cells(core, "MULT18X18D")) == (memories, multipliers)


@pytest.mark.parametrize(
    "cell", ['DP16KD #(.WRITEMODE_A("WRITETHROUGH")) unit ();', 'MULT18X18D #(.REG_PIPELINE_CLK("CLK0")) unit ();']
)
def test_models_refuse_modes_that_they_do_not_know(cell):
    verilog = f"module top;\n  {cell}\nendmodule\n{TARGETS['ecp5'].models()}"
    with pytest.raises(RuntimeError, match="_mode_without_model"):
        build_program({"top.v": verilog}, "top", main="int main() { return 0; }")


@pytest.mark.parametrize(("bits", "depth", "blocks"), [(18, 1024, 1), (19, 1024, 2), (9, 2048, 1), (8, 4096, 2)])
def test_blocks_lie_side_by_side(bits, depth, blocks):
    assert cells(ECP5BlockRAM(bits, depth, []), "DP16KD") == blocks


def test_deeper_memories_are_inferred():
    assert cells(ECP5BlockRAM(1, 1 << 15, []), "DP16KD") == 0
