"""Programs as text: text that is written is read back equal, and malformed text is refused with its line."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from skinny.model.errors import InputError
from skinny.model.limits import Limits
from skinny.model.program.program import Columns, Input, Linear, Output, Program, Weight
from skinny.model.program.text import dumps, loads

TEXT = """\
skinny 1
# y = (a + 2*b)^3
width 3
contract clean
start 0 1 0
inputs a b
weight w[0] = 2
weight w[1] = -3/4 derived
form f[0] = w[0]*a + w[1]*b + w[0]
R2 += a*R1
R0 -= w[0]*R2
R1 += f[0]*R0
emit y = R0
emit y1 = R2 restart
end
"""
#: TEXT, built by hand.
PROGRAM = Program(
    width=3,
    inputs=("a", "b"),
    weights=(Fraction(2), Fraction(-3, 4)),
    derived=(False, True),
    forms=(Input(0), Weight(0), Linear(((0, 0), (1, 1)), 0)),
    code=Columns.of([2, 0, 1], [1, 2, 0], [1, -1, 1], [0, 1, 2]),
    outputs=(Output("y", 0, 3), Output("y1", 2, 3, True)),
    contract="clean",
    start=(0, 1, 0),
    title="y = (a + 2*b)^3",
)


def test_text_is_what_the_documentation_shows():
    assert dumps(PROGRAM) == TEXT
    assert loads(TEXT) == PROGRAM
    assert loads(TEXT).title == PROGRAM.title


@given(data=st.data())
def test_text_round_trips(programs, data):
    program = data.draw(programs)
    again = loads(dumps(program))
    assert again == program
    assert again.title == program.title
    assert dumps(again) == dumps(program)


def test_tables_out_of_order_keep_their_order():
    odd = replace(PROGRAM, forms=(*PROGRAM.forms, Input(1)), outputs=PROGRAM.outputs[:1]).inverse()
    assert "table a w[0] f[0] b" in dumps(odd)
    assert loads(dumps(odd)) == odd


def test_a_scalar_listed_twice_is_merged():
    twice = replace(PROGRAM, forms=(Input(0), Input(0), Linear(((0, 0),))), outputs=(Output("y", 0, 3),))
    merged = loads(dumps(twice))
    assert merged.forms == (Input(0), Linear(((0, 0),)))
    assert merged.code.form.tolist() == [0, 0, 1]


def test_hand_written_text_is_read_generously():
    head = "skinny 1\r\nwidth 3  # three\n\n inputs a\nweight w[0]=+6/4\n"
    program = loads(head + "R0+=a * R1 # first\n\tR2 -= w[00]*R0\nemit y=R2\nend")
    assert program.weights == (Fraction(3, 2),)
    assert program.start == (0, 1, 0)
    assert program.contract == "clean"
    assert program.forms == (Input(0), Weight(0))
    assert [column.tolist() for column in program.code.arrays()] == [[0, 2], [1, 0], [1, -1], [0, 1]]
    assert program.outputs == (Output("y", 2, 2),)


def broken(old, new):
    assert TEXT.count(old) == 1
    return TEXT.replace(old, new)


MALFORMED = [
    (TEXT.replace("start 0", "self-check on\nstart 0"), 5, "nothing may follow 'self-check', found 'on'"),
    (TEXT.replace("start 0", "self-check\nself-check\nstart 0"), 6, "'self-check' is given twice"),
    ("", 1, "the first line must be 'skinny 1'"),
    (broken("skinny 1", "skinny 2"), 1, "version 2 is not known: this program reads version 1"),
    (broken("skinny 1", "skinny"), 1, "the first line must be 'skinny 1'"),
    (broken("skinny 1\n", ""), 1, "the first line must be 'skinny 1'"),
    (broken("end\n", ""), 14, "the program is cut off: its last line must be 'end'"),
    (broken("end\n", "end\nR0 += a*R1\n"), 16, "nothing may follow 'end'"),
    (broken("end\n", "end\nend\n"), 16, "nothing may follow 'end'"),
    (broken("width 3", "width 1"), 3, "the width must be 2 to 255, not '1'"),
    (broken("width 3", "width 3\nwidth 3"), 4, "'width' is given twice"),
    (broken("width 3\n", ""), 4, "'width' must come first"),
    (broken("contract clean", "contract tidy"), 4, "the contract must be in-place or clean, not 'tidy'"),
    (broken("start 0 1 0", "start 0 1"), 5, "the start vector must have 3 entries, not 2"),
    (broken("start 0 1 0", "start 0 1 x"), 5, "a start value must be an integer, not 'x'"),
    (broken("inputs a b", "inputs a 2b"), 6, "an input must be a name, not '2b'"),
    (broken("inputs a b", "inputs a b a"), 6, "the input 'a' is given twice"),
    (broken("w[0] = 2\n", "w[1] = 2\n"), 7, "expected 'w[0] = …', found 'w[1] = 2'"),
    (broken("w[0] = 2\n", "w[0] = 2x\n"), 7, "a weight must be an integer or a fraction, not '2x'"),
    (broken("w[0] = 2\n", "w[0] = 2/0\n"), 7, "a weight cannot have the denominator zero"),
    (broken("-3/4 derived", "-3/4 guessed"), 8, "only 'derived' may follow the value of a weight, not 'guessed'"),
    (broken("w[1]*b + w[0]", "w[1]*c + w[0]"), 9, "unknown input 'c'"),
    (broken("w[1]*b + w[0]", "w[2]*b + w[0]"), 9, "weight index w[2] is past the end (2)"),
    (broken("w[1]*b + w[0]", "w[1] + w[0]"), 9, "a form has at most one bias"),
    (broken("w[1]*b + w[0]", "b*w[1]"), 9, "a term of a form must be like 'w[0]*x' or 'w[0]', not 'b*w[1]'"),
    (broken("R2 += a*R1", "R3 += a*R1"), 10, "register R3 is out of range (width 3)"),
    (broken("R2 += a*R1", "R2 += a*R7"), 10, "register R7 is out of range (width 3)"),
    (broken("R2 += a*R1", "R2 += a*R2"), 10, "dst = src: an instruction cannot read and write R2"),
    (broken("R0 -= w[0]*R2", "R0 -= a*R0"), 11, "dst = src: an instruction cannot read and write R0"),
    (broken("R2 += a*R1", "R2 += c*R1"), 10, "unknown input 'c'"),
    (broken("R2 += a*R1", "R2 += w[5]*R1"), 10, "weight index w[5] is past the end (2)"),
    (broken("R2 += a*R1", "R2 += f[1]*R1"), 10, "form index f[1] is past the end (1)"),
    (broken("R2 += a*R1", "table a w[0]\nR2 += a*R1"), 13, "the table does not list 'f[0]'"),
    (broken("R2 += a*R1", "table a a"), 10, "the table lists 'a' twice"),
    (
        broken("R2 += a*R1", "R2 = a*R1"),
        10,
        "expected an instruction like 'R0 += x*R1' or a declaration, found 'R2 = a*R1'",
    ),
    (broken("R2 += a*R1", "R2 += a*R1 R0"), 10, "expected an instruction like 'R0 += x*R1', found 'R2 += a*R1 R0'"),
    (broken("R2 += a*R1", "R2 += a*R1\nwidth 3"), 11, "'width' must come before the first instruction"),
    (broken("emit y = R0", "emit y = R3"), 13, "register R3 is out of range (width 3)"),
    (broken("emit y = R0", "emit y1 = R0"), 14, "the output 'y1' is given twice"),
    (
        broken("emit y = R0", "emit 1 = R0"),
        13,
        "expected 'emit NAME = R0' or 'emit NAME = R0 restart', found 'emit 1 = R0'",
    ),
]


@pytest.mark.parametrize(("text", "line", "message"), MALFORMED)
def test_malformed_text_is_refused_with_its_line(text, line, message):
    with pytest.raises(InputError) as caught:
        loads(text, "p.skn")
    assert str(caught.value) == f"p.skn:{line}: {message}"


def test_text_without_outputs_is_refused():
    with pytest.raises(InputError, match=r"^p\.skn: a program needs at least one output$"):
        loads(TEXT.replace("emit y = R0\nemit y1 = R2 restart\n", ""), "p.skn")


def test_text_that_is_cut_off_anywhere_is_refused():
    for end in range(len(TEXT) - 1):
        with pytest.raises(InputError):
            loads(TEXT[:end])


def test_long_lines_are_refused():
    text = TEXT.replace("inputs a b", "inputs a b" + " " * 1000)
    with Limits(memory=256 * 1010).applied():
        assert loads(text) == PROGRAM
    message = "<text>:6: a line of more than 1,009 characters: --limit memory=SIZE raises that"
    with Limits(memory=256 * 1010 - 1).applied(), pytest.raises(InputError, match=message):
        loads(text)


def test_many_short_lines_take_little_memory(memory_for):
    text = "skinny 1\n" + "\n" * (32 << 20)
    with memory_for(64 << 20), pytest.raises(InputError, match="<text>:33554433: the program is cut off"):
        loads(text)
