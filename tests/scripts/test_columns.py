"""Columns of inputs: text, CSV and numpy files mean the same numbers, whoever writes them."""

import re

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.scripts.columns import assigned_columns, file_columns, read_value

NAMES = ["x0", "x1", "x2"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("rows.npy", [[1, 2, 3], [4, 5, 6.5]])
    np.save("row.npy", [1, 2, 3])
    (tmp_path / "rows.csv").write_text("1,2,3\n4,5,13/2\n")
    return tmp_path


def floats(columns):
    return [[float(read_value(value)) for value in column] for column in columns]


TWO = [[1, 4], [2, 5], [3, 6.5]]


@pytest.mark.parametrize(
    ("given", "names", "wanted"),
    [
        ("x0=1,x1=2,x2=3", NAMES, [[1], [2], [3]]),
        ("x[2]=3, x[0:2]=1/2", NAMES, [[0.5], [0.5], [3]]),
        ("x=7", NAMES, [[7], [7], [7]]),
        ("x=@row.npy", NAMES, [[1], [2], [3]]),
        ("x=@rows.npy", NAMES, TWO),
        ("x=@rows.csv", NAMES, TWO),
        ("x=@rows.npy,a=5", ["a", *NAMES], [[5, 5], *TWO]),
        ("a=@row.npy", ["a"], [[1, 2, 3]]),
        ("x=@rows.npy", ["x2", "x0"], [[3, 6.5], [1, 4]]),  # an element that the program does not have
    ],
)
def test_what_is_assigned(given, names, wanted):
    assert floats(assigned_columns(given, names, "--inputs")) == wanted


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("x0=1", "--inputs: the input 'x1' is missing"),
        ("q=1", "--inputs: the program has no input 'q', only x0, x1, x2"),
        ("x[3:5]=1", "--inputs: the program has no input 'x[3:5]'"),
        ("x=1,x1=2", "--inputs: 'x1' is given twice"),
        ("x=@none.npy", "none.npy: cannot be read"),
        ("x=@rows.txt", "rows.txt: values are read from .npy and .csv files"),
        ("x[0:2]=@rows.npy,x2=0", "rows.npy: must have a row of 2 numbers (x0, x1) for each inference"),
        ("x[0:2]=@wide.npy,x2=@row.npy", "--inputs: 'x2' has 3 rows, others have"),
    ],
)
def test_what_is_assigned_wrongly(given, message):
    np.save("wide.npy", np.zeros((2, 2)))
    with pytest.raises(InputError) as caught:
        assigned_columns(given, NAMES, "--inputs")
    assert str(caught.value).startswith(message.replace("x2' has 3 rows, others have", "x0' has 2 rows, others have 3"))


@pytest.mark.parametrize(
    "text",
    [
        "x0,x1,x2\n1,2,3\n4,5,6.5\n",
        "x[2],x[0],x[1]\n3,1,2\n\n6.5,4,5\n\n",
        "\ufeffx2 (V);x0 [m/s];x1\r\n3;1;2\r\n6.5;4;5\r\n",
        '"x0"\tx1\t x2\n1\t2\t3\n4\t5\t6.5',
    ],
)
def test_tables(folder, text, capsys):
    (folder / "t.csv").write_text(text, encoding="utf-8", newline="")
    assert floats(file_columns("t.csv", NAMES)) == TWO
    assert capsys.readouterr().err == ""


def test_names_with_blanks_and_units(folder, capsys):
    (folder / "t.csv").write_text("room temp (C),p (bar),p (psi),b_note\n1,2,3,text\n")
    assert floats(file_columns("t.csv", ["room_temp", "p_psi"])) == [[1], [3]]
    assert capsys.readouterr().err == "skinny: t.csv: columns the program does not read: p (bar), b_note\n"
    assert floats(file_columns("t.csv", ["room_temp_C"])) == [[1]]
    with pytest.raises(InputError, match=r"t\.csv: the column 'p' is there twice"):
        file_columns("t.csv", ["p"])


def test_arrays_have_a_column_for_each_input():
    assert floats(file_columns("rows.npy", NAMES)) == TWO
    assert floats(file_columns("rows.npy", ["b", "a", "c"])) == TWO
    assert floats(file_columns("row.npy", ["a"])) == [[1, 2, 3]]
    assert floats(file_columns("row.npy", NAMES)) == [[1], [2], [3]]


@pytest.mark.parametrize(
    ("write", "names", "message"),
    [
        ("a,b\n1,2\n", ["c"], "t.csv: the column 'c' is missing; there are a, b"),
        ("1,2\n3,4\n", ["a", "b"], "t.csv: the column 'a' is missing: the first line must name the inputs"),
        ("a,b\n", ["a"], "t.csv: there is a header, but no row of values"),
        ("a,b\n1\n", ["a"], "t.csv: row 1 has 1 values, the header 2"),
        (np.zeros((2, 4)), NAMES, "t.npy: must have a row of 3 numbers (x0, x1, x2) for each inference, not the shape"),
        (np.zeros((0, 3)), NAMES, "t.npy: there is no row of values"),
        (np.zeros((1, 2, 3)), NAMES, "t.npy: must have a row of 3 numbers"),
        (np.zeros(2), NAMES, "t.npy: must have a row of 3 numbers (x0, x1, x2) for each inference, not the shape (2,)"),
        (np.array([[1, np.inf, 2]]), NAMES, "t.npy: the value at [0, 1] is not a finite number"),
    ],
)
def test_files_that_do_not_fit(folder, write, names, message):
    if isinstance(write, str):
        (folder / "t.csv").write_text(write)
    else:
        np.save("t.npy", write)
    with pytest.raises(InputError, match="^" + re.escape(message)):
        file_columns(message.partition(":")[0], names)
