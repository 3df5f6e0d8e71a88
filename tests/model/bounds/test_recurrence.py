"""Recurrences of programs, against the formulas that they were written from."""

from fractions import Fraction

from skinny.model.bounds.case import Case
from skinny.model.bounds.recurrence import ONE, find_recurrence
from skinny.model.program.text import loads
from skinny.model.rings import FixedPoint

RING = FixedPoint(16, 8)
HEAD = "skinny 1\nwidth 4\ncontract clean\nstart 0 1 0 0\ninputs x\nweight w[0] = 4/5\nweight w[1] = 1\n"


def found(code: str, state: list[int]):
    program = loads(HEAD + code + "emit y = R0\nend\n")
    weights = program.quantise(RING).tolist()
    start = [RING.encode(value) for value in program.start]
    return find_recurrence(Case(program, RING.frac, [], weights, start, {}), state)


def test_a_pole_is_the_weight_as_it_was_rounded():
    # y = x + 4/5*s; next s = y. The symbols: one, s, x, and the rounding of the product.
    one_pole = found("R0 += x*R1\nR0 += w[0]*R2\nR2 = w[1]*R0\n", [2])
    s, x, rounding = 1, 2, 3
    assert one_pole.roundings == [rounding]
    assert one_pole.after[0].actual == {s: Fraction(205, 256), x: 1, rounding: 1}
    assert one_pole.after[0].exact == {s: Fraction(4, 5), x: 1}
    assert one_pole.sent[0] == one_pole.after[0]
    assert one_pole.reads[0].value == {ONE: 1}


def test_a_product_that_is_taken_away_takes_its_rounding_away():
    undone = found("R0 += w[0]*R2\nR3 += w[1]*R2\nR0 -= w[0]*R3\nR2 += x*R1\n", [2])
    assert undone.sent[0].actual == {}
    assert undone.after[0].actual == {1: 1, 2: 1}


def test_a_product_of_state_and_input_has_no_recurrence():
    assert found("R0 += x*R2\nR2 = w[1]*R0\n", [2]) == "instruction 0 multiplies two values that change"
    assert found("R0 = relu(w[0]*R2)\nR2 = w[1]*R0\n", [2]) == "instruction 0 takes the relu"
