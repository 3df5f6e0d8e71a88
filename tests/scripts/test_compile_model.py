"""``skinny compile NET.onnx``: options reach the front end, and the program decides as the network does."""

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from skinny.model.program.storage import load
from skinny.model.program.text import loads

FILE = Path(__file__).parents[2] / "examples" / "onnx" / "digits_cnn.onnx"
NAMES = [f"pixel{n}" for n in range(64)]


@pytest.fixture
def net(folder):
    """The working folder, with the network, rows and the digits that onnxruntime sees in them."""
    shutil.copy(FILE, folder / "net.onnx")
    rows = np.random.default_rng(0).integers(0, 17, (40, 64)) / 16
    with open(folder / "rows.csv", "w", newline="") as file:
        csv.writer(file).writerows([NAMES, *rows.tolist()])
    session = onnxruntime.InferenceSession(FILE, providers=["CPUExecutionProvider"])
    images = rows.reshape(-1, 1, 1, 8, 8).astype(np.float32)
    return [int(session.run(None, {"pixel": image})[0].argmax()) for image in images]


def test_a_program_that_decides_as_the_network(skinny, answer, net):
    code, out, err = skinny("compile", "net.onnx", "-o", "net.skn")
    assert (code, out) == (0, "")
    lines = err.splitlines()
    assert lines[0] == "skinny: net.onnx: Softmax 'node_softmax': left to the host, the chip decides without it"
    assert lines[1].startswith("skinny: net.skn: 2,2")
    assert len(lines) == 2
    program = load("net.skn")
    assert program.inputs == tuple(NAMES)
    assert program.title == "net.onnx"
    assert answer("run", "net.skn", "--ring", "real", "--inputs", "rows.csv")["outputs"]["class"] == net


def test_a_format_by_rows(skinny, answer, net):
    code, out, err = skinny("compile", "net.onnx", "--ring", "fixed", "--calibration", "rows.csv", "-o", "net.npz")
    assert (code, out) == (0, "")
    assert "weights changed by more than 1 %" in err
    program = load("net.npz")
    assert program.ring.startswith("fixed:")
    code, out, _ = skinny("run", "net.npz", "--inputs", "rows.csv", "--json")
    assert code == 0
    assert json.loads(out)["outputs"]["class"] == net
    code, out, _ = skinny("compile", "net.onnx", "--ring", "fixed", "--calibration", "rows.csv", "--explain")
    assert (code, program.ring in out) == (0, True)
    code, out, _ = skinny("compile", "net.onnx", "--ring", "fixed:20", "--calibration", "rows.csv", "--width", "45")
    assert code == 0
    assert loads(out).ring.startswith("fixed:20.")


def test_json(answer, net):
    found = answer("compile", "net.onnx", "-o", "net.skn")
    assert found["kind"] == "classifier"
    assert found["classes"] == list(range(10))
    assert found["inputs"] == NAMES
    assert found["idle"] == []
    assert (found["argmax"], found["file"], found["ring"]) == ("class", "net.skn", None)
    assert found["words"] < found["cycles"] <= found["words"] + 10
    assert (found["linear"], found["reversible"]) == (False, False)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("--no-attention", "--no-attention is about formulas"),
        ("--argmax y", "--argmax is about formulas"),
        ("--ring fixed", "--ring chooses a format for known inputs: give --calibration rows.csv or --box LO:HI"),
        ("--ring fixed --calibration few.csv", "few.csv: the column 'pixel1' is missing"),
        ("--ring fixed --calibration bad.csv", "bad.csv: row 2, column 'pixel3': 'many' is not a finite number"),
        ("--keep linear", "is neither linear nor reversible"),
        ("--width 4", "the model does not fit 4 registers"),
        ("--weights bad.csv", "bad.csv: --weights takes a file of a model, NAME.onnx"),
    ],
)
def test_what_cannot_be(skinny, net, folder, words, why):
    (folder / "few.csv").write_text("pixel0\n1\n")
    bad = [["0"] * 64, ["0"] * 64]
    bad[1][3] = "many"
    (folder / "bad.csv").write_text("".join(",".join(row) + "\n" for row in (NAMES, *bad)))
    code, out, err = skinny("compile", "net.onnx", *words.split())
    assert (code, out) == (2, "")
    assert err.startswith("skinny: error: ")
    assert why in err
    assert err.count("\n") == 1


