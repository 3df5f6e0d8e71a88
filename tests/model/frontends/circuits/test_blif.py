"""BLIF is read as it is written, and what is wrong is named with its line."""

import pytest
from skinny.model.errors import InputError
from skinny.model.frontends.circuits.blif import Latch, read_blif

HALF = """\
# a half adder
.model half
.inputs a \\
  b   # continued
.outputs s c
.names a b s
10 1
01 1
.names a b c
-0 0
0- 0
.end
"""
TWO = """\
.model top
.inputs x y z
.outputs s carry
.subckt half a=x b=y s=t c=c1
.subckt half a=t b=z s=s c=c2
.names c1 c2 carry
1- 1
-1 1
.end
"""


@pytest.fixture
def read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(text):
        (tmp_path / "c.blif").write_text(text)
        return read_blif("c.blif")

    return call


def test_tables_rows_comments_and_continued_lines(read):
    found = read(HALF)
    assert (found.name, found.inputs, found.outputs) == ("half", ("a", "b"), ("s", "c"))
    assert found.tables["s"] == (("a", "b"), "s", ("10", "01"), True, 6)
    assert found.tables["c"] == (("a", "b"), "c", ("-0", "0-"), False, 9)


def test_constants_and_a_model_without_a_name(read):
    found = read(".outputs one zero none\n.names one\n1\n.names zero\n0\n.names none\n")
    assert found.tables["one"][2:4] == (("",), True)
    assert found.tables["zero"][2:4] == (("",), False)
    assert found.tables["none"][2:4] == ((), True)


def test_instances_are_put_in(read):
    found = read(TWO + HALF)
    assert found.name == "top"
    assert sorted(found.tables) == ["c1", "c2", "carry", "s", "t"]
    assert found.tables["c2"].inputs == ("t", "z")


def test_inner_wires_of_instances_are_apart(read):
    inner = ".model buf\n.inputs a\n.outputs y\n.names a w\n1 1\n.names w y\n1 1\n.end\n"
    found = read(".model top\n.inputs x\n.outputs y\n.subckt buf a=x y=m\n.subckt buf a=m y=y\n.end\n" + inner)
    assert sorted(found.tables) == ["buf.0.w", "buf.1.w", "m", "y"]


def test_latches(read):
    found = read(".model c\n.outputs q r\n.latch d q re clk 1\n.latch q r\n.names q d\n0 1\n.clock clk\n.end\n")
    assert found.latches == {"q": Latch("d", "q", True, 3), "r": Latch("q", "r", False, 4)}


HEAD = ".model m\n.inputs a b\n.outputs y\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "c.blif: there is no circuit in the file"),
        (HEAD, "c.blif:1: nothing drives 'y'"),
        (".model m\n.inputs a\n", "c.blif:1: the model 'm' has no outputs"),
        (HEAD + ".names a z y\n11 1\n", "c.blif:4: nothing drives 'z'"),
        (HEAD + ".names a y\n1 1\n.names b y\n1 1\n", "c.blif:6: 'y' is driven twice, in line 4 too"),
        (HEAD + ".names b a\n1 1\n.names b y\n1 1\n", "c.blif:4: 'a' is an input, which nothing else may drive"),
        (HEAD + ".names a b y\n1 1\n", "c.blif:5: a row of this table has 2 signs 0, 1 or - and a value, found '1 1'"),
        (HEAD + ".names a b y\n1x 1\n", "c.blif:5: a row of this table has 2 signs"),
        (HEAD + ".names a b y\n11\n", "c.blif:5: a row of this table has 2 signs"),
        (HEAD + ".names a b y\n11 2\n", "c.blif:5: the value of a row must be 0 or 1, not '2'"),
        (HEAD + ".names a b y\n11 1\n00 0\n", "c.blif:6: the rows of a table must all have the same value"),
        (HEAD + "11 1\n", "c.blif:4: expected a command such as .names, found '11'"),
        (HEAD + ".names\n", "c.blif:4: a table is written .names"),
        (HEAD + ".gate nand2 A=a B=b O=y\n", "c.blif:4: .gate is of a library of cells"),
        (HEAD + ".exdc\n", "c.blif:4: .exdc is not supported: .names, .latch and .subckt are"),
        (HEAD + ".latch a y ah clk 0\n", "c.blif:4: the latch 'y' follows the level of a signal"),
        (HEAD + ".latch a y xx clk 0\n", "c.blif:4: the type of a latch must be re or fe, not 'xx'"),
        (HEAD + ".latch a y 7\n", "c.blif:4: the first value of a latch must be 0, 1, 2 or 3, not '7'"),
        (HEAD + ".latch a\n", "c.blif:4: a latch is written .latch INPUT OUTPUT"),
        (HEAD + ".subckt half a=a\n", "c.blif:4: there is no model 'half' in the file"),
        (HEAD + ".subckt m a=a b=b y=y\n", "c.blif:4: the model 'm' is put into itself"),
        (HEAD + ".subckt half a=a b=b t=y\n.end\n" + HALF, "c.blif:4: the model 'half' has no input or output 't'"),
        (HEAD + ".subckt half a=a s=y\n.end\n" + HALF, "c.blif:4: the input 'b' of 'half' is not connected"),
        (HEAD + ".subckt half a\n.end\n" + HALF, "c.blif:4: expected NAME=WIRE, each name once, found 'a'"),
        (HEAD + ".names a y\n1 1\n.end\n.names b z\n", "c.blif:7: .names stands outside of a model"),
        (HEAD + ".names a y\n1 1\n.end\n" + HEAD, "c.blif:7: the model 'm' is there twice"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(read, text, message):
    with pytest.raises(InputError) as caught:
        read(text)
    assert str(caught.value).startswith(message)
