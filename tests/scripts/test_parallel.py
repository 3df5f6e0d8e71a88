"""``--lanes``, ``skinny bench parallel`` and ``skinny picture parallel``."""

import gc
import json
import subprocess
from types import SimpleNamespace

import pytest
from skinny.model.golden import run
from skinny.model.lane_cycles import latency
from skinny.model.rings import PrimeField
from skinny.model.storage import load
from skinny.scripts import bench_parallel, sim
from skinny.sim.fpga.synth import Cells

#: An engine that is not synthesised is never elaborated.
pytestmark = pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")
LANES = ["--threads", "3", "--lanes", "2"]


@pytest.fixture(autouse=True)
def collected():
    """They are gone before the next test, which may not say so."""
    yield
    gc.collect()


def test_sim_over_a_ring_is_the_sequential_run(answer):
    told = answer("sim", "p.skn", "--ring", "prime:8191", "--random", "5", "--engine", "amaranth", *LANES)
    ring = PrimeField(8191)
    expected = run(load("p.skn"), ring, sim.random_inputs(5, 2, ring)).outputs
    assert [told["results"]["y"], told["results"]["z"]] == [ring.decode_all(column) for column in expected.T]
    assert told["match"]
    assert "largest_difference" not in told


def test_sim_in_fixed_point_tells_the_difference(answer, skinny):
    words = ["sim", "p.skn", "--ring", "fixed:24.8", "--inputs", "a=3.5,b=-0.5", "--engine", "amaranth", *LANES]
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
    minutes (tests/sim/test_engine.py measures the RTL)."""
    monkeypatch.setattr(bench_parallel, "BulkCore", lambda hardware: None)
    monkeypatch.setattr(bench_parallel, "measure", lambda core, image: latency(image))
    monkeypatch.setattr(bench_parallel, "LANES", (1, 2))
    monkeypatch.setattr(bench_parallel, "CYCLES", 200)
    cells = iter([Cells(70, 1, 12, 1, 4, 1), Cells(200, 2, 22, 3, 9, 1)])  # 70 + 2·12 + 6 and 200 + 2·22 + 6 LUTs
    monkeypatch.setattr(bench_parallel, "synthesise", lambda pins, top, device: SimpleNamespace(cells=next(cells)))


def test_bench(small_bench, answer, folder):
    one, two = answer("bench", "parallel")["lanes"]
    assert (one["speed_up"], one["times_luts"], two["times_luts"]) == (1, 1, 2.5)
    assert two["speed_up"] == one["cycles"] / two["cycles"] > 1.8


def test_picture(small_bench, answer, folder):
    assert answer("picture", "parallel", "-o", "lanes.png") == {"file": "lanes.png"}
    assert (folder / "lanes.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
