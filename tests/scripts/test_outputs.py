"""Results as tables in CSV files."""

import csv
import os

import pytest


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


STREAM = "skinny 1\nwidth 3\nstate s = R0\ninputs x\nR0 += x*R1\nemit y = R0\nend\n"


def test_all_rows_of_a_run(skinny, folder):
    (folder / "v.csv").write_text("a,b\n" + "".join(f"{n},0.5\n" for n in range(30)))
    code, out, err = skinny("run", "p.skn", "--ring", "fixed:16.8", "--inputs", "v.csv", "-o", "o.csv")
    assert (code, out, err) == (0, "", "skinny: o.csv: 30 rows of y, z\n")
    assert [(float(row["y"]), float(row["z"])) for row in rows("o.csv")] == [(n - 0.75, n) for n in range(30)]
    assert skinny("run", "p.skn", "--ring", "exact", "--inputs", "a=1,b=0", "-o", "o.csv", "--json")[0] == 0
    assert rows("o.csv") == [{"y": "-3/4", "z": "1"}]


def test_all_samples_of_streams(skinny, folder):
    (folder / "s.skn").write_text(STREAM)
    (folder / "a.csv").write_text("x\n1\n2\n3\n")
    (folder / "b.csv").write_text("x\n-1\n0\n5\n")
    code, out, err = skinny("run", "s.skn", "--ring", "exact", "--stream", "a.csv", "--stream", "b.csv", "-o", "o.csv")
    assert (code, out, err) == (0, "", "skinny: o.csv: 6 samples of y\n")
    found = [(int(row["stream"]), int(row["sample"]), float(row["y"])) for row in rows("o.csv")]
    assert found == [(1, 1, 1), (1, 2, 3), (1, 3, 6), (2, 1, -1), (2, 2, -1), (2, 3, 4)]


def test_the_simulated_core_writes_what_was_drawn_too(skinny, folder):
    words = ("sim", "p.skn", "--ring", "fixed:12.4", "--simulator", "amaranth", "--threads", "2")
    code, out, err = skinny(*words, "--random", "5", "-o", "o.csv")
    assert (code, err.endswith("skinny: o.csv: 5 rows of a, b, y, z\n")) == (0, True)
    assert out.startswith("all cycles match: 5 inferences")
    assert skinny("run", "p.skn", "--ring", "fixed:12.4", "--inputs", "o.csv", "-o", "again.csv")[0] == 0
    drawn = rows("o.csv")
    assert [{"y": row["y"], "z": row["z"]} for row in drawn] == rows("again.csv")
    assert len({row["a"] for row in drawn}) > 1


def test_registers_of_a_trace(skinny, folder):
    code, out, err = skinny("trace", "p.skn", "--ring", "exact", "--inputs", "a=1,b=2", "-o", "t.csv")
    assert (code, out, err) == (0, "", "skinny: t.csv: 4 steps of 3 registers\n")
    found = rows("t.csv")
    assert [row["instruction"] for row in found] == [
        "start",
        "R2 += b*R1",
        "R0 += f[0]*R2",
        "R0 -= w[1]*R1",
        "R2 += a*R1",
    ]
    assert [(row["step"], row["R0"], row["R2"]) for row in found[2:4]] == [("2", "4", "2"), ("3", "13/4", "2")]


@pytest.mark.parametrize("command", ["run", "sim", "trace"])
def test_a_table_that_cannot_be_is_refused_before_any_work(skinny, folder, command):
    words = (command, "p.skn", "--ring", "fixed:16.8", "--inputs", "a=1,b=2")
    before = sorted(os.listdir(folder))
    for path, message in (
        ("o.txt", "o.txt: the name of a table must end in .csv"),
        ("no/o.csv", "no/o.csv: the folder does not exist"),
    ):
        assert skinny(*words, "-o", path) == (2, "", f"skinny: error: {message}\n")
    assert sorted(os.listdir(folder)) == before
