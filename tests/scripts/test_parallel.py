"""``--lanes``, ``skinny bench parallel`` and ``skinny picture parallel``."""

import json
import subprocess

import pytest
from skinny.model.machine.cycles import latency
from skinny.model.machine.isa import CoreConfig
from skinny.model.parallel.segments import EngineConfig
from skinny.model.program.storage import load
from skinny.model.rings import Boolean, PrimeField
from skinny.model.run.golden import run
from skinny.scripts import sim
from skinny.scripts.bench import parallel

LANES = ["--threads", "3", "--lanes", "2"]


def test_sim_over_a_ring_is_the_sequential_run(answer):
    told = answer("sim", "p.skn", "--ring", "prime:8191", "--random", "5", "--simulator", "amaranth", *LANES)
    ring = PrimeField(8191)
    program = load("p.skn")
    expected = run(program, ring, sim.random_inputs(5, program, ring).elements).outputs
    assert [told["results"]["y"], told["results"]["z"]] == [ring.decode_all(column) for column in expected.T]
    assert told["match"]
    assert "largest_difference" not in told


def test_sim_in_fixed_point_tells_the_difference(answer, skinny):
    words = ["sim", "p.skn", "--ring", "fixed:24.8", "--inputs", "a=3.5,b=-0.5", "--simulator", "amaranth", *LANES]
    told = answer(*words)
    assert told["results"] == {"y": [-4.25], "z": [3.5]}
    assert told["largest_difference"] == 0
    assert 0 < told["multiplier_utilisation"] < 1
    _, out, _ = skinny(*words)
    assert out.endswith("largest difference from the sequential run: 0\n")


@pytest.mark.parametrize("rom", [[], ["--rom"]])
def test_the_design_checks_itself(answer, folder, rom):
    told = answer("verilog", "p.skn", "--ring", "fixed:12.6", "--vectors", "9", "-o", "design", *LANES, *rom)
    design = folder / "design"
    described = json.loads((design / "manifest.json").read_text())
    assert (told["cycles"], told["words"]) == (described["latency"]["cycles"], described["program"]["words"])
    assert described["engine"]["cores"] == len(described["engine"]["lane_words"]) == 2
    assert sum(described["engine"]["lane_words"]) == told["words"]
    assert {"program.hex", "program1.hex"} <= set(described["files"])
    subprocess.run(["iverilog", "-o", "bench", "skinny_core_tb.v", "skinny_core.v"], cwd=design, check=True)

    def simulate():
        return subprocess.run(["vvp", "-N", "bench"], cwd=design, capture_output=True, text=True).stdout

    assert simulate().startswith("PASS: 18 results, ")
    expected = (design / "expected.hex").read_text().split()
    expected[7] = f"{int(expected[7], 16) ^ 1:04x}"
    (design / "expected.hex").write_text("\n".join(expected) + "\n")
    assert simulate().startswith("FAIL: result 7: ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--lanes", "2", "--threads", "2"], "lanes run a thread for each of 3 registers: 2 threads are too few"),
        (["--lanes", "17"], "the number of lanes must be 1 to 16, not 17"),
        (["--lanes", "0"], "the number of lanes must be 1 to 16, not 0"),
    ],
)
def test_bad_arguments(skinny, folder, words, message):
    for command in (["sim", "p.skn", "--random", "1"], ["verilog", "p.skn", "-o", "design"]):
        code, out, err = skinny(*command, "--ring", "fixed:16.8", *words)
        assert (code, out, err) == (2, "", f"skinny: error: {message}\n")
    assert not (folder / "design").exists()


@pytest.fixture
def small_bench(monkeypatch):
    """Few lanes, a short program, the cycles of the model, and cells of a made-up synthesis: the real ones take
    minutes (tests/sim/simulators/test_parallel.py measures the RTL)."""
    monkeypatch.setattr(parallel, "BulkCore", lambda hardware: None)
    monkeypatch.setattr(parallel, "measure", lambda core, image: latency(image))
    monkeypatch.setattr(parallel, "LANES", (1, 2))
    monkeypatch.setattr(parallel, "WORDS", 200)
    cells = iter([{"luts": 100, "registers": 1}, {"luts": 250, "registers": 2}])
    monkeypatch.setattr(parallel, "cells", lambda hardware: next(cells))


def test_bench(small_bench, answer, folder):
    one, two = answer("bench", "parallel")["lanes"]
    assert (one["speed_up"], one["times_luts"], two["times_luts"]) == (1, 1, 2.5)
    assert two["speed_up"] == one["cycles"] / two["cycles"] > 1.8


def test_picture(small_bench, answer, folder):
    assert answer("picture", "parallel", "-o", "lanes.png") == {"file": "lanes.png"}
    assert (folder / "lanes.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_cells():
    core = CoreConfig(Boolean(), slices=4, threads=3, depth=16, inputs=4, weights=4, fifo=16, check=False)
    one, two = (parallel.cells(hardware) for hardware in (core, EngineConfig(core, 2)))
    assert one["block_rams"] < two["block_rams"]
    assert 2 * one["luts"] < two["luts"]
    assert (one["multipliers"], two["multipliers"]) == (0, 0)
