"""Code: one form of instructions for all passes."""

from dataclasses import replace

import numpy as np
import pytest
from skinny.model.compiler.code import ONE, Affine, Code, Instruction, Scalars
from skinny.model.errors import CheckError
from skinny.model.program.program import Columns

A, B = Affine(((0, 1),)), Affine(((1, 1),))
FORM, NEAR = Affine(((0, 2), (1, 3))), Affine(((0, 2), (1, 3)), 5)
INSTRUCTIONS = [Instruction(2, 1, 1, B), Instruction(0, 2, -1, FORM), Instruction(0, 1, 1, ONE)]
START = (0, 1, 0)


def test_instructions_come_back_as_they_were_given():
    code = Code.of(INSTRUCTIONS, START)
    assert code.instructions() == INSTRUCTIONS
    assert list(code.rows()) == [(2, 1, 1, 0), (0, 2, -1, 1), (0, 1, 1, 2)]
    assert (len(code), code.width, list(code.scalars)) == (3, 3, [B, FORM, ONE])
    assert list(code.with_rows(list(code.rows())[:1]).rows()) == [(2, 1, 1, 0)]
    assert list(Code.of([], START).rows()) == []


def test_cycles_count_the_building_of_forms():
    # FORM takes two accumulator steps, NEAR one more, FORM again one less; plain scalars take none.
    order = [FORM, A, NEAR, FORM, FORM]
    code = Code.of([Instruction(0, 1, 1, scalar) for scalar in order], START)
    assert code.cycles == len(order) + 2 + 1 + 1
    scalars = code.scalars
    numbers = [scalars.number(scalar) for scalar in order]
    assert [scalars.accumulator_steps(held, n) for held, n in zip([None, 0, 0, 2, 0], numbers, strict=True)] == [
        2,
        0,
        1,
        1,
        0,
    ]


def test_instructions_before_use_the_same_table():
    code = Code.of(INSTRUCTIONS, START).after([Instruction(2, 1, -1, ONE), Instruction(0, 1, 1, A)])
    assert code.instructions() == [Instruction(2, 1, -1, ONE), Instruction(0, 1, 1, A), *INSTRUCTIONS]


def test_the_transposed_code_starts_at_the_output():
    code = Code.of(INSTRUCTIONS, START, output=2).transposed()
    assert code.start == (0, 0, 1)
    assert code.instructions() == [Instruction(i.src, i.dst, i.sign, i.scalar) for i in reversed(INSTRUCTIONS)]


def test_a_table_tells_its_last_input():
    assert Scalars([ONE]).inputs == 0
    assert Scalars([B, A, Affine(((0, 1), (6, 2)))]).inputs == 7


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ((3, 1, 1, 0), "instruction 1: a register is out of range"),
        ((0, 3, 1, 0), "instruction 1: a register is out of range"),
        ((1, 1, 1, 0), "instruction 1: source and target are one register"),
        ((0, 1, 0, 0), "instruction 1: the sign is neither"),
        ((0, 1, 2, 0), "instruction 1: the sign is neither"),
        ((0, 1, 1, 3), "instruction 1: the scalar is not in the table"),
        ((0, 1, 1, -1), "instruction 1: the scalar is not in the table"),
    ],
)
def test_what_means_nothing_is_named_with_its_place(row, message):
    code = Code.of(INSTRUCTIONS, START)
    code.verify("here")
    with pytest.raises(CheckError, match=f"^internal error here: {message}"):
        code.with_rows([(0, 1, 1, 0), row]).verify("here")


def test_an_output_out_of_range_is_noticed():
    with pytest.raises(CheckError, match="the output register 3 is out of range"):
        replace(Code.of(INSTRUCTIONS, START), output=3).verify("here")


def test_ten_million_instructions_take_seven_bytes_each():
    columns = Columns.of(np.zeros(10**7), np.ones(10**7), np.ones(10**7), np.zeros(10**7))
    code = Code(columns, Scalars([A]), START)
    assert sum(column.nbytes for column in code.columns.arrays()) == 10 * 10**7
    code.verify("here")
    assert code.cycles == 10**7
