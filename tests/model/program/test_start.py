"""Assigns at the start of a run as adds."""

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.program.program import Mode
from skinny.model.program.start import starting_adds
from skinny.model.program.text import loads

TEXT = """skinny 1
width 4
inputs a b
weight w[0] = 3
form f[0] = w[0]*R1
R2 = a*R1
R3 = -f[0]*R2
R2 += b*R1
R0 += f[0]*R3
emit y = R0{restart}
R2 = b*R1
R0 += b*R2
emit z = R0
end
"""


def test_assigns_of_registers_that_hold_zero_are_adds():
    program = loads(TEXT.format(restart=" restart"))
    adds = starting_adds(program)
    assert adds.mode.tolist() == [Mode.ADD] * 6
    assert all(np.array_equal(a, b) for a, b in zip(adds.arrays()[:4], program.code.arrays()[:4], strict=True))
    assert program.code.mode.tolist() == [1, 1, 0, 0, 1, 0]


def test_assigns_elsewhere_stay():
    assert starting_adds(loads(TEXT.format(restart=""))).mode.tolist() == [0, 0, 0, 0, 1, 0]


@pytest.mark.parametrize(
    ("old", "new", "at", "register"),
    [
        ("R2 = a*R1", "R1 = a*R0", 0, 1),
        ("R3 = -f[0]*R2", "R1 = -f[0]*R2", 1, 1),
        ("form f[0] = w[0]*R1", "form f[0] = w[0]*R3", 1, 3),
    ],
)
def test_an_assign_that_is_no_add_is_named(old, new, at, register):
    text = TEXT.format(restart="")
    assert text.count(old) == 1
    with pytest.raises(InputError) as caught:
        starting_adds(loads(text.replace(old, new)))
    message = f"instruction {at} assigns R{register}, which does not begin with zero or is read by it"
    assert str(caught.value) == message
