"""``skinny board``: a bitstream or one clear line. Tools that fail are stood in for by scripts."""

import json
import os
import re

import pytest
from skinny.sim.fpga import bitstream as board
from skinny.sim.fpga.tools import TOOLS, tool_version

#: What nextpnr reports of a small design.
REPORT = {
    "fmax": {"clk": {"achieved": 33.3, "constraint": 30}},
    "utilization": {
        name: {"used": used, "available": available}
        for name, used, available in (
            ("ICESTORM_LC", 2000, 5280),
            ("ICESTORM_DSP", 1, 8),
            ("ICESTORM_RAM", 11, 30),
        )
    },
}


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """Stand-ins: ``tools(log, report, code)`` is what synthesis logs, and what place and route reports and returns."""
    monkeypatch.setenv("SKINNY_CACHE", str(tmp_path / "cache"))

    def install(log="", report=REPORT, code=0, said=""):
        bodies = {
            "yosys": f"printf '%s' '{log}' > skinny.rpt",
            "nextpnr-ice40": f"echo '{said}' > skinny.tim; echo '{json.dumps(report)}' > report.json; exit {code}",
            "icepack": "echo bits > skinny.bin",
        }
        for name, body in bodies.items():
            path = tmp_path / f"fake-{name}"
            path.write_text(f"#!/bin/sh\n{body}\n")
            path.chmod(0o755)
        monkeypatch.setattr(board, "launcher", lambda tool, folder: tmp_path / f"fake-{tool}")

    return install


BUILD = ("board", "icebreaker", "p.skn", "--ring", "fixed:16.8", "-o", "out")


def test_what_is_written(folder, skinny, tools):
    tools()
    code, out, _ = skinny(*BUILD, "--json")
    answer = json.loads(out)
    names = ["skinny.bin", "skinny.rpt", "skinny.tim", "report.json", "manifest.json"]
    assert (code, answer["files"], sorted(os.listdir("out"))) == (0, names, sorted(names))
    assert (folder / "out" / "skinny.bin").read_text() == "bits\n"
    assert (answer["clock_mhz"], answer["reached_mhz"], answer["baud"]) == (30, 33.3, 1_000_000)
    assert answer["logic_cells"] == {"used": 2000, "available": 5280}
    manifest = json.loads((folder / "out" / "manifest.json").read_text())
    assert manifest["device"].startswith("skinny 1 board=icebreaker clock=30000000 ")
    assert (manifest["files"], manifest["rams"]) == (names, {"used": 11, "available": 30})
    # Bits of a word that a Boolean core would take at once; --lanes is something else.
    assert "slices=32" in manifest["device"]
    assert "lanes" not in manifest["device"]


def test_cells_are_called_what_they_are(skinny, tools):
    """A logic cell of iCE40 is more than a LUT."""
    tools()
    lines = [line.split("  ")[0] for line in skinny(*BUILD)[1].splitlines()]
    assert [line for line in lines if line.startswith(("logic", "LUT", "mult", "block"))] == [
        "logic cells",
        "multiplier blocks",
        "block RAMs",
    ]


def test_there_is_room_for_other_formulas(folder, skinny, tools):
    tools()

    def sizes(*words):
        code, _, err = skinny(*BUILD, *words)
        assert code == 0, err
        device = json.loads((folder / "out" / "manifest.json").read_text())["device"]
        return {name: int(value) for name, value in re.findall(r"\b(depth|inputs|weights)=([0-9]+)", device)}

    assert sizes() == {"depth": 256, "inputs": 16, "weights": 256}
    assert sizes("--depth", "8", "--inputs", "2", "--weights", "4") == {"depth": 8, "inputs": 2, "weights": 4}
    assert skinny("compile", "y = " + " + ".join(f"{n + 8}/8*x{n}" for n in range(300)), "-o", "p.skn")[0] == 0
    assert sizes() == {"depth": 512, "inputs": 512, "weights": 512}
    assert sizes("--roll") == {"depth": 256, "inputs": 512, "weights": 512}


def test_a_self_check_is_built_in(folder, skinny, tools):
    """p.skn has 7 words. Undone and checked it has 15, as in ``skinny sim``, and the core has the guard."""
    tools()

    def built(*words):
        code, out, _ = skinny(*BUILD, *words, "--json")
        manifest = json.loads((folder / "out" / "manifest.json").read_text())
        return code, json.loads(out)["words"], "guard=1" in manifest["device"]

    assert built() == (0, 7, False)
    assert built("--self-check") == (0, 15, True)
    (folder / "p.skn").write_text((folder / "p.skn").read_text().replace("inputs a b", "self-check\ninputs a b"))
    assert built() == (0, 15, True)
    assert built("--no-self-check") == (0, 7, False)


