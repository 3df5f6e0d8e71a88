"""``skinny compile``: options reach the compiler, answers reach the person."""

import json
import os
import re
import subprocess
import sys
import sysconfig
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from skinny.model.errors import CheckError
from skinny.model.formula.formula import facts
from skinny.model.program.storage import load
from skinny.model.program.text import loads

#: What the issue asks of compile --json.
KEYS = ["length", "words", "width", "contract", "attention", "inputs", "outputs", "depth", "degree", "leaves"]
KEYS += ["textbook_length", "bound", "checked", "seconds"]


@pytest.fixture
def asked(monkeypatch):
    """A compiler that answers every formula with p.skn and remembers what it was asked."""
    calls = []

    def compile_formula(outputs, **options):
        calls.append((outputs, options))
        return SimpleNamespace(
            program=load("p.skn"),
            steps=[("emit", 9, 10), ("prune", 4, 5)],
            facts=facts(*outputs.values()),
            predicted=9,
            checked="by looking at it",
            seconds=0.5,
            errors={},
        )

    # Other commands load more of the real one.
    import_module("skinny.scripts.commands")
    stub = ModuleType("skinny.model.compiler.pipeline")
    stub.PASSES = ("peephole", "prune")
    stub.compile_formula = compile_formula
    monkeypatch.setitem(sys.modules, "skinny.model.compiler.pipeline", stub)
    return calls


def test_defaults(skinny, asked):
    assert skinny("compile", "y = a*b")[0] == 0
    ((outputs, options),) = asked
    assert list(outputs) == ["y"]
    assert options == {
        "contract": "clean",
        "width": 3,
        "attention": True,
        "without": frozenset(),
        "start": None,
        "precision": None,
        "keep": {"linear", "reversible"},
        "inputs": (),
    }


def test_every_option_reaches_the_compiler(skinny, asked):
    words = "--contract in-place --width 5 --no-attention --without prune --without peephole --start -1,1,0,0,2"
    assert skinny("compile", "a*b", *words.split())[0] == 0
    ((_, options),) = asked
    assert options == {
        "contract": "in-place",
        "width": 5,
        "attention": False,
        "without": frozenset({"prune", "peephole"}),
        "start": (-1, 1, 0, 0, 2),
        "precision": None,
        "keep": {"linear", "reversible"},
        "inputs": (),
    }
    for text, keep in (("none", set()), ("linear", {"linear"}), ("reversible,linear", {"linear", "reversible"})):
        assert skinny("compile", "a*b", "--keep", text)[0] == 0
        assert asked[-1][1]["keep"] == keep
    assert "argmax class" in skinny("compile", "a*b", "--argmax", "class")[1]
    assert skinny("compile", "a*b", "--attention", "--without", "prune,peephole")[0] == 0
    assert asked[-1][1]["attention"] is True
    assert asked[-1][1]["without"] == {"prune", "peephole"}


@pytest.mark.parametrize("text", ["-a*b", "-a", "-2*a", "- a"])
def test_formulas_may_begin_with_a_minus_sign(skinny, asked, text):
    for words in ([text], ["--", text], ["--width", "3", text]):
        assert skinny("compile", *words)[0] == 0
    assert [facts(*outputs.values()).variables for outputs, _ in asked] == [facts(*asked[0][0].values()).variables] * 3
    assert "a" in facts(*asked[0][0].values()).variables


def test_the_program_is_printed_with_its_formula(skinny, asked):
    code, out, err = skinny("compile", "y = a*b # twice\nz = a")
    assert (code, err) == (0, "")
    assert loads(out) == load("p.skn")
    assert loads(out).title == "y = a*b # twice\nz = a"


def test_programs_are_written(skinny, asked, folder):
    for name in ("out.skn", "out.npz"):
        code, out, err = skinny("compile", "y = a*b", "-o", name)
        assert (code, out) == (0, "")
        assert err == f"skinny: {name}: 4 instructions, 5 words (textbook 4), checked by looking at it\n"
        assert load(name) == load("p.skn")
    assert sorted(os.listdir(folder)) == ["out.npz", "out.skn", "p.skn"]


def test_long_formulas_are_cut_in_the_title(skinny, asked):
    code, out, _ = skinny("compile", " + ".join(["a"] * 5000))
    assert code == 0
    assert len(loads(out).title) < 1100