def test_files_that_are_no_network(skinny, folder):
    (folder / "bad.onnx").write_text("a*b")
    for name, why in (("none.onnx", "cannot be read"), ("bad.onnx", "not an ONNX file")):
        code, out, err = skinny("compile", name)
        assert (code, out) == (2, "")
        assert err.startswith(f"skinny: error: {name}: {why}")
    assert "model.pkl: a pickle runs code of whoever wrote it when it is read" in skinny("compile", "model.pkl")[2]
    assert "--calibration is about trained models" in skinny("compile", "a*b", "--calibration", "rows.csv")[2]


def test_a_network_on_a_stream_of_rows(skinny, answer, net, folder):
    """Each sample is a row of an image, so that a result comes after eight of them."""
    assert answer("compile", "net.onnx", "-o", "net.skn")["window"] == 0
    assert answer("compile", "net.onnx", "--hop", "8", "-o", "stream.skn")["window"] == 64
    rows = Path("rows.csv").read_text().splitlines()[1:4]
    lines = [",".join(f"pixel{n}" for n in range(8))]
    lines += [",".join(row.split(",")[n : n + 8]) for row in rows for n in range(0, 64, 8)]
    (folder / "samples.csv").write_text("\n".join(lines) + "\n")
    found = answer("run", "stream.skn", "--ring", "real", "--stream", "samples.csv")["outputs"]["class"][0]
    wanted = answer("run", "net.skn", "--ring", "real", "--inputs", "rows.csv")["outputs"]["class"]
    assert found[::8] == wanted[:3]
    assert skinny("compile", "net.onnx", "--hop", "65")[2].endswith("takes 1 to 64 new words a sample, not 65\n")


def test_probabilities_of_the_classes(skinny, answer, net):
    found = answer("compile", "net.onnx", "--probabilities", "-o", "net.skn")
    assert (found["argmax"], found["probabilities"]) == (None, "softmax")
    outputs = answer("run", "net.skn", "--ring", "real", "--inputs", "rows.csv")["outputs"]
    assert list(outputs) == [f"probability{n}" for n in range(10)]
    values = np.array(list(outputs.values()))
    session = onnxruntime.InferenceSession(FILE, providers=["CPUExecutionProvider"])
    rows = np.random.default_rng(0).integers(0, 17, (40, 64)) / 16
    images = rows.reshape(-1, 1, 1, 8, 8).astype(np.float32)
    wanted = np.concatenate([session.run(None, {"pixel": image})[0] for image in images])
    assert pytest.approx(wanted, abs=1e-5) == values.T


def test_weights_of_a_network_that_was_trained_again(skinny, net, folder):
    shutil.copy(FILE.with_name("digits_cnn_again.onnx"), folder / "again.onnx")
    for name, words in (("a.skn", ()), ("b.skn", ("--weights", "again.onnx"))):
        assert skinny("compile", "net.onnx", *words, "-o", name)[0] == 0
    first, second = load("a.skn"), load("b.skn")
    assert first.settable
    assert first.weights != second.weights
    assert (first.forms, first.outputs) == (second.forms, second.outputs)
    assert second.title == "again.onnx"
    code, _, err = skinny("compile", "net.onnx", "--weights", "rows.csv")
    assert (code, err.splitlines()[-1]) == (
        2,
        "skinny: error: rows.csv: --weights takes a file of a model, NAME.onnx",
    )
    for option in ("--probabilities", "--keep-zeros", "--weights net.onnx", "--hop 1"):
        assert f"{option.split()[0]} is about trained models" in skinny("compile", "a*b", *option.split())[2]
