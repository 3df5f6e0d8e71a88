"""The reader of programs as text: it is generous with blanks, and refuses malformed text with its line."""

from fractions import Fraction

import pytest
from skinny.model.errors import InputError
from skinny.model.limits import Limits
from skinny.model.program.forms import Input, Weight
from skinny.model.program.program import Output
from skinny.model.program.text import loads

TEXT = """\
skinny 1
# y = (a + 2*b)^3
width 3
contract clean
ring fixed:16.11
start 0 1 0
inputs a b
scale a = 12
box a = 0:4095
box b = -1/2:1/2
weight w[0] = 2
weight w[1] = -3/4 derived
form f[0] = w[0]*a + w[1]*b + w[0]
R2 += a*R1
R0 -= w[0]*R2
R1 += f[0]*R0
emit y = R0
emit y1 = R2 restart scale 3 approximation 1/1000 sampled
end
"""


def test_hand_written_text_is_read_generously():
    head = "skinny 1\r\nwidth 3  # three\n\n inputs a\nweight w[0]=+6/4\n"
    program = loads(head + "R0+=a * R1 # first\n\tR2 -= w[00]*R0\nemit y=R2\nend")
    assert program.weights == (Fraction(3, 2),)
    assert program.start == (0, 1, 0)
    assert program.contract == "clean"
    assert program.forms == (Input(0), Weight(0))
    assert [column.tolist() for column in program.code.arrays()] == [[0, 2], [1, 0], [1, -1], [0, 1], [0, 0]]
    assert program.outputs == (Output("y", 2, 2),)


def broken(old, new):
    assert TEXT.count(old) == 1
    return TEXT.replace(old, new)


