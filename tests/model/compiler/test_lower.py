"""Lower: tables in order of first use, outputs one after the other."""

from fractions import Fraction

from skinny.model.compiler.code import Affine, Code, Instruction
from skinny.model.compiler.lower import lower
from skinny.model.program.program import Input, Linear, Output, Weight

A, B = Affine(((0, 1),)), Affine(((1, 1),))
HALF, FORM = Affine((), Fraction(1, 2)), Affine(((0, 2), (1, 1)), Fraction(1, 2))


def test_two_outputs():
    first = Code.of([Instruction(2, 1, 1, B), Instruction(0, 2, -1, FORM)], (0, 1, 0))
    second = Code.of([Instruction(2, 1, 1, HALF), Instruction(0, 1, 1, B)], (0, 1, 0), output=2)
    program = lower({"p": first, "q": second}, ["a", "b"], "clean", frozenset({Fraction(2), Fraction(1)}))
    assert program.weights == (Fraction(1, 2), Fraction(2), Fraction(1))
    assert program.derived == (True, False, False)
    assert program.forms == (Input(1), Linear(((1, 0), (2, 1)), 0), Weight(0))
    assert program.outputs == (Output("p", 0, 2, True), Output("q", 2, 4, False))
    assert [column.tolist() for column in program.code.arrays()] == [
        [2, 0, 2, 0],
        [1, 2, 1, 1],
        [1, -1, 1, 1],
        [0, 1, 2, 0],
    ]


def test_a_scalar_that_no_instruction_uses_is_left_out():
    code = Code.of([Instruction(0, 1, 1, A), Instruction(0, 1, 1, B)], (0, 1, 0)).part(slice(1, 2))
    assert lower({"y": code}, ["a", "b"], "clean", frozenset()).forms == (Input(1),)
