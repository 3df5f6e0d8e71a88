"""``skinny bench fpga``: its quick part holds what was promised, and a missed promise is not passed over."""

import json

import pytest
from skinny.scripts.bench import fpga_designs
from skinny.scripts.bench.fpga_designs import CORE, FED, MINIMAL, claims, subjects
from skinny.scripts.bench.fpga_rivals import PICORV32, RIVALS

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def quick_rows():
    return fpga_designs.bench_subjects(subjects(["up5k"], (16,)), (1,), lambda line: None)


def test_quick_part_holds_its_promises(skinny, quick_rows):
    code, out, err = skinny("bench", "fpga", "--quick", "-o", "rates.png", "--json")
    told = json.loads(out)
    assert (code, len(err.splitlines())) == (0, 3)
    assert told["designs"] == quick_rows
    bare, fed, core = told["designs"]
    assert (bare["dsp"], fed["dsp"], core["dsp"]) == (1, 1, 1)
    assert (bare["block_ram"], fed["block_ram"]) == (0, 2)
    # nextpnr gives more than the data sheet allows the multiplier block.
    assert min(bare["nextpnr_mhz"].values()) > bare["mhz"] == bare["cap"] == 50
    assert core["mhz"] == min(50, core["nextpnr_mhz"]["1"]) >= 44
    assert core["lut"] == core["lut4"] <= 440
    assert core["to_limit"] == core["mhz"] / fed["mhz"] >= 0.9
    assert core["times_picorv32"] == pytest.approx(core["mhz"] / (30 / 14.3))
    assert core["times_picorv32"] >= 15
    assert core["luts_to_picorv32"] == core["lut"] / 1572 <= 0.4
    assert len(told["claims"]) == 6
    assert all(claim["met"] for claim in told["claims"])
    assert [rival["rival"] for rival in told["rivals"]] == [rival.name for rival in RIVALS]


def test_tables_and_picture(skinny, folder, quick_rows):
    code, out, _ = skinny("bench", "fpga", "--quick", "-o", "rates.png")
    assert code == 0
    lines = out.splitlines()
    core = quick_rows[-1]
    shown = next(line.split() for line in lines if line.startswith("up5k") and " core " in line)
    figures = (f"{core[k]:,}" for k in ("lut", "ff", "cells", "placed_cells", "dsp", "block_ram"))
    assert shown[:10] == ["up5k", "inferred", "core", "16", *figures]
    assert core["ff"] < core["cells"] < core["placed_cells"]
    assert any("picorv32, fast multiplier" in line for line in lines)
    assert any("measured earlier, not in this run" in line for line in lines)
    assert sum(line.endswith(" yes") for line in lines) == 6
    assert (folder / "rates.png").read_bytes().startswith(PNG)


def row(device="hx8k", parts="inferred", design=CORE, **figures):
    good = {"bits": 16, "mhz": 200.0, "lut": 300, "lut4": 300, "dsp": 0, "to_limit": 1.0}
    good |= {"times_picorv32": 30.0, "luts_to_picorv32": 0.1}
    return {"device": device, "parts": parts, "design": design, **good, **figures}


@pytest.mark.parametrize(
    ("figures", "missed"),
    [
        ({}, 0),
        ({"mhz": 74.9}, 1),
        ({"lut": 1001}, 1),
        ({"dsp": 1}, 1),
        ({"to_limit": 0.89}, 1),
        ({"times_picorv32": 14.9, "luts_to_picorv32": 0.41}, 2),
        ({"device": "ecp5-25k", "dsp": 1}, 0),
        ({"device": "ecp5-25k", "mhz": 129.9}, 1),
        ({"device": "ecp5-25k", "parts": "ecp5", "mhz": 194.9, "to_limit": 0.5}, 1),
        ({"device": "up5k", "design": MINIMAL, "bits": 8, "lut4": 161}, 1),
        ({"bits": 32, "mhz": 1.0}, 0),
        ({"design": FED, "mhz": 1.0}, 0),
    ],
)
def test_claims(figures, missed):
    found = claims([row(**figures)])
    assert sum(not claim["met"] for claim in found) == missed


def test_a_missed_promise_is_exit_code_1(skinny, quick_rows, monkeypatch):
    slow = [*quick_rows[:-1], quick_rows[-1] | {"mhz": 43.0}]
    monkeypatch.setattr(fpga_designs, "bench_subjects", lambda *given: slow)
    code, out, err = skinny("bench", "fpga", "--quick")
    assert code == 1
    assert err == "skinny: error: check failed: 1 of 6 promises missed: up5k, inferred, 16 bit: MHz\n"
    assert "NO" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--device", "up4k"], "unknown device 'up4k': there are up5k, hx8k, ecp5-25k, ecp5-85k"),
        (["-o", "rates.jpg"], "rates.jpg: the name of a picture must end in .png"),
    ],
)
def test_bad_arguments(skinny, words, message):
    assert skinny("bench", "fpga", *words) == (2, "", f"skinny: error: {message}\n")


def test_rivals_are_those_of_the_measurement():
    # 86 MHz at 14.3 cycles.
    assert PICORV32.rate("ecp5-25k") == pytest.approx(6.014e6, rel=1e-3)
    assert all(set(rival.luts) == set(rival.mhz) == {"up5k", "hx8k", "ecp5-25k"} for rival in RIVALS)


def test_every_core_comes_after_its_limit():
    listed = subjects(["up5k", "ecp5-25k"])
    assert len(listed) == 3 * 3 * 3 + 2
    for place, subject in enumerate(listed):
        if subject.name == CORE:
            assert subject._replace(name=FED) in listed[:place]
