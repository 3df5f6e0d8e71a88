"""Programs as text: text that is written is read back equal."""

from dataclasses import replace
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st
from skinny.model.named_weight import NamedWeight
from skinny.model.program.forms import Input, Linear, Weight
from skinny.model.program.program import Columns, Output, Program
from skinny.model.program.text import dumps, loads

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
named kp = 4/5 in 0:2
weight w[0] = 2
weight w[1] = -3/4 derived
weight w[2] = kp
weight w[3] = -1/2*kp
form f[0] = w[0]*a + w[1]*b + w[0]
R2 += a*R1
R0 -= w[0]*R2
R1 += f[0]*R0
emit y = R0
emit y1 = R2 restart scale 3 approximation 1/1000 sampled
end
"""
#: TEXT, built by hand.
PROGRAM = Program(
    width=3,
    inputs=("a", "b"),
    weights=(Fraction(2), Fraction(-3, 4), Fraction(4, 5), Fraction(-2, 5)),
    derived=(False, True, False, False),
    named=(NamedWeight("kp", Fraction(4, 5), Fraction(0), Fraction(2), ((2, Fraction(1)), (3, Fraction(-1, 2)))),),
    forms=(Input(0), Weight(0), Linear(((0, 0), (1, 1)), 0)),
    code=Columns.of([2, 0, 1], [1, 2, 0], [1, -1, 1], [0, 1, 2]),
    outputs=(Output("y", 0, 3), Output("y1", 2, 3, True, 3, Fraction(1, 1000), True)),
    contract="clean",
    start=(0, 1, 0),
    title="y = (a + 2*b)^3",
    input_scales=(12, 0),
    box=((Fraction(0), Fraction(4095)), (Fraction(-1, 2), Fraction(1, 2))),
    ring="fixed:16.11",
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
