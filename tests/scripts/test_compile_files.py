"""``skinny compile`` of circuits and sum-product networks: options reach the compiler, and the program is right."""

import json

import pytest
from skinny.model.program.storage import load

HALF = ".inputs a b\n.outputs s c\n.names a b s\n10 1\n01 1\n.names a b c\n11 1\n"
COIN = {"variables": {"u": 2}, "root": "r", "nodes": {"r": {"bernoulli": 0.25, "of": "u"}}}


@pytest.fixture
def files(folder):
    (folder / "half.blif").write_text(HALF)
    (folder / "coin.json").write_text(json.dumps(COIN))


def test_a_circuit(skinny, answer, files):
    code, out, err = skinny("compile", "half.blif", "-o", "half.skn")
    assert (code, out) == (0, "")
    assert err.endswith("; on the whole truth table, 4 rows\n")
    program = load("half.skn")
    assert (program.ring, program.title, program.words, program.emits) == ("boolean", "half.blif", 4, 2)
    assert answer("run", "half.skn", "--inputs", "a=1,b=1")["outputs"] == {"s": [0], "c": [1]}
    told = answer("compile", "half.blif", "--keep", "linear,reversible", "--width", "3")
    assert (told["width"], told["linear"], told["reversible"]) == (3, True, True)
    assert told["checked"].endswith("; on the whole truth table, 4 rows")
    assert "errors" not in told
    code, out, _ = skinny("compile", "half.blif", "--explain")
    assert (code, "precision" in out) == (0, False)


def test_a_sum_product_network(skinny, answer, files):
    told = answer("compile", "coin.json", "-o", "coin.skn")
    assert told["inputs"] == ["u_0", "u_1"]
    assert answer("run", "coin.skn", "--ring", "exact", "--inputs", "u_0=0,u_1=1")["outputs"] == {"p": ["1/4"]}
    told = answer("compile", "coin.json", "--ring", "fixed:16", "--box", "0:1", "-o", "coin.skn")
    assert told["ring"].startswith("fixed:16.")
    assert load("coin.skn").ring == told["ring"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.blif"], "none.blif: cannot be read (No such file or directory)"),
        (["half.blif", "--ring", "fixed:8", "--box", "0:1"], "half.blif is computed in the ring boolean: it goes"),
        (["coin.json", "--calibration", "rows.csv"], "--calibration is about trained models"),
        (["bad.json"], "bad.json:1: not JSON"),
        (["bad.blif"], "bad.blif:1: expected a command such as .names, found 'x'"),
    ],
)
def test_what_cannot_be_is_one_line(skinny, files, folder, words, message):
    (folder / "bad.json").write_text("{")
    (folder / "bad.blif").write_text("x\n")
    code, out, err = skinny("compile", *words, "-o", "out.skn")
    assert (code, out) == (2, "")
    assert err.startswith(f"skinny: error: {message}")
    assert err.count("\n") == 1
    assert not (folder / "out.skn").exists()
