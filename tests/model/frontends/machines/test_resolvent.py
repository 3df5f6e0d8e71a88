"""The program of a machine, instruction for instruction."""

from fractions import Fraction

from skinny.model.frontends.machines.resolvent import register_of, resolvent_program
from skinny.model.program.text import dumps

CHAIN = {None: {(1, 0): Fraction(2)}, "relu": {(2, 1): Fraction(-3)}, "square": {(3, 2): Fraction(1, 2)}}


def test_register_1_is_left_out():
    assert [register_of(node) for node in range(4)] == [0, 2, 3, 4]


def lines(program):
    return [line for line in dumps(program).splitlines() if line.startswith(("R", "emit"))]


def test_an_instruction_for_each_input_and_weight():
    program = resolvent_program(4, CHAIN, [0, 1, 2, 3], [0, 2], [3])
    assert lines(program) == [
        "R0 += x0*R1",
        "R3 += x2*R1",
        "R2 += w[0]*R0",
        "R5 = relu(w[1]*R2)",
        "R3 -= w[2]*R5",
        "R5 = f[0]*R3",
        "R4 += w[3]*R5",
        "emit y3 = R4",
    ]
    assert program.weights == (2, 1, 3, Fraction(1, 2))


def test_what_does_not_matter_is_left_out():
    program = resolvent_program(4, CHAIN, [0, 1, 2, 3], [1], [2])
    assert lines(program) == ["R2 += x1*R1", "R5 = relu(w[0]*R2)", "R3 -= w[1]*R5", "emit y2 = R3"]
