"""``skinny fpga``."""

import json

import pytest
from skinny.sim import build
from skinny.sim.fpga import place, report, synth, tools
from skinny.sim.fpga.devices import DEVICES
from skinny.sim.fpga.expected import Expected
from skinny.sim.fpga.tools import Done, prepare

SIZE = ("--depth", "32", "--inputs", "4", "--weights", "6")
CORE = ("p.skn", "--ring", "fixed:12.6", "--threads", "2", *SIZE)
QUICK = (*CORE, "--device", "up5k", "--seeds", "1")


@pytest.fixture(autouse=True)
def _tools():
    for tool in DEVICES["up5k"].tools:
        prepare(tool)


def test_report(answer, skinny, folder, monkeypatch):
    told = answer("fpga", *QUICK, "-o", "design")
    # By hand: seven words of 3 + 1 + 1 + 2 + 2 + 2 + 3 bits; two threads of three registers and the accumulator.
    assert (told["program_words"], told["program_bits"], told["state_bits"]) == (7, 7 * 14, 2 * 4 * 12)
    assert told["cycles_per_inference"] == 7
    assert told["core"]["dsp"] == told["with_scan_wrapper"]["dsp"] == 1
    assert told["core"]["block_ram"] == told["with_scan_wrapper"]["block_ram"] == 4
    assert 150 < told["core"]["lut4"] < told["with_scan_wrapper"]["lut4"] < 600
    assert told["core"]["ff"] < told["with_scan_wrapper"]["ff"] <= told["utilisation"]["ICESTORM_LC"]["used"]
    mhz = told["mhz"]
    assert mhz["best"] == mhz["median"] == mhz["seeds"]["1"] > 20
    assert mhz["cap"] == 50
    # With two threads the multiplier block has no registers before it, and nextpnr leaves its 9.05 ns out.
    assert mhz["effective"] == pytest.approx(min(50, 1000 / (1000 / mhz["best"] + 9.05)))
    assert told["inferences_per_second"] == pytest.approx(mhz["effective"] * 1e6 / 7)
    assert 1000 / (told["critical_path"]["logic"] + told["critical_path"]["routing"]) == pytest.approx(
        mhz["best"], 1e-3
    )
    assert told["gate_level_cycles"] > 2 * 16 * 2 * 7

    design = folder / "design"
    assert sorted(told["files"]) == sorted(path.name for path in design.iterdir())
    assert json.loads((design / "report.json").read_text()) == {
        k: told[k] for k in told if k not in ("files", "folder", "precision")
    }
    assert b"\x7e\xaa\x99\x7e" in (design / "scan_wrapper.bit").read_bytes()[:200]
    assert "module skinny_core(" in (design / "skinny_core.v").read_text()
    assert "SB_MAC16" in (design / "netlist.v").read_text()

    # The second time no tool is run, and a person is told the same.
    for module in (synth, place):
        monkeypatch.setattr(module, "run_tool", lambda *call: pytest.fail("a tool was run"))
    code, out, err = skinny("fpga", *QUICK)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split() == ["Lattice", "iCE40", "UP5K", "SG48", "core", "alone", "in", "scan", "wrapper"]
    luts = [str(told[part]["lut4"]) for part in ("core", "with_scan_wrapper")]
    assert ["LUT4", *luts] in [line.split() for line in lines]
    assert f"frequency: best {mhz['best']:.1f} MHz, median {mhz['best']:.1f} MHz of 1 seed" in lines
    assert any(line.endswith(f"the 50 MHz of its data sheet {mhz['effective']:.1f} MHz count") for line in lines)
    assert f"critical path: {told['critical_path']['words']}" in lines
    assert f"7.00 cycles an inference, {told['inferences_per_second']:,.0f} inferences a second" in lines


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([*CORE, "--device", "up4k"], "unknown device 'up4k': there are up5k, hx8k, ecp5-25k, ecp5-85k"),
        ([*QUICK, "--seeds", "0"], "the number of seeds must be 1 to 1000, not 0"),
        ([*QUICK, "--inferred"], "designs for up5k have generic parts always: they go without --inferred"),
        ([*QUICK, "--freq", "0"], "the frequency must be 1 to 1000 MHz, not 0"),
        ([*QUICK, "--freq", "nan"], "argument --freq: invalid float value: 'nan' (see 'skinny fpga --help')"),
        ([*QUICK, "--depth", "65536"], "the core does not fit up5k: it needs 227 block RAMs, there are 30"),
        ([*QUICK, "--depth", "6"], "7 program words do not fit a memory of 6"),
        ([*QUICK, "--no-attention"], "the program uses linear forms, but the core has no attention unit"),
        (["p.skn", "--ring", "real", "--device", "up5k"], "there is no hardware for the ring real"),
        (
            [*CORE, "--device", "ecp5-25k", "--gate-level"],
            "there is no gate-level simulation for ecp5-25k, only for iCE40",
        ),
    ],
)
def test_bad_arguments(skinny, folder, words, message):
    code, out, err = skinny("fpga", *words, "-o", "design")
    assert (code, out, err) == (2, "", f"skinny: error: {message}\n")
    assert not (folder / "design").exists()


def test_a_missing_tool(skinny, monkeypatch):
    monkeypatch.setitem(tools.TOOLS, "icepack", ("yowasp_none", "run_icepack"))
    tools.tool_version.cache_clear()
    code, out, err = skinny("fpga", *QUICK)
    tools.tool_version.cache_clear()
    assert (code, out, err) == (2, "", "skinny: error: icepack is missing: install the Python package yowasp-none\n")


def test_no_compiler(skinny, monkeypatch):
    monkeypatch.setattr(build, "compiler", lambda: None)
    code, _, err = skinny("fpga", *QUICK)
    assert code == 2
    assert err.endswith("the netlist cannot be simulated, --no-gate-level goes without\n")
    assert err.count("\n") == 1


def test_a_seed_that_fails(skinny, folder, monkeypatch):
    monkeypatch.setattr(place, "run_tool", lambda *call: Done(1, "ERROR: Routing failed.\n"))
    code, out, err = skinny("fpga", *QUICK, "--freq", "33", "--no-gate-level", "-o", "design")
    assert (code, out, err) == (2, "", "skinny: error: up5k, seed 1: Routing failed.\n")
    assert not (folder / "design").exists()


def test_a_guard_that_fails(skinny, folder, monkeypatch):
    monkeypatch.setattr(report, "expected_cells", lambda *args, **options: Expected(range(2, 3), range(4, 5)))
    code, out, err = skinny("fpga", *QUICK, "-o", "design")
    assert (code, out) == (1, "")
    assert err == "skinny: error: check failed: synthesis of skinny_core has 1 multiplier blocks, not 2\n"
    assert not (folder / "design").exists()