EMIT = "expected 'emit NAME = R0' or 'emit NAME = R0 restart', found "
MALFORMED = [
    (TEXT.replace("start 0", "self-check on\nstart 0"), 6, "nothing may follow 'self-check', found 'on'"),
    (TEXT.replace("start 0", "self-check\nself-check\nstart 0"), 7, "'self-check' is given twice"),
    (TEXT.replace("start 0", "settable 1\nstart 0"), 6, "nothing may follow 'settable', found '1'"),
    (TEXT.replace("start 0", "settable\nsettable\nstart 0"), 7, "'settable' is given twice"),
    (
        TEXT.replace("start 0", "probabilities log\nstart 0"),
        6,
        "probabilities must be followed by sigmoid or softmax, not 'log'",
    ),
    (broken("start 0 1 0", "ring fixed:16\nstart 0 1 0"), 6, "'ring' is given twice"),
    (
        broken("ring fixed:16.11", "ring fixed"),
        5,
        "unknown ring 'fixed': expected modular:BITS, fixed:BITS.FRAC, prime:P, boolean, exact or real",
    ),
    (broken("scale a = 12", "scale a"), 8, "expected 'scale NAME = …', found 'scale a'"),
    (broken("scale a = 12", "scale c = 12"), 8, "unknown input 'c'"),
    (
        broken("scale a = 12", "scale a = 1/2"),
        8,
        "a scale must be a whole number, the exponent of a power of two, not '1/2'",
    ),
    (broken("scale a = 12", "scale a = 1\nscale a = 1"), 9, "'scale a' is given twice"),
    (broken("box a = 0:4095", "box b = 0:4095"), 10, "'box b' is given twice"),
    (broken("box a = 0:4095", "box a = 4095"), 9, "a box must be like '-1:1/2', not '4095'"),
    (broken("box a = 0:4095", "box a = 0:x"), 9, "a box must be an integer or a fraction, not 'x'"),
    (
        broken("restart scale 3", "scale 3 restart"),
        18,
        EMIT + "'emit y1 = R2 scale 3 restart approximation 1/1000 sampled'",
    ),
    (broken("approximation 1/1000 sampled", "sampled"), 18, EMIT + "'emit y1 = R2 restart scale 3 sampled'"),
    (broken("approximation 1/1000", "approximation 1/0"), 18, "an approximation cannot have the denominator zero"),
    ("", 1, "the first line must be 'skinny 1'"),
    (broken("skinny 1", "skinny 2"), 1, "version 2 is not known: this program reads version 1"),
    (broken("skinny 1", "skinny"), 1, "the first line must be 'skinny 1'"),
    (broken("skinny 1\n", ""), 1, "the first line must be 'skinny 1'"),
    (broken("end\n", ""), 18, "the program is cut off: its last line must be 'end'"),
    (broken("end\n", "end\nR0 += a*R1\n"), 20, "nothing may follow 'end'"),
    (broken("end\n", "end\nend\n"), 20, "nothing may follow 'end'"),
    (broken("width 3", "width 1"), 3, "the width must be 2 to 1024, not '1'"),
    (broken("width 3", "width 3\nwidth 3"), 4, "'width' is given twice"),
    (broken("width 3\n", ""), 5, "'width' must come first"),
    (broken("contract clean", "contract tidy"), 4, "the contract must be in-place or clean, not 'tidy'"),
    (broken("start 0 1 0", "start 0 1"), 6, "the start vector must have 3 entries, not 2"),
    (broken("start 0 1 0", "start 0 1 x"), 6, "a start value must be an integer or a fraction, not 'x'"),
    (broken("inputs a b", "inputs a 2b"), 7, "an input must be a name, not '2b'"),
    (broken("inputs a b", "inputs a b a"), 7, "the input 'a' is given twice"),
    (broken("w[0] = 2\n", "w[1] = 2\n"), 11, "expected 'w[0] = …', found 'w[1] = 2'"),
    (broken("w[0] = 2\n", "w[0] = 2x\n"), 11, "a weight must be an integer or a fraction, not '2x'"),
    (broken("w[0] = 2\n", "w[0] = 2/0\n"), 11, "a weight cannot have the denominator zero"),
    (broken("-3/4 derived", "-3/4 guessed"), 12, "only 'derived' may follow the value of a weight, not 'guessed'"),
    (broken("w[1]*b + w[0]", "w[1]*c + w[0]"), 13, "unknown input 'c'"),
    (broken("w[1]*b + w[0]", "w[2]*b + w[0]"), 13, "weight index w[2] is past the end (2)"),
    (broken("w[1]*b + w[0]", "w[1] + w[0]"), 13, "a form has at most one bias"),
    (broken("w[1]*b + w[0]", "b*w[1]"), 13, "a term of a form must be like 'w[0]*x', 'x*R1' or 'w[0]', not 'b*w[1]'"),
    (broken("R2 += a*R1", "R3 += a*R1"), 14, "register R3 is out of range (width 3)"),
    (broken("R2 += a*R1", "R2 += a*R7"), 14, "register R7 is out of range (width 3)"),
    (broken("R2 += a*R1", "R2 += a*R2"), 14, "dst = src: an instruction cannot read and write R2"),
    (broken("R0 -= w[0]*R2", "R0 -= a*R0"), 15, "dst = src: an instruction cannot read and write R0"),
    (broken("R2 += a*R1", "R2 += c*R1"), 14, "unknown input 'c'"),
    (broken("R2 += a*R1", "R2 += w[5]*R1"), 14, "weight index w[5] is past the end (2)"),
    (broken("R2 += a*R1", "R2 += f[1]*R1"), 14, "form index f[1] is past the end (1)"),
    (broken("R2 += a*R1", "table a w[0]\nR2 += a*R1"), 17, "the table does not list 'f[0]'"),
    (broken("R2 += a*R1", "table a a"), 14, "the table lists 'a' twice"),
    (
        broken("R2 += a*R1", "R2 := a*R1"),
        14,
        "expected an instruction like 'R0 += x*R1' or a declaration, found 'R2 := a*R1'",
    ),
    *(
        (broken("R2 += a*R1", f"R2 {wrong}"), 14, f"expected an instruction like 'R0 += x*R1', found 'R2 {wrong}'")
        for wrong in (
            *("+= -a*R1", "+= relu(a*R1)", "= relu a*R1", "= relu(a*R1", "= a*R1)", "= (a*R1)", "= --a*R1"),
            *("= relu(relu(a*R1))", "= -relu(a*R1)", "= a", "="),
        )
    ),
    (broken("R2 += a*R1", "R2 = relu(c*R1)"), 14, "unknown input 'c'"),
    (broken("R2 += a*R1", "R2 = -a*R3"), 14, "register R3 is out of range (width 3)"),
    (broken("w[1]*b + w[0]", "w[1]*R3"), 13, "register R3 is out of range (width 3)"),
    (broken("w[1]*b + w[0]", "c*R1"), 13, "unknown input 'c'"),
    (broken("w[1]*b + w[0]", "w[2]*R1"), 13, "weight index w[2] is past the end (2)"),
    (broken("R2 += a*R1", "argmax c d"), 14, "argmax must be followed by the name of the result, not 'c d'"),
    (broken("R2 += a*R1", "argmax c\nargmax d"), 15, "'argmax' is given twice"),
    (broken("R2 += a*R1", "R2 += a*R1 R0"), 14, "expected an instruction like 'R0 += x*R1', found 'R2 += a*R1 R0'"),
    (broken("R2 += a*R1", "R2 += a*R1\nwidth 3"), 15, "'width' must come before the first instruction"),
    (broken("emit y = R0", "emit y = R3"), 17, "register R3 is out of range (width 3)"),
    (broken("emit y = R0", "emit y1 = R0"), 18, "the output 'y1' is given twice"),
    (
        broken("emit y = R0", "emit 1 = R0"),
        17,
        EMIT + "'emit 1 = R0'",
    ),
]


