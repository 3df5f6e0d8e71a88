"""Tokens: what they are, and where."""

import pytest
from skinny.model.errors import InputError
from skinny.model.formula.tokens import Tokens


def test_tokens():
    found = Tokens('y = a**2*b^3 # c\n+ 1.5e-3*@W.npy/@"my w.csv"[0:2]; x[t-1]')
    first = ["y", "=", "a", "^", "2", "*", "b", "^", "3", "# c", "\n", "+", "1.5e-3", "*", "@W.npy", "/"]
    assert found.tokens == [*first, '@"my w.csv"', "[", "0", ":", "2", "]", ";", "x", "[", "t", "-", "1", "]", ";"]


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("dot(@a/b-c.npy, x)", ["@a/b-c.npy"]),
        ("@../w.csv/2", ["@../w.csv"]),
        ("@w.npy@v.csv", ["@w.npy", "@v.csv"]),
        ("@w.npyx + @.npy", ["@", "@.npy"]),
        ('@"w', ["@"]),
    ],
)
def test_files_end_with_their_ending(text, files):
    assert [token for token in Tokens(text).tokens if token[0] == "@"] == files


def test_the_place_stands_before_what_to_do():
    found = Tokens("a\n  b*c")
    with pytest.raises(InputError) as caught:
        found.fail("this is wrong: write that: so", 3)
    assert str(caught.value) == "this is wrong at line 2, column 4: write that: so\n    b*c\n     ^"
    found.calls.append(("f", 0))
    with pytest.raises(InputError, match="wrong at line 2, column 3, in 'f' called at line 1\n"):
        found.fail("wrong", 2)
