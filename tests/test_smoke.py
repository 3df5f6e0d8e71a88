"""One formula goes through all layers: it is compiled, run, assembled, simulated and exported as Verilog for Icarus.

``scripts/test --quick`` runs this file and the tests of layers and of packaging.
"""

import json
import subprocess
from fractions import Fraction

import pytest
from skinny.scripts.cli import main

FORMULA = "y = (a + 2*b)^3 - 3/4*c; z = a*b*c"
ROWS = [(1, 2, 4), (-1, 1, 2), (Fraction(1, 2), 0, -3), (0, 0, 0)]
CORE = ["cube.skn", "--ring", "fixed:24.8"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the program ``cube.skn`` and its inputs ``rows.csv``."""
    folder = tmp_path_factory.mktemp("smoke")
    (folder / "rows.csv").write_text("a,b,c\n" + "".join(f"{a},{b},{c}\n" for a, b, c in ROWS))
    assert main(["compile", FORMULA, "-o", str(folder / "cube.skn")]) == 0
    return folder


@pytest.fixture
def skinny(folder, monkeypatch, capsys):
    """``skinny("run", …)`` gives the answer of a command that succeeds in the folder."""
    monkeypatch.chdir(folder)

    def call(*words):
        code = main([*words, "--json"])
        out, err = capsys.readouterr()
        assert code == 0, err
        return json.loads(out)

    return call


def expected(a, b, c):
    """The formula as Python says it."""
    return {"y": (a + 2 * b) ** 3 - Fraction(3, 4) * c, "z": a * b * c}


def test_a_program_computes_its_formula(skinny):
    found = skinny("run", "cube.skn", "--ring", "exact", "--inputs", "rows.csv")["outputs"]
    for name in "yz":
        assert [Fraction(value) for value in found[name]] == [expected(*map(Fraction, row))[name] for row in ROWS]


def test_the_core_does_what_the_model_says(skinny):
    """These numbers are small enough for fixed point to be exact."""
    answer = skinny("sim", *CORE, "--inputs", "rows.csv")
    assert answer["match"] is True
    for name in "yz":
        assert [Fraction(value) for value in answer["results"][name]] == [
            expected(*map(Fraction, row))[name] for row in ROWS
        ]


def test_exported_verilog_checks_itself(skinny, folder):
    skinny("verilog", *CORE, "-o", "core")
    files = ["skinny_core_tb.v", "skinny_core.v"]
    subprocess.run(["iverilog", "-o", "bench", *files], cwd=folder / "core", check=True)
    done = subprocess.run(["vvp", "-N", "bench"], cwd=folder / "core", capture_output=True, text=True)
    assert (done.returncode, "PASS" in done.stdout) == (0, True), done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ["info", "cube.skn"],
        ["trace", *CORE, "--inputs", "rows.csv"],
        ["bound", *CORE, "--box", "-1:1"],
        ["explain", "cube.skn", "--a", "rows.csv:1", "--b", "rows.csv:2"],
        ["fpga", *CORE, "--device", "ecp5-25k", "--estimate"],
    ],
    ids=lambda words: words[0],
)
def test_commands_answer(skinny, words):
    assert skinny(*words)
