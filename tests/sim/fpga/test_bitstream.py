"""Bitstreams of boards of both families, with tools that are stood in for by scripts."""

import json

import pytest
from skinny.hdl.link.board import BOARDS
from skinny.model.errors import CheckError, InputError
from skinny.model.machine.assemble import assemble
from skinny.model.machine.isa import CoreConfig
from skinny.model.program.text import loads
from skinny.model.rings import FixedPoint
from skinny.sim.fpga import bitstream
from skinny.sim.fpga.bitstream import build_board

PROGRAM = "skinny 1\nwidth 3\ninputs a\nR2 += a*R1\nR0 += a*R2\nemit y = R0\nend\n"
#: Names that nextpnr has for LUTs, multipliers and block RAMs, the tool that packs, and the ending of a bitstream.
BUILDS = {
    "icebreaker": ("nextpnr-ice40", "icepack", "bin", ("ICESTORM_LC", "ICESTORM_DSP", "ICESTORM_RAM")),
    "ulx3s": ("nextpnr-ecp5", "ecppack", "bit", ("TRELLIS_COMB", "MULT18X18D", "DP16KD")),
}


@pytest.fixture
def build(tmp_path, monkeypatch):
    """``build(board, mhz, blocks, rams)`` builds a board whose place and route reports these figures."""
    monkeypatch.setenv("SKINNY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(bitstream, "tool_version", lambda tool: tool)

    def run(name, mhz, blocks, rams, depth=1024):
        router, packer, ending, cells = BUILDS[name]
        utilisation = {cell: {"used": n, "available": 50} for cell, n in zip(cells, (9, blocks, rams), strict=True)}
        report = {"fmax": {"slow": {"achieved": 1}, "clk": {"achieved": mhz}}, "utilization": utilisation}
        bodies = {
            "yosys": "echo > skinny.rpt",
            router: f"echo > skinny.tim; echo '{json.dumps(report)}' > report.json",
            packer: f"echo bits > skinny.{ending}",
        }
        for tool, body in bodies.items():
            (tmp_path / tool).write_text(f"#!/bin/sh\n{body}\n")
            (tmp_path / tool).chmod(0o755)
        monkeypatch.setattr(bitstream, "launcher", lambda tool, folder: tmp_path / tool)
        board = BOARDS[name]
        image = assemble(loads(PROGRAM), CoreConfig(FixedPoint(16, 8), depth=depth))
        return build_board(board, image, board.clock(), 1_000_000, tmp_path / "out")

    return run


@pytest.mark.parametrize("board", BUILDS)
def test_figures_and_files(build, tmp_path, board):
    made = build(board, 120.5, 1, 20)
    ending = BUILDS[board][2]
    assert made.files == [f"skinny.{ending}", "skinny.rpt", "skinny.tim", "report.json", "manifest.json"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(made.files)
    logic = {"icebreaker": "logic_cells", "ulx3s": "luts"}[board]
    assert made.cells == {logic: (9, 50), "multipliers": (1, 50), "rams": (20, 50)}
    # The multiplier block of the iCEBreaker has a limit of 50 MHz, that of the ULX3S none.
    assert made.reached == {"icebreaker": 50, "ulx3s": 120.5}[board]


@pytest.mark.parametrize("board", BUILDS)
@pytest.mark.parametrize(
    ("blocks", "rams", "message"), [(0, 20, "0 multiplier blocks, not 1 to 50"), (1, 0, "0 block RAMs")]
)
def test_lost_cells(build, tmp_path, board, blocks, rams, message):
    with pytest.raises(CheckError, match=f"^synthesis of the {board} has {message}"):
        build(board, 120.5, blocks, rams)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("board", "depth"), [("icebreaker", 1 << 12), ("ulx3s", 1 << 18)])
def test_what_cannot_fit_is_refused_before_the_tools_run(build, tmp_path, board, depth):
    """A word of the program has 23 bits or more: 2^12 of them fill 24 of UP5K's 30 blocks of 4,096 bits, beside those
    of inputs, weights, results and the link."""
    message = rf"^the design does not fit the {board}: it needs at least [0-9]+ block RAMs, there are (30|208); take "
    with pytest.raises(InputError, match=message):
        build(board, 120.5, 1, 20, depth=depth)
    assert not (tmp_path / "cache").exists()
