"""The exported design checks itself in two simulators, is the same bytes every time, and says what it is."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from skinny.hdl.core.core import Core
from skinny.hdl.export.export import Pins, design_files, export, to_verilog
from skinny.model.errors import InputError
from skinny.model.machine.assemble import assemble
from skinny.model.machine.cycles import overhead
from skinny.model.machine.isa import CoreConfig
from skinny.model.named_weight import NamedWeight
from skinny.model.rings import Boolean, FixedPoint, PrimeField
from skinny.sim.build import build_program
from skinny.sim.check.generate import random_program
from skinny.sim.check.stimulus import random_elements

CASES = {
    "fixed": (CoreConfig(FixedPoint(16, 8), depth=64, inputs=4, weights=8), False),
    "fixed-rom": (CoreConfig(FixedPoint(16, 8), depth=64, inputs=4, weights=8), True),
    "prime-t3": (CoreConfig(PrimeField(251), threads=3, depth=64, inputs=4, weights=8), False),
    "network": (
        CoreConfig(
            FixedPoint(16, 8), depth=256, inputs=4, weights=9, assign=True, sums=True, relu=True, argmax=4, guard=True
        ),
        False,
    ),
    "memory": (
        CoreConfig(FixedPoint(16, 8), 64, 8, depth=256, inputs=4, weights=9, relu=True, registers="memory"),
        False,
    ),
    "boolean-rom": (CoreConfig(Boolean(), threads=2, depth=64, inputs=4, weights=8, slices=64), True),
}


def make(name):
    config, rom = CASES[name]
    rng = np.random.default_rng(3)
    image = assemble(random_program(rng, config, 20, outputs=2), config)
    count = 300 if isinstance(config.ring, Boolean) else 41
    return image, random_elements(rng, config.ring, (count, 4)), rom


@pytest.fixture(params=CASES)
def folder(request, tmp_path):
    image, elements, rom = make(request.param)
    export(image, elements, tmp_path, rom=rom)
    return tmp_path


def icarus(folder):
    subprocess.run(["iverilog", "-o", "bench", "skinny_core_tb.v", "skinny_core.v"], cwd=folder, check=True)
    return subprocess.run(["vvp", "-N", "bench"], cwd=folder, capture_output=True, text=True)


def verilator(folder):
    sources = {name: (folder / name).read_text() for name in ("skinny_core_tb.v", "skinny_core.v")}
    program = build_program(sources, "skinny_core_tb", timing=True)
    return subprocess.run([program], cwd=folder, capture_output=True, text=True)


def corrupt(folder, name, line):
    lines = (folder / name).read_text().splitlines()
    lines[line] = f"{int(lines[line], 16) ^ 1:0{len(lines[line])}x}"
    (folder / name).write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("simulate", [icarus, verilator])
def test_the_bench_passes_and_notices_a_wrong_expectation(folder, simulate):
    done = simulate(folder)
    assert done.returncode == 0
    assert re.match(r"PASS: \d+ results, \d+ cycles\n", done.stdout)
    corrupt(folder, "expected.hex", 3)
    done = simulate(folder)
    assert done.returncode != 0
    assert re.match(r"FAIL: result 3: expected \w+, got \w+\nFAIL: 1 differences\n", done.stdout)
    assert "PASS" not in done.stdout


def test_the_bench_notices_a_wrong_number_of_cycles(tmp_path):
    folder = tmp_path
    image, elements, _ = make("fixed")
    export(image, elements, folder)
    text = (folder / "skinny_core_tb.v").read_text()
    cycles = int(re.search(r"CYCLES = (\d+)", text)[1])
    (folder / "skinny_core_tb.v").write_text(text.replace(f"CYCLES = {cycles}", f"CYCLES = {cycles + 1}"))
    assert f"FAIL: {cycles} cycles, expected {cycles + 1}\n" in verilator(folder).stdout


SCRIPT = """
import hashlib, json, sys
sys.path.insert(0, sys.argv[1])
from test_export import design_files, make
files = design_files(*make(sys.argv[2])[:2], rom=make(sys.argv[2])[2])
print(json.dumps({name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()}))
"""


@pytest.mark.parametrize("case", ["fixed", "boolean-rom"])
def test_the_same_bytes_whatever_the_hash_seed(case, tmp_path):
    answers = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT, os.path.dirname(__file__), case],
            cwd=tmp_path,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4711")
    }
    assert len(answers) == 1
    assert "skinny_core.v" in json.loads(answers.pop())


def test_no_trace_of_the_machine(folder):
    for path in folder.iterdir():
        text = path.read_text()
        assert os.getcwd() not in text
        assert sys.prefix not in text
        assert "/" not in text or path.suffix == ".v"


def test_the_manifest(folder):
    told = json.loads((folder / "manifest.json").read_text())
    text = (folder / "skinny_core.v").read_text()
    head = re.search(r"module skinny_core\((.*?)\);", text, re.DOTALL)[1]
    assert sorted(port["name"] for port in told["ports"]) == sorted(re.findall(r"\w+", head))
    top = text[: text.index("endmodule")]
    for port in told["ports"]:
        bits = "" if port["bits"] == 1 else rf"\[{port['bits'] - 1}:0\] "
        assert re.search(rf"\n  {port['direction']} {bits}{port['name']};", top)
    assert told["files"] == sorted(path.name for path in folder.iterdir())
    sizes = told["parameters"]
    constant = sizes["pipeline"] + 4 if sizes["registers"] == "memory" else sizes["threads"] + 8
    assert told["latency"]["constant"] == constant + bool(sizes["argmax"])
    words = len((folder / "program.hex").read_text().split())
    assert told["program"]["words"] == told["latency"]["length"] == words
    assert told["rom"] == (not (folder / "load.hex").exists())


def test_the_manifest_says_what_a_raw_word_means():
    image, elements, _ = make("fixed")
    scaled = replace(
        image.program,
        input_scales=(12, *image.program.input_scales[1:]),
        outputs=tuple(o._replace(scale=-3, approximation=Fraction(1, 8), sampled=True) for o in image.program.outputs),
    )
    words = ((0, Fraction(1)), (1, scaled.weights[1] / scaled.weights[0]))
    scaled = replace(scaled, named=(NamedWeight("k", scaled.weights[0], Fraction(-200), Fraction(200), words),))
    told = json.loads(design_files(image.reassemble(scaled), elements)["manifest.json"])["units"]
    (named,) = told["named_weights"]
    assert (named["name"], named["low"], named["high"]) == ("k", "-200", "200")
    assert named["value"] == str(scaled.weights[0])
    assert named["words"] == [{"space": 1, "address": k, "factor": str(factor)} for k, factor in words]
    assert told["frac"] == 8
    assert told["meaning"] == "value = raw * 2^(scale - frac), raw being the word as a signed number"
    assert told["inputs"][0] == {"name": image.program.inputs[0], "scale": 12, "box": None}
    name = image.program.outputs[-1].name
    assert told["outputs"][-1] == {"name": name, "scale": -3, "approximation": "1/8", "sampled": True}


def test_manifest_encoding():
    image, elements, _ = make("fixed")
    told = json.loads(design_files(image, elements)["manifest.json"])
    assert told["ring"] == {"name": "fixed:16.8", "word_bits": 16}
    assert told["latency"]["cycles"] == len(image) * 4 + overhead(image.config)
    # Whoever reads the manifest can decode the program.
    for word, op, k in zip(
        image.words.tolist(), *(image.config.decode(image.words)[name].tolist() for name in ("op", "k")), strict=True
    ):
        found = {f["name"]: word >> f["offset"] & (1 << f["bits"]) - 1 for f in told["encoding"]["fields"]}
        assert (found["op"], found["k"]) == (op, k)
    assert told["memory_map"][0] == {
        "space": 0,
        "name": "program",
        "words": 64,
        "bits": told["encoding"]["word_bits"],
    }


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    image, elements, _ = make("fixed")
    with pytest.raises(InputError, match=r"file: cannot be made \(File exists\)"):
        export(image, elements, tmp_path / "file")


def test_nothing_half_written(tmp_path, monkeypatch):
    image, elements, _ = make("fixed")
    (tmp_path / "skinny_core.v").mkdir()
    with pytest.raises(InputError, match=r"skinny_core\.v: cannot be written"):
        export(image, elements, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["skinny_core.v"]


@pytest.mark.parametrize("retire", [True, False])
def test_the_port_for_simulation_may_be_left_open(retire):
    config, _ = CASES["fixed"]
    ports = re.search(r"module skinny_core\((.*?)\)", to_verilog(Pins(Core(config), retire=retire)), re.DOTALL)[1]
    assert ("retire_value" in ports) is retire
    assert "load_data" in ports


def test_the_manifest_says_what_a_program_promises():
    told = {}
    for name in ("fixed", "network"):
        image, elements, rom = make(name)
        told[name] = json.loads(design_files(image, elements, rom=rom)["manifest.json"])
    keys = ("linear", "reversible", "argmax", "outputs")
    assert [told["fixed"]["program"][key] for key in keys] == [True, True, False, ["y0", "y1"]]
    assert [told["network"]["program"][key] for key in keys] == [False, False, True, ["number"]]
    assert told["network"]["units"]["outputs"] == [{"name": "number", "meaning": "the number of the largest output"}]
    assert [field["name"] for field in told["network"]["encoding"]["fields"]][2:5] == ["flag", "relu", "dst"]
