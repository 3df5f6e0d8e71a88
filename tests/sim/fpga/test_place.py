"""Place and route: seeds, what does not fit, bitstreams."""

import statistics
from types import SimpleNamespace

import pytest
from skinny.model.errors import InputError
from skinny.sim.fpga import place as module
from skinny.sim.fpga.devices import DEVICES
from skinny.sim.fpga.place import is_full, occupied_sites, pack, packed_cells, place, place_seed
from skinny.sim.fpga.synth import synthesise
from skinny.sim.fpga.tools import Done


@pytest.fixture(scope="module")
def placement(small, up5k):
    return place(small, up5k, [1, 2, 3])


def test_best_and_median(placement):
    frequencies = [routed.frequency for routed in placement.seeds]
    assert [routed.seed for routed in placement.seeds] == [1, 2, 3]
    assert placement.best.frequency == max(frequencies)
    assert placement.median == statistics.median(frequencies)
    assert 60 < placement.median < 500


def test_what_is_used(placement, small, up5k):
    used = placement.best.utilisation
    cells, there = used["ICESTORM_LC"]
    assert there == 5280
    assert small.cells.ff <= cells <= small.cells.ff + 2  # a LUT and its register share a place; two constants
    assert used["SB_IO"] == (4, 39)
    assert placement.best.cells == cells
    assert packed_cells(small, up5k) == cells


def test_cells_are_packed_whatever_the_pins(up5k, twister):
    """Each bit has a LUT and a register that shares its logic cell, but for the twenty that come from pins."""
    netlist = synthesise(twister(40, ports=20), "twister", up5k)
    assert 40 <= packed_cells(netlist, up5k) <= 42


def test_sites_that_hold_something():
    def cell(place):
        return {"attributes": {"NEXTPNR_BEL": place} if place else {}}

    places = ["X4/Y2/SLICEA.K0", "X4/Y2/SLICEA.FF1", "X4/Y2/SLICEB.K1", "X5/Y2/SLICEA.FF0", "X0/Y2/PIOA", None]
    placed = {"modules": {"top": {"cells": {str(n): cell(place) for n, place in enumerate(places)}}}}
    assert occupied_sites(placed, "SLICE") == {"X4/Y2/SLICEA", "X4/Y2/SLICEB", "X5/Y2/SLICEA"}


def test_the_path_has_the_length_of_a_cycle(placement):
    path = placement.best.path
    assert path.logic + path.routing == pytest.approx(1000 / placement.best.frequency, rel=1e-3)
    assert (path.luts, path.carries, path.multipliers) == (0, 0, 0)


def test_placed_once(placement, small, up5k, no_tools):
    told = []
    again = place(small, up5k, [1, 2, 3], done=told.append)
    assert again == placement
    assert sorted(routed.seed for routed in told) == [1, 2, 3]
    with pytest.raises(AssertionError, match="nextpnr-ice40 was run"):
        place_seed(small, up5k, 4)
    with pytest.raises(AssertionError, match="nextpnr-ice40 was run"):
        place_seed(small, up5k, 1, frequency=99)


def test_a_design_that_does_not_fit(up5k, twister):
    """It has more pins than the package."""
    with pytest.raises(InputError, match=r"^up5k, seed 1: does not fit: .* location for cell 'd\[[0-9]+\]\$sb_io'$"):
        place_seed(synthesise(twister(40, ports=20), "twister", up5k), up5k, 1)


def test_a_seed_that_fails(small, up5k, monkeypatch):
    run_tool = module.run_tool

    def sometimes(tool, arguments, folder):
        if arguments[arguments.index("--seed") + 1] == "8":
            return Done(1, "Info: routing\nERROR: Routing failed.\n")
        return run_tool(tool, arguments, folder)

    monkeypatch.setattr(module, "run_tool", sometimes)
    with pytest.raises(InputError, match=r"^up5k, seed 8: Routing failed\.$"):
        place(small, up5k, [1, 8])


def test_bitstream(placement, up5k):
    assert b"\x7e\xaa\x99\x7e" in pack(placement.best, up5k)[:200]  # the preamble of an iCE40


def test_ecp5(twister):
    device = DEVICES["ecp5-25k"]
    netlist = synthesise(twister(10), "twister", device)
    assert netlist.cells.ff == 10
    routed = place_seed(netlist, device, 1)
    assert routed.utilisation["TRELLIS_FF"] == (10, 24288)
    assert 5 <= routed.cells <= 10 + netlist.cells.lut4  # a slice holds two registers and two LUTs
    assert packed_cells(netlist, device) is None
    assert b"\xff\xff\xbd\xb3" in pack(routed, device)[:400]  # the preamble of an ECP5


def test_a_broken_placement_gives_no_bitstream(placement, up5k, tmp_path):
    (tmp_path / "design.asc").write_text("not a placement\n")
    with pytest.raises(InputError, match=r"^up5k: no bitstream: "):
        pack(type(placement.best)(tmp_path, 1), up5k)


@pytest.mark.parametrize(
    ("first", "second", "calls", "best"),
    [(74.9, 120.0, 1, 74.9), (75.0, 95.0, 2, 95.0), (99.0, 97.0, 2, 99.0), (100.0, 120.0, 1, 100.0)],
)
def test_routed_once_more_where_the_aim_is_near(small, monkeypatch, first, second, calls, best):
    asked = []

    def route(netlist, device, seed, aim, more):
        asked.append((seed, aim, *more))
        return SimpleNamespace(frequency=second if more else first)

    monkeypatch.setattr(module, "_route", route)
    assert place_seed(small, DEVICES["ecp5-25k"], 3, frequency=100).frequency == best
    assert asked == [(3, 100), (3, 100, "--tmg-ripup")][:calls]


@pytest.mark.parametrize(
    ("log", "full"),
    [
        ("ERROR: Unable to place cell 'x', no BELs remaining of type ICESTORM_RAM\n", True),
        ("ERROR: Unable to find a placement location for cell 'd'\n", True),
        ("ERROR: failed to place: not enough TRELLIS_COMB\n", True),
        ("ERROR: cell type MULT18X18D: no BELs remaining\n", True),
        ("ERROR: Routing failed.\n", False),
        ("Info: Max frequency for clock 'clk': 33.3 MHz\n", False),
    ],
)
def test_a_full_device_is_known_by_the_log(log, full):
    assert is_full(log) is full