def test_json(answer, asked):
    found = answer("compile", "y = (a + b)*(a - b)", "-o", "out.skn")
    assert all(key in found for key in KEYS)
    assert (found["length"], found["words"], found["width"], found["levels"]) == (4, 5, 3, 3)
    assert (found["inputs"], found["outputs"]) == (["a", "b"], ["y", "z"])
    assert (found["leaves"], found["depth"], found["degree"]) == (4, 2, 2)
    # Each of four leaves under one product.
    assert (found["textbook_length"], found["bound"], found["bound_log2"]) == (8, 16, 4)
    assert found["passes"] == [
        {"pass": "emit", "length": 9, "words": 10},
        {"pass": "prune", "length": 4, "words": 5},
    ]
    assert (found["predicted"], found["checked"], found["seconds"]) == (9, "by looking at it", 0.5)
    assert found["file"] == "out.skn"


def test_json_of_huge_lengths(answer, asked):
    text = "a"
    for _ in range(150):
        text = f"({text})*a + 1"
    found = answer("compile", text)
    assert found["textbook_length"] is None or found["textbook_length"] < 2**200
    assert found["bound"] is None
    assert found["bound_log2"] == 600


def test_explain(skinny, asked):
    code, out, err = skinny("compile", "y = a*b", "--explain")
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["after", "length", "words"]
    assert ["emit", "9", "10"] in lines
    assert ["prune", "4", "5"] in lines
    assert "textbook recursion  4 (bound 4^1)" in out


def test_json_goes_without_explain(skinny, asked):
    message = "the answer in JSON has the length after each pass: --json goes without --explain"
    assert skinny("compile", "a", "--json", "--explain") == (2, "", f"skinny: error: {message}\n")


def test_unknown_passes_are_refused(skinny, asked):
    code, out, err = skinny("compile", "a", "--without", "flod")
    assert (code, out) == (2, "")
    assert err == "skinny: error: there is no pass 'flod': --without takes peephole, prune\n"


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("0,1", "--start must have 3 values, not 2"),
        ("0,1/2,0", "the values of --start must be integers, not 0,1/2,0"),
        ("0,one,0", "'one' is not a finite number"),
    ],
)
def test_bad_starts_are_refused(skinny, asked, start, message):
    assert skinny("compile", "a", "--start", start) == (2, "", f"skinny: error: {message}\n")


def test_a_failed_check_writes_nothing(skinny, asked, folder, monkeypatch):
    def fail(outputs, **options):
        raise CheckError("fold: y differs")

    monkeypatch.setattr(sys.modules["skinny.model.compiler.pipeline"], "compile_formula", fail)
    assert skinny("compile", "a", "-o", "out.skn") == (1, "", "skinny: error: check failed: fold: y differs\n")
    assert os.listdir(folder) == ["p.skn"]


def test_compile_and_run_for_real(folder):
    """From standard input to a result, as a person would do it."""
    script = Path(sysconfig.get_path("scripts")) / "skinny"
    text = b"let s = a + 2*b\ny = s^3 - 3/4*c  # comment\nz = s*c\n"
    done = subprocess.run([script, "compile", "-", "-o", "r.npz"], input=text, cwd=folder, capture_output=True)
    assert (done.returncode, done.stdout) == (0, b"")
    words = [script, "run", "r.npz", "--ring", "exact", "--inputs", "a=1/2,b=-3,c=5", "--json"]
    found = json.loads(subprocess.run(words, cwd=folder, capture_output=True, check=True).stdout)
    # s = -11/2, y = -1331/8 - 15/4, z = -55/2
    assert found["outputs"] == {"y": ["-1361/8"], "z": ["-55/2"]}


def test_self_check(skinny, answer, folder):
    assert "self-check" not in skinny("compile", "y = a*b")[1]
    assert "\ncontract clean\nself-check\n" in skinny("compile", "y = a*b", "--self-check")[1]
    assert answer("compile", "y = a*b", "--self-check", "-o", "ab.npz")["self_check"] is True
    assert load("ab.npz").self_check