def test_the_multiplier_takes_its_time(skinny, tools):
    """nextpnr knows none for the UP5K's block: with two threads, no registers around it, 9.05 ns are added."""
    tools()
    _, _, err = skinny(*BUILD, "--threads", "2")
    message = "skinny: error: check failed: the timing is not met: 25.6 MHz of 30; take --freq or --seed"
    assert err.splitlines()[-1] == message
    code, out, _ = skinny(*BUILD, "--threads", "2", "--freq", "20", "--json")
    assert (code, json.loads(out)["reached_mhz"]) == (0, pytest.approx(1000 / (1000 / 33.3 + 9.05)))


def report(**changes):
    """The report with another frequency or other counts."""
    cells = {
        name: counts | {"used": changes.get(name, counts["used"])} for name, counts in REPORT["utilization"].items()
    }
    return {"fmax": {"clk": {"achieved": changes.get("mhz", 33.3), "constraint": 30}}, "utilization": cells}


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        (
            {"report": report(mhz=29.96)},
            1,
            "check failed: the timing is not met: 30.0 MHz of 30; take --freq or --seed",
        ),
        (
            {"log": "Warning: Driver-driver conflict for x"},
            *(1, "check failed: synthesis of the icebreaker lost logic: Warning: Driver-driver conflict for x"),
        ),
        (
            {"report": report(ICESTORM_RAM=4)},
            *(1, "check failed: synthesis of the icebreaker has 4 block RAMs, not 5 to 30"),
        ),
        (
            {"report": report(ICESTORM_DSP=0)},
            *(1, "check failed: synthesis of the icebreaker has 0 multiplier blocks, not 1 to 8"),
        ),
        (
            {"code": 1, "said": "ERROR: Unable to place cell, no BELs remaining of type ICESTORM_RAM"},
            2,
            "the design does not fit the icebreaker: there are too few block RAMs",
        ),
        ({"code": 1, "said": "ERROR: no idea"}, 1, "check failed: the tools failed on the icebreaker: no idea"),
    ],
)
def test_designs_that_are_not_to_be_used(skinny, tools, given, code, message):
    tools(**given)
    found = skinny(*BUILD)
    assert (found[0], found[2].splitlines()[-1]) == (code, f"skinny: error: {message}")
    assert not os.path.exists("out")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("board", "arduino", *BUILD[2:]),
            "the board must be one of icebreaker, ulx3s, ulx3s-12f, ulx3s-25f, ulx3s-45f, not 'arduino'",
        ),
        ((*BUILD, "--freq", "3"), "the board has no clock of 3 MHz"),
        ((*BUILD, "--freq", "-3"), "--freq must be a positive number, not -3"),
        ((*BUILD, "--baud", "0"), "--baud must be a positive number, not 0"),
        ((*BUILD, "--baud", "7000000"), "7,000,000 baud cannot be made of a clock of 30 MHz"),
        ((*BUILD, "--lanes", "2"), "unrecognized arguments: --lanes 2 (see 'skinny --help')"),
        ((*BUILD, "--depth", "2"), "7 program words do not fit a memory of 2"),
        ((*BUILD[:-1], "p.skn"), "p.skn: cannot be written (Not a directory)"),
    ],
)
def test_bad_requests(skinny, tools, words, message):
    tools()
    found = skinny(*words)
    assert (found[0], found[1], found[2].splitlines()[-1]) == (2, "", f"skinny: error: {message}")


def test_a_missing_tool(skinny, monkeypatch):
    monkeypatch.setitem(TOOLS, "icepack", ("yowasp_none", "run_icepack"))
    tool_version.cache_clear()
    code, _, err = skinny(*BUILD)
    tool_version.cache_clear()
    message = "skinny: error: icepack is missing: install the Python package yowasp-none"
    assert (code, err.splitlines()[-1]) == (2, message)
    assert not os.path.exists("out")


def test_a_real_bitstream(folder, skinny):
    # With the real tools: 35 s of one core, once; then it is in the cache.
    code, out, _ = skinny(
        "board", "icebreaker", "p.skn", "--ring", "fixed:16.8", "--threads", "4", "-o", "out", "--json"
    )
    answer = json.loads(out)
    assert (code, answer["clock_mhz"], answer["multipliers"]["used"]) == (0, 30, 1)
    assert 30 <= answer["reached_mhz"] < 100
    assert 1500 < answer["logic_cells"]["used"] < 2600
    # Synchronisation word of an iCE40 bitstream.
    assert bytes([0x7E, 0xAA, 0x99, 0x7E]) in (folder / "out" / "skinny.bin").read_bytes()[:64]
