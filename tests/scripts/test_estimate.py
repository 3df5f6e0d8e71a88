"""``skinny fpga --estimate`` and ``skinny bench estimate``."""

import json
import subprocess
import sys

import pytest
from skinny.sim.fpga import estimate, fit

CORE = ("fpga", "p.skn", "--ring", "fixed:16.8", "--device", "up5k", "--depth", "16", "--estimate")
BARE = "an estimate runs no tool and writes no file: it goes without"
#: In a new process: what a call takes and what it loads.
CALL = """
import sys, time
from skinny.scripts.cli import main
code = main(sys.argv[1:])
print(time.process_time(), code, "amaranth" in sys.modules, file=sys.stderr)
"""


def test_answer_in_a_moment_without_amaranth(folder):
    done = subprocess.run([sys.executable, "-c", CALL, *CORE, "--json"], capture_output=True, text=True, check=True)
    seconds, code, amaranth = done.stderr.split()
    assert (code, amaranth) == ("0", "False")
    assert float(seconds) < 1
    told = json.loads(done.stdout)
    # Seven words, the form of one term among them; four threads of three registers and the accumulator.
    assert (told["program_words"], told["state_bits"]) == (7, 4 * 4 * 16)
    assert told["core"]["dsp"] == 1
    assert told["mhz"]["effective"] <= told["mhz"]["cap"] == 50
    assert told["worst_errors"] == estimate.read_table()["worst"]


def test_a_person_is_told_the_errors(skinny, answer):
    told = answer(*CORE)
    code, out, err = skinny(*CORE)
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    worst = told["worst_errors"]
    assert ["LUT4", str(told["core"]["lut4"]), "±", f"{worst['lut4']:.0%}"] in lines
    assert ["MHz", f"{told['mhz']['median']:.1f}", "±", f"{worst['mhz']:.0%}"] in lines


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-o", "x"), f"{BARE} -o"),
        (("--gate-level",), f"{BARE} --gate-level"),
        (("--no-gate-level",), f"{BARE} --no-gate-level"),
        (("--seeds", "3"), f"{BARE} --seeds"),
        (("--freq", "50", "-o", "x"), f"{BARE} --freq and -o"),
        (("--inferred",), "designs for up5k have generic parts always: they go without --inferred"),
        # Words of 11 bits: five columns of two bits in 128 blocks each, and one bit in 64; weights, inputs, results.
        (("--depth", "262144"), "the core does not fit up5k: it needs 708 block RAMs, there are 30"),
    ],
)
def test_refused(skinny, folder, words, message):
    assert skinny(*CORE, *words) == (2, "", f"skinny: error: {message}\n")
    assert not (folder / "x").exists()


def test_outside_the_domain_there_is_a_warning(skinny):
    code, out, err = skinny(*CORE, "--threads", "9")
    assert (code, err.count("\n")) == (0, 1)
    assert "no fitted design had threads 9 (fitted: 1 to 6)" in err
    assert "LUT4" in out


FIGURES = ("lut4", "ff", "cells", "mhz")


def row(off):
    figures = {name: {"estimate": 100 * (1 + off), "measured": 100, "error": off} for name in FIGURES}
    core = {"ring": "modular:8", "bits": 8, "threads": 4, "width": 3}
    return {"device": "up5k", "target": "generic", **core, **figures}


@pytest.mark.parametrize(("off", "code"), [(0.149, 0), (-0.151, 1)])
def test_bench_ends_badly_when_estimates_are_off(skinny, monkeypatch, off, code):
    monkeypatch.setattr(fit, "held_out", lambda table, say: [row(0.01), row(off), row(0.02)])
    found, out, err = skinny("bench", "estimate")
    assert found == code
    assert f"mhz: worst error {abs(off):.1%}, median 2.0%" in out
    assert err == (
        "skinny: error: check failed: estimates are too far off: lut4 15.1% off, cells 15.1% off, mhz 15.1% off\n"
        * code
    )


def test_fit_is_kept_with_its_errors(skinny, monkeypatch, folder):
    monkeypatch.setattr(fit, "fit", lambda say: {"lut4": {}})
    monkeypatch.setattr(fit, "held_out", lambda table, say: [row(0.01)])
    monkeypatch.setattr(estimate, "TABLE", folder / "estimate.json")
    assert skinny("bench", "estimate", "--fit", "--json")[0] == 0
    kept = json.loads((folder / "estimate.json").read_text())
    assert kept == {"lut4": {}, "worst": dict.fromkeys(FIGURES, 0.01), "held_out": [row(0.01)]}
