"""``skinny learn``: from a CSV file to a simulated program, and bad tables in one line."""

import csv

import numpy as np
import pytest
from skinny.model.program import storage


@pytest.fixture
def rings(folder):
    """A table of two classes, a disc and what is around it, with a constant column; no linear form parts them."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(-3, 3, (160, 2)).round(2)
    with open(folder / "rings.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["x", "y", "always", "where"])
        for x, y in rows.tolist():
            table.writerow([x, y, 7, "out" if x * x + y * y > 4 else "in"])
    return folder / "rings.csv"


def test_a_table_becomes_a_program_that_decides_on_the_core(skinny, rings, folder):
    import json

    words = ("rings.csv", "--target", "where", "--budget", "30", "--effort", "0.1", "-o", "rings.skn", "--json")
    code, out, err = skinny("learn", *words, "--pictures", "pictures")
    answer = json.loads(out)
    assert code == 0
    assert "constant columns are dropped: always" in err
    assert answer["test"]["rtl"] == answer["test"]["fixed"] > 0.8
    assert answer["simulation"]["match"]
    assert (answer["task"], answer["classes"], answer["test_rows"]) == ("classes", ["in", "out"], 40)
    assert all(point["budget"] is None or point["cycles"] <= point["budget"] for point in answer["curve"])
    assert [folder.joinpath(name).read_bytes()[1:4] for name in answer["pictures"]] == [b"PNG", b"PNG"]
    program = storage.load("rings.skn")
    assert program.words + program.emits == answer["cycles"] <= 30
    code, out, err = skinny("run", "rings.skn", "--inputs", "x=0.1,y=0.2")
    assert (code, out.split()[-1]) == (0, "0")


def test_numbers_are_told_in_words(skinny, folder):
    rng = np.random.default_rng(0)
    lines = [f"{a},{b},{3 * a - b + 0.5}" for a, b in rng.uniform(0, 9, (60, 2)).round(3).tolist()]
    (folder / "plane.csv").write_text("a,b,z\n" + "\n".join(lines) + "\n")
    code, out, _ = skinny("learn", "plane.csv", "--target", "z", "--budget", "20", "--effort", "0.02")
    assert code == 0
    assert "on the simulated core, all cycles match" in out
    assert "R² on 15 test rows 1.000 in floats" in out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "bad.csv: the file is empty"),
        ("a,b\n1,2\n", "bad.csv: there is no column 't', only a, b"),
        ("a,a,t\n", "bad.csv: the column 'a' is there twice"),
        ("t\n1\n", "bad.csv: there is no column beside the target"),
        ("a,t\n1,x\n,y\n", "bad.csv: row 2, column 'a': the value is missing"),
        ("a,t\n1,x\n2,\n", "bad.csv: row 2, column 't': the value is missing"),
        ("a,t\n1,x\nred,y\n", "bad.csv: row 2, column 'a': 'red' is not a finite number"),
        ("a,t\ninf,x\n", "bad.csv: row 1, column 'a': 'inf' is not a finite number"),
        ("a,t\n1e999,x\n", "bad.csv: row 1, column 'a': '1e999' is too large"),
        ("a,t\n1,2,3\n", "bad.csv: row 1 has 3 values, the first line 2 names"),
        ("a,t\n1,x\n", "bad.csv: 1 row to learn from, 8 are the least"),
        ("a,t\n" + "1,x\n" * 9, "bad.csv: all rows have the same 't', x: there is nothing to learn"),
        ("a,t\n" + "1,x\n2,3\n" * 9, "bad.csv: the column 't' has numbers and, in row 1, 'x'"),
        ("a,t\n" + "1,x\n" * 9 + "2,y\n", "bad.csv: the class 'y' of 't' has fewer than 3 rows"),
        ("a,t\n" + "1,x\n1,y\n" * 9, "all columns are constant: there is nothing to learn from"),
    ],
)
def test_bad_tables_are_said_in_one_line(skinny, folder, text, message):
    (folder / "bad.csv").write_text(text)
    code, out, err = skinny("learn", "bad.csv", "--target", "t", "--effort", "0.01")
    assert (code, out, err) == (2, "", f"skinny: error: {message}\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("x.csv",), "--target is missing"),
        (("--demo", "digits", "--target", "t"), "--demo brings its own data"),
        (("rings.csv", "--target", "where", "--image", "8"), "--image must be like 8x8"),
        (("rings.csv", "--target", "where", "--image", "2x2"), "images of 2 times 2 pixels have 4 columns, not 3"),
        (("rings.csv", "--target", "where", "--budget", "4"), "takes 5 cycles at least: the budget is 4"),
        (("rings.csv", "--target", "where", "-o", "rings.txt"), "the name of a program must end in .skn or .npz"),
    ],
)
def test_bad_options_are_said_in_one_line(skinny, rings, words, message):
    code, out, err = skinny("learn", *words)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
