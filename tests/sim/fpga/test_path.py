"""The critical path in words."""

import pytest
from skinny.sim.fpga.path import critical_path

TYPES = {
    "core.store.program.memory.memory.0.3": "SB_RAM40_4K",
    "core.inputs.memory.U$0": "DP16KD",
    "core.datapath.arithmetic.multiplier.product_SB_DFF_Q_D_SB_MAC16_O": "SB_MAC16",
    "core.datapath.arithmetic.multiplier.U$0": "MULT18X18D",
}


def step(kind, delay, cell, port="O"):
    return {"type": kind, "delay": delay, "from": {"cell": cell, "port": port}, "to": {"cell": cell, "port": port}}


def report(*steps):
    ports = {"from": "posedge clk", "to": "<async>", "path": [step("clk-to-q", 99, "q"), step("setup", 1, "q")]}
    short = {"from": "posedge clk", "to": "posedge clk", "path": [step("clk-to-q", 0.1, "q"), step("setup", 0, "q")]}
    return {"critical_paths": [ports, short, {"from": "posedge clk", "to": "posedge clk", "path": list(steps)}]}


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("core.store.program.memory.memory.0.3_RAM", "block RAM of the program memory"),
        ("core.inputs.memory.U$0", "block RAM of the input buffer"),
        (
            "core.datapath.arithmetic.multiplier.product_SB_DFF_Q_D_SB_MAC16_O_DSP",
            "multiplier block of the multiply-add unit",
        ),
        ("core.datapath.arithmetic.multiplier.U$0", "multiplier block of the multiply-add unit"),
        ("core.datapath.x1_TRELLIS_FF_Q_11", "register x1 of the datapath"),
        ("core.results.head_SB_DFFESR_Q_5_D_SB_LUT4_O_LC", "register head of the result FIFO"),
        ("core.inputs.u$19_SB_DFFESR_Q_1_DFFLC", "register u of the input buffer"),
        ("core.sequencer.tag.thread_TRELLIS_FF_Q_1", "register tag.thread of the sequencer"),
        ("core.waiting_SB_DFFESR_Q_D_SB_LUT4_O_LC", "register waiting of the core"),
        ("core.datapath.arithmetic.m1_0_product_SB_DFF_Q_4", "register m1_0_product of the multiply-add unit"),
        ("folded_SB_DFF_Q_3_D_SB_LUT4_O_LC", "the scan wrapper"),
    ],
)
def test_places(cell, words):
    path = critical_path(report(step("clk-to-q", 1, cell), step("setup", 1, "core.x_SB_DFF_Q_LC")), TYPES)
    assert (path.start, path.end) == (words, "register x of the core")


def test_words():
    path = critical_path(
        report(
            step("clk-to-q", 1.4, "core.datapath.a_SB_DFF_Q_LC"),
            step("routing", 2, "net"),
            step("logic", 0.5, "core.datapath.arithmetic.multiplier.U$0", "P3"),
            step("routing", 1, "net"),
            step("logic", 0.3, "lut", "COUT"),
            step("logic", 0.2, "lut", "COUT"),
            step("logic", 0.4, "lut", "O"),
            step("setup", 0.1, "core.datapath.arithmetic.m2_0_o_SB_DFF_Q_LC"),
        ),
        TYPES,
    )
    assert path.words == (
        "register a of the datapath to register m2_0_o of the multiply-add unit through 1 LUT and 2 carry cells and "
        "1 multiplier block: 2.9 ns logic, 3.0 ns routing"
    )


def test_a_direct_way():
    path = critical_path(report(step("clk-to-q", 5.8, "core.inputs.memory.U$0"), step("setup", 0, "core.y")), TYPES)
    assert path.words == "block RAM of the input buffer to register y of the core: 5.8 ns logic, 0.0 ns routing"