@pytest.mark.parametrize(("text", "line", "message"), MALFORMED)
def test_malformed_text_is_refused_with_its_line(text, line, message):
    with pytest.raises(InputError) as caught:
        loads(text, "p.skn")
    assert str(caught.value) == f"p.skn:{line}: {message}"


def test_a_box_is_whole():
    with pytest.raises(InputError, match=r"^p\.skn: the input 'a' has no box, but others have$"):
        loads(broken("box a = 0:4095\n", ""), "p.skn")


def test_text_without_outputs_is_refused():
    with pytest.raises(InputError, match=r"^p\.skn: a program needs at least one output$"):
        loads(TEXT[: TEXT.index("emit")] + "end", "p.skn")


def test_text_that_is_cut_off_anywhere_is_refused():
    for end in range(len(TEXT) - 1):
        with pytest.raises(InputError):
            loads(TEXT[:end])


def test_long_lines_are_refused():
    text = TEXT.replace("inputs a b", "inputs a b" + " " * 1000)
    with Limits(memory=256 * 1010).applied():
        assert loads(text) == loads(TEXT)
    message = "<text>:7: a line of more than 1,009 characters: --limit memory=SIZE raises that"
    with Limits(memory=256 * 1010 - 1).applied(), pytest.raises(InputError, match=message):
        loads(text)


def test_many_short_lines_take_little_memory(memory_for):
    text = "skinny 1\n" + "\n" * (32 << 20)
    with memory_for(64 << 20), pytest.raises(InputError, match="<text>:33554433: the program is cut off"):
        loads(text)


NAMED = TEXT.replace("weight w[0] = 2\n", "named kp = 1 in 0:2\nweight w[0] = 2*kp\n")


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("in 0:2", "0:2", 11, "expected 'named NAME = VALUE in LOW:HIGH', found 'named kp = 1 0:2'"),
        ("in 0:2", "in 2", 11, "a range must be like '-1:1/2', not '2'"),
        ("kp = 1 in", "kp = x in", 11, "a weight must be an integer or a fraction, not 'x'"),
        ("kp = 1 in", "kp = 3 in", 11, "weight kp: 3 is outside its range 0:2"),
        ("in 0:2", "in 0:2\nnamed kp = 1 in 0:2", 12, "the weight 'kp' is given twice"),
        ("2*kp", "x*kp", 12, "a factor must be an integer or a fraction, not 'x'"),
        ("2*kp", "2*ki", 12, "a weight must be an integer or a fraction, not '2*ki'"),
    ],
)
def test_malformed_named_weights_are_refused(old, new, line, message):
    assert loads(NAMED).weights[0] == 2
    assert loads(NAMED.replace("kp = 1 ", "kp = 3/2 ")).weights[0] == 3
    with pytest.raises(InputError) as caught:
        loads(NAMED.replace(old, new), "p.skn")
    assert str(caught.value) == f"p.skn:{line}: {message}"
