"""``skinny compile FILE.onnx``: programs of files, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from skinny.scripts.cli import main
from sklearn.datasets import load_digits

MODEL = str(Path(__file__).parents[2] / "examples" / "onnx" / "digits_cnn.onnx")


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Twenty digits as a file, with a column that is not read."""
    images = load_digits().data[:20] / 16
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    lines = [",".join([*(f"pixel{n}" for n in range(64)), "label"])]
    lines += [",".join([*map(str, image), "0"]) for image in images.tolist()]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_file_becomes_a_program_in_the_narrowest_format(rows, tmp_path, capsys):
    path = tmp_path / "digits.npz"
    words = ["compile", MODEL, "--ring", "fixed", "--calibration", str(rows), "-o", str(path)]
    assert main([*words, "--json"]) == 0
    seen = capsys.readouterr()
    answer = json.loads(seen.out)
    assert "left to the host, the chip decides without it" in seen.err
    assert answer["ring"] in answer["tried"]
    assert answer["tried"][answer["ring"]] == 0
    assert (answer["kind"], answer["width"] > 16, len(answer["inputs"])) == ("classifier", True, 64)
    assert main(["run", str(path), "--inputs", str(rows), "--json"]) == 0
    sent = json.loads(capsys.readouterr().out)
    labels = np.array(sent["outputs"]["class"] if "outputs" in sent else sent["results"]["class"])
    assert np.mean(labels == load_digits().target[:20]) >= 0.9
    assert main(words) == 0
    assert f"cycles on {answer['width']} registers, {answer['ring']}" in capsys.readouterr().err
    assert main([*words[:-2], "--explain"]) == 0
    assert answer["ring"] in capsys.readouterr().out


def test_without_a_file_the_program_is_printed(capsys):
    assert main(["compile", MODEL]) == 0
    out = capsys.readouterr().out
    assert out.startswith("skinny 1\n")
    assert out.endswith("end\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([MODEL, "--ring", "fixed"], "needs to know the inputs: give calibration=rows"),
        ([MODEL, "--self-check"], "--self-check is about formulas: a trained model is compiled without it"),
        ([MODEL, "--argmax", "c"], "--argmax is about formulas"),
        (["model.pkl"], "model.pkl: a pickle runs code of whoever wrote it when it is read: load it in Python"),
        (["nowhere.onnx"], "nowhere.onnx"),
        (
            ["y = a", "--calibration", "rows.csv"],
            "--calibration is about trained models: a formula is compiled without",
        ),
        ([MODEL, "--ring", "fixed", "--calibration", "nowhere.csv"], "nowhere.csv: cannot be read"),
    ],
)
def test_what_cannot_be_used_ends_in_one_line(words, message, capsys):
    assert main(["compile", *words]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