BAD_PRECISION = [
    (["x*y", "--box", "1:2"], "--box needs --ring fixed:BITS or fixed:BITS.FRAC, the format that it is about"),
    (["x*y", "--error", "1"], "--error needs --ring fixed:BITS or fixed:BITS.FRAC, the format that it is about"),
    (["x*y", "--scale", "auto"], "--scale needs --ring fixed:BITS or fixed:BITS.FRAC, the format that it is about"),
    (["x*y", "--ring", "fixed:16"], "--box: the input 'x' has no box"),
    (["x*y", "--ring", "modular:16", "--box", "0:1"], "a program is compiled for fixed:BITS or fixed:BITS.FRAC"),
    (["x*y", "--ring", "fixed:99", "--box", "0:1"], "the bits of a fixed-point format must be 2 to 32, not 99"),
    (["x*y", "--ring", "fixed:16", "--box", "0:1", "--error", "0"], "the error must be above zero, not 0"),
    (["sin(x)", "--ring", "fixed:16", "--box", "0:1"], "--error is missing"),
    (["sin(x)"], "functions need --box and --error"),
    (["relu(x)"], "relu(x) is neither linear nor reversible: relu needs --keep none"),
    (["x*y", "--keep", "both"], "keep must be linear,reversible or one of linear, reversible, none; not 'both'"),
    (["x*y", "--keep", "none", "--contract", "in-place"], "--contract in-place goes without --keep none"),
    (["x*y", "--keep", "linear", "--no-attention"], "it goes without --no-attention"),
    (["x*y", "--argmax", "2"], "argmax must be the name of a result, not '2'"),
    (["x*y", "--width", "1025"], "the width must be 3 to 1024, not 1025"),
]


@pytest.mark.parametrize(("words", "message"), BAD_PRECISION)
def test_bad_precision_is_one_clear_line(skinny, words, message):
    code, _, told = skinny("compile", *words)
    assert code == 2
    assert message in told
    assert told.count("\n") == 1


def test_what_cannot_be_met_is_refused_with_the_closest(skinny):
    code, _, told = skinny("compile", "x^2", "--ring", "fixed:8", "--box", "-1:1", "--error", "1e-6")
    assert code == 1
    assert re.search(
        r"no program is proven safe with an error of at most 1e-06 in fixed:8 .* fixed:2\d\.\d+ would do", told
    )


def test_functions_that_are_out_of_reach_fail_and_undefined_ones_are_bad_input(skinny):
    """Half of the range is the best that a polynomial of degree 40 does for 999 waves."""
    code, _, told = skinny("compile", "sin(999*x)", "--ring", "fixed:16", "--box", "0:1", "--error", "0.01")
    assert (code, told.count("\n")) == (1, 1)
    assert "the highest, gives an error of 1.1; with rounding 1.26 can be met, not 0.01: ask for that" in told
    code, _, told = skinny("compile", "log(x^2)", "--ring", "fixed:16", "--box", "-1:2", "--error", "0.01")
    assert (code, told.count("\n")) == (2, 1)
    assert "log(x^2) cannot be computed on this box: log is defined above zero only" in told


def test_a_program_for_fixed_point_says_what_is_proven(skinny, answer):
    words = ["let n = v/4096; T = 179.5*n - 20.2*n^2", "--ring", "fixed:16", "--box", "0:4095", "--scale", "auto"]
    told = answer("compile", *words, "-o", "sensor.skn")
    assert told["ring"] == load("sensor.skn").ring
    assert 0 < told["errors"]["T"] < 0.1
    assert sum(row["chosen"] for row in told["candidates"]) == 1
    exact = Fraction("179.5") * Fraction(3000, 4096) - Fraction("20.2") * Fraction(3000, 4096) ** 2
    (found,) = answer("run", "sensor.skn", "--inputs", "v=3000")["outputs"]["T"]
    assert abs(Fraction(found) - exact) <= Fraction(told["errors"]["T"])
    assert "proven safe in" in skinny("compile", *words, "--explain")[1]


def test_weights_that_the_format_cannot_hold_are_named(skinny):
    words = ("compile", "y = 0.001*x", "--ring", "fixed:16.8", "--box", "-1:1")
    said = "skinny: fixed:16.8: 1 weight became 0 (w[0] = 0.001)\n"
    code, out, err = skinny(*words)
    assert (code, "weight w[0] = 1/1000" in out, err) == (0, True, said)
    code, _, err = skinny(*words, "-o", "y.skn")
    assert (code, err.endswith(said)) == (0, True)
    code, out, err = skinny(*words, "--json")
    assert (code, json.loads(out)["precision"]["zero_weights"], err) == (0, 1, said)
    assert "fixed:16" not in skinny("compile", "y = 0.001*x")[2]


def test_one_instruction_is_one(skinny):
    """What is counted is said in the singular where it is one."""
    assert skinny("compile", "y = 2*a", "-o", "one.skn")[2].startswith("skinny: one.skn: 1 instruction, 2 words ")
    assert skinny("run", "one.skn", "--ring", "exact", "--inputs", "a=1", "-o", "o.csv")[2] == (
        "skinny: o.csv: 1 row of y\n"
    )
    assert "1 linear form" in skinny("info", "p.skn")[1]
    out = skinny("sim", "one.skn", "--ring", "modular:8", "--inputs", "a=1", "--simulator", "amaranth")[1]
    assert "all cycles match: 1 inference in " in out
