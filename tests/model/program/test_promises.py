"""Promises: what breaks them, and that whoever needs one says which instruction does."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.program.forms import Input, Linear, Weight
from skinny.model.program.program import Columns, Mode, Output, Program
from skinny.model.program.promises import starting_assigns

FORMS = (Input(0), Linear((), sums=((Weight(0), 3),)))


def program(*steps, restart=None, **changes):
    """A program of steps ``(mode, form)``, all of which write R2 and read R1."""
    mode, form = zip(*steps, strict=True)
    count = len(steps)
    outputs = (Output("y", 0, restart, True),) if restart is not None else ()
    return Program(
        width=4,
        inputs=("a",),
        weights=(Fraction(2),),
        forms=FORMS,
        code=Columns.of([2] * count, [1] * count, [1] * count, form, mode),
        outputs=(*outputs, Output("z", 0, count)),
        **changes,
    )


PURE = "a transpose needs a program that only adds, without sums of registers, but {}"
ADD, ASSIGN, RELU, SUM = (Mode.ADD, 0), (Mode.ASSIGN, 0), (Mode.RELU, 0), (Mode.ADD, 1)


@pytest.mark.parametrize(
    ("steps", "linear", "reversible"),
    [
        ([ADD, ADD], None, None),
        ([ADD, SUM], "instruction 1 multiplies with a sum of registers", None),
        ([ADD, ASSIGN], None, "instruction 1 assigns a register"),
        ([ASSIGN, ADD, ADD], None, None),
        ([ASSIGN, ASSIGN, ADD], None, "instruction 1 assigns a register"),  # over what it begins with
        ([ASSIGN, ADD, ASSIGN], None, "instruction 2 assigns a register"),
        ([RELU, ADD], "instruction 0 takes the relu", "instruction 0 takes the relu"),
        ([ASSIGN, RELU], "instruction 1 takes the relu", "instruction 1 takes the relu"),
        ([(Mode.ASSIGN, 1), ADD], "instruction 0 multiplies with a sum of registers", None),
    ],
)
def test_what_breaks_a_promise(steps, linear, reversible):
    made = program(*steps)
    for broken, wanted in ((made.linear_break, linear), (made.reversible_break, reversible)):
        assert (None if broken is None else str(broken)) == wanted
    assert (made.linear, made.reversible) == (linear is None, reversible is None)
    assert made.pure == all(step == ADD for step in steps)


@pytest.mark.parametrize(
    ("registers", "count"),
    [([(0, 1), (2, 1), (2, 0)], 2), ([(0, 1), (2, 0), (3, 2)], 3), ([(0, 1), (2, 2), (3, 1)], 1), ([(0, 0)], 0)],
)
def test_a_start_writes_each_register_once_and_none_over_itself(registers, count):
    dst, src = zip(*registers, strict=True)
    code = Columns.of(dst, src, [1] * len(dst), [0] * len(dst), [Mode.ASSIGN] * len(dst))
    assert starting_assigns(code) == count


def test_assigns_behind_a_restart_are_a_start_too():
    steps = [ADD, ADD, ASSIGN, ADD]
    assert not program(*steps).reversible
    assert program(*steps, restart=2).reversible
    assert str(program(*steps, ASSIGN, restart=2).reversible_break) == "instruction 4 assigns a register"


def test_an_inverse_goes_back_to_where_the_assigns_end():
    back = program(ASSIGN, ADD, SUM).inverse()
    assert [column.tolist() for column in back.code.arrays()] == [[2, 2], [1, 1], [-1, -1], [1, 0], [0, 0]]
    assert back.outputs == (Output("z", 0, 2),)


@pytest.mark.parametrize(
    ("use", "steps", "message"),
    [
        (Program.inverse, [ADD, ASSIGN], "an inverse needs a reversible program, but instruction 1 assigns a register"),
        (
            lambda made: made.segments(2),
            [ADD, SUM],
            "segments need a linear program, but instruction 1 multiplies with a sum of registers",
        ),
        (
            Program.transpose,
            [ASSIGN, SUM],
            PURE.format("instruction 0 assigns a register"),
        ),
        (
            Program.transpose,
            [ADD, SUM, RELU],
            PURE.format("instruction 1 multiplies with a sum of registers"),
        ),
    ],
)
def test_who_needs_a_promise_names_the_instruction_that_breaks_it(use, steps, message):
    with pytest.raises(InputError) as caught:
        use(program(*steps))
    assert str(caught.value) == message


def test_pieces_of_a_program_decide_nothing():
    made = program(ADD, ADD, restart=1, argmax="best")
    assert made.results == ("best",)
    assert [part.argmax for part in made.parts()] == ["", ""]
    whole = replace(made, outputs=made.outputs[1:])
    assert [piece.argmax for piece in (whole.inverse(), whole.transpose(), *whole.segments(2))] == [""] * 4
    assert whole.concatenate([whole, whole]).argmax == "best"
    assert np.array_equal(whole.code.mode, [0, 0])
