"""Numbers in files: what is read, and what is refused by one line."""

import re
from fractions import Fraction

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.tables import parse_number, read_npy, read_numbers, read_rows


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("text", ["1", "-2.5", " 1e-3 ", "3/4", "+.5", "7."])
def test_numbers_are_exact(text):
    assert parse_number(text) == Fraction(text.strip())


@pytest.mark.parametrize("text", ["", "nan", "inf", "1_000", "0x10", "1/0", "1,5", "1 2", "٣", "9" * 5000])
def test_what_is_no_number_is_refused_shortly(text):
    with pytest.raises(InputError, match="is not a finite number") as caught:
        parse_number(text)
    assert len(str(caught.value)) < 80


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a,b\n1,2\n", [["a", "b"], ["1", "2"]]),
        ("\ufeffa; b\r\n\r\n1,5; 2\r\n", [["a", "b"], ["1,5", "2"]]),
        ('a\tb\n"1\t0"\t2', [["a", "b"], ["1\t0", "2"]]),
        ('"a;b;c;d",e\n1,2', [["a;b;c;d", "e"], ["1", "2"]]),
        ("\n\n a\n \n1\n\n\n2\n", [["a"], ["1"], ["2"]]),
    ],
)
def test_rows_of_a_table(folder, text, rows):
    (folder / "t.csv").write_text(text, encoding="utf-8", newline="")
    assert read_rows("t.csv") == rows


@pytest.mark.parametrize("kind", ["<f8", ">f4", "<f2", "i1", "<u4", ">i8", "?"])
def test_arrays_of_numpy(kind):
    wanted = np.array([[0, 1, 2], [3, 1, 0]]).astype(kind)
    for array in (wanted, np.asfortranarray(wanted), wanted[0], wanted.reshape(2, 3, 1)[:, :1]):
        np.save("a.npy", array)
        found = read_npy("a.npy")
        assert found.dtype.isnative or kind == ">i8"
        assert np.array_equal(found, array)


def test_matrices_and_vectors(folder):
    np.save("w.npy", np.array([[0.5, -1], [2, 0.1]]))
    assert read_numbers("w.npy") == [[Fraction(1, 2), -1], [2, Fraction(0.1)]]
    np.save("n.npy", np.float32(0.25))
    assert read_numbers("n.npy") == Fraction(1, 4)
    for text, wanted in {
        "1,2\n3,0.1": [[1, 2], [3, Fraction(1, 10)]],
        "a,b\n1,2\n\n3/4,4": [[1, 2], [Fraction(3, 4), 4]],
        "1\n2\n3": [1, 2, 3],
        "w\n1\n2": [1, 2],
        "1,2,3": [1, 2, 3],
        "1.5e0 2 3\n4 5 6": [[Fraction(3, 2), 2, 3], [4, 5, 6]],
        "7": [7],
    }.items():
        (folder / "m.csv").write_text(text)
        assert read_numbers("m.csv") == wanted


def _npy(change):
    np.save("a.npy", np.array([1.0, 2.0]))
    with open("a.npy", "rb") as file:
        content = file.read()
    with open("a.npy", "wb") as file:
        file.write(change(content))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: b"", "a.npy: not a file of numpy"),
        (lambda content: b"PK\x03\x04", "a.npy: not a file of numpy"),
        (lambda content: content[:-1], "a.npy: the file is cut off, or damaged"),
        (lambda content: content + b"1", "a.npy: the file is cut off, or damaged"),
        (lambda content: content.replace(b"(2,)", b"(9" + b"0" * 11 + b",)"), "a.npy: "),
        (
            lambda content: content[:-8] + np.float64("nan").tobytes(),
            r"a.npy: the value at \[1\] is not a finite number",
        ),
        (lambda content: content.replace(b"<f8", b"<c8"), "a.npy: must hold real numbers, not complex64"),
        (lambda content: content.replace(b"'<f8'", b"'|O' "), "a.npy: must hold real numbers, not object"),
    ],
)
def test_damaged_arrays_are_refused(change, message):
    _npy(change)
    with pytest.raises(InputError, match=f"^{message}"):
        read_numbers("a.npy")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "m.csv: the file is empty"),
        ("a,b\n", "m.csv: there are no numbers"),
        ("1,2\n3\n", "m.csv: row 2 has 1 values, the first one 2"),
        ("a,b\n1,2\n3,x", "m.csv: row 2: 'x' is not a finite number"),
        ("1,2\n3,", "m.csv: row 2: '' is not a finite number"),
        ('1,"2', "m.csv: not a CSV file"),
    ],
)
def test_tables_that_are_no_matrix_are_refused(folder, text, message):
    (folder / "m.csv").write_text(text)
    with pytest.raises(InputError, match="^" + re.escape(message)):
        read_numbers("m.csv")


def test_cubes_and_nothing_are_refused():
    np.save("c.npy", np.zeros((2, 2, 2)))
    np.save("e.npy", np.zeros((0, 2)))
    with pytest.raises(InputError, match=r"c.npy: must be a vector or a matrix, not an array of shape \(2, 2, 2\)"):
        read_numbers("c.npy")
    with pytest.raises(InputError, match=r"e\.npy: there are no numbers"):
        read_numbers("e.npy")
    with pytest.raises(InputError, match=r"none\.npy: cannot be read"):
        read_numbers("none.npy")
