"""Synthesis: what is counted, what is kept, and every guard."""

import json
from dataclasses import replace

import pytest
from skinny.model.errors import CheckError, InputError
from skinny.sim.fpga import synth
from skinny.sim.fpga.expected import Expected
from skinny.sim.fpga.synth import Cells, Netlist, check_netlist, synthesise
from skinny.sim.fpga.tools import Done


def test_cells_of_both_families():
    ice40 = {"SB_LUT4": 5, "SB_DFF": 2, "SB_DFFESR": 3, "SB_CARRY": 4, "SB_MAC16": 1, "SB_RAM40_4K": 2, "$scopeinfo": 9}
    assert Cells.count(ice40) == Cells(lut4=5, ff=5, carry=4, dsp=1, block_ram=2, lut_ram=0)
    ecp5 = {"LUT4": 7, "TRELLIS_FF": 6, "CCU2C": 5, "MULT18X18D": 4, "DP16KD": 2, "PDPW16KD": 1, "TRELLIS_DPR16X4": 3}
    assert Cells.count(ecp5) == Cells(lut4=7, ff=6, carry=5, dsp=4, block_ram=3, lut_ram=3)


def test_a_real_netlist(small):
    cells = small.cells
    assert (cells.ff, cells.dsp, cells.block_ram) == (20, 0, 0)
    assert 18 <= cells.lut4 <= 20
    assert set(small.ports) == {"clk", "rst", "d", "q"}
    assert list(small.types.values()).count("SB_LUT4") == cells.lut4
    assert "module twister(" in (small.folder / "netlist.v").read_text()


def test_made_once(small, up5k, twister, no_tools):
    assert synthesise(twister(20), "twister", up5k) == small
    with pytest.raises(AssertionError, match="yosys was run"):
        synthesise(twister(21), "twister", up5k)


def test_yosys_fails(up5k, twister, monkeypatch):
    monkeypatch.setattr(synth, "run_tool", lambda *call: Done(1, "script.ys:2: ERROR: Module `x' not found!\n"))
    with pytest.raises(InputError, match=r"^yosys failed: Module `x' not found!$"):
        synthesise(twister(22), "twister", up5k)


def test_what_yosys_says_in_its_log_alone_is_told(up5k, twister, monkeypatch):
    def asserts(tool, arguments, folder):
        (folder / "yosys.log").write_text("1. Executing a pass.\nERROR: Assert `a == b' failed in rtlil.cc:3.\n")
        return Done(1, "")

    monkeypatch.setattr(synth, "run_tool", asserts)
    with pytest.raises(InputError, match=r"^yosys failed: Assert `a == b' failed in rtlil\.cc:3\.$"):
        synthesise(twister(23), "twister", up5k)


def forged(folder, log="", cells=None, read=(2, 3, 4)):
    """A netlist with the input bits 2, 3 and 4, of which a LUT reads ``read``."""
    counts = {"SB_LUT4": 10, "SB_DFF": 10, "SB_MAC16": 1, "SB_RAM40_4K": 3} | (cells or {})
    lut = {
        "port_directions": {"I0": "input", "I1": "input", "O": "output"},
        "connections": {"I0": list(read), "I1": ["0"], "O": [4]},
    }
    inputs = {"clk": [2], "d": [3, 4], "rst": [5]}
    ports = {name: {"direction": "input", "bits": bits} for name, bits in inputs.items()}
    module = {"ports": ports | {"q": {"direction": "output", "bits": [9]}}, "cells": {"lut": lut}}
    (folder / "netlist.json").write_text(json.dumps({"modules": {"core": module}}))
    (folder / "yosys.log").write_text(log)
    (folder / "stat.json").write_text(json.dumps({"design": {"num_cells_by_type": counts}}))
    return Netlist(folder, "core")


EXPECTED = Expected(dsp=range(1, 2), block_ram=range(3, 5))


def test_a_netlist_as_expected(tmp_path):
    check_netlist(forged(tmp_path, "Warning: something else\n"), EXPECTED)
    check_netlist(forged(tmp_path, cells={"SB_RAM40_4K": 4}), EXPECTED)
    check_netlist(forged(tmp_path, cells={"SB_RAM40_4K": 9, "SB_MAC16": 5}))
    check_netlist(forged(tmp_path, read=(3, 4)), replace(EXPECTED, idle=frozenset(["clk"])))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"log": "Info\n  Warning: Driver-driver conflict for \\o between cell a and b\n"},
            r"lost logic: Warning: Driver-driver conflict for \\o between cell a and b",
        ),
        (
            {"log": "Warning: multiple conflicting drivers for top.\\x:\n"},
            r"lost logic: Warning: multiple conflicting drivers for top\.\\x:",
        ),
        ({"cells": {"SB_LUT4": 0}}, "lost logic: the netlist is empty"),
        ({"cells": {"SB_DFF": 0}}, "lost logic: the netlist is empty"),
        ({"read": (2, 3)}, r"lost logic: nothing reads the input d\[1\]"),
        ({"read": (3, 4)}, "lost logic: nothing reads the input clk"),
        ({"read": ()}, "lost logic: nothing reads the input clk and 2 other input bits"),
        ({"cells": {"SB_MAC16": 0}}, "has 0 multiplier blocks, not 1"),
        ({"cells": {"SB_RAM40_4K": 2}}, "has 2 block RAMs, not 3 to 4"),
        ({"cells": {"SB_RAM40_4K": 5}}, "has 5 block RAMs, not 3 to 4"),
    ],
)
def test_guards(tmp_path, change, message):
    with pytest.raises(CheckError, match=f"^synthesis of core {message}$"):
        check_netlist(forged(tmp_path, **change), EXPECTED)


def test_guards_are_applied_to_what_was_kept(small, up5k, twister):
    with pytest.raises(CheckError, match=r"^synthesis of twister has 0 multiplier blocks, not 1$"):
        synthesise(twister(20), "twister", up5k, EXPECTED)
