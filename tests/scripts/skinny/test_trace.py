"""The picture of a trace: every state as long as the others, what is sent by name and value, and restarts."""

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.program.text import loads
from skinny.model.rings import parse_ring
from skinny.model.run.golden import trace
from skinny.trace import draw_registers

TEXT = """\
skinny 1
width 3
inputs a
R2 += a*R1
R0 -= a*R2
emit first = R0 restart
R2 += a*R1
emit second = R2 scale 1
end
"""


@pytest.fixture(scope="module")
def figure():
    """With a = 3: R2 is 3, then R0 is -9, which is sent; after the restart R2 is 3 again, which counts twice."""
    program, ring = loads(TEXT), parse_ring("exact")
    return draw_registers(program, ring, trace(program, ring, ring.encode_all([[3]]))[:, 0])


def test_the_last_state_is_as_wide_as_the_others(figure):
    for axis, values in zip(figure.axes, ([0, 0, -9, 0], [1, 1, 1, 1], [0, 3, 3, 3]), strict=True):
        (line,) = axis.patches
        assert line.get_data().edges.tolist() == [0, 1, 2, 3, 4]
        assert line.get_data().values.tolist() == values
        assert axis.get_xlim() == (0, 4)


def test_outputs_values_and_restarts_are_named(figure):
    assert [[text.get_text() for text in axis.texts] for axis in figure.axes] == [
        ["0", "0", "first = -9", "restart"],
        ["1"],
        ["0", "3", "second = 6"],
    ]
    for axis in figure.axes:
        assert [line.get_xdata() for line in axis.lines if line.get_linestyle() == "--"] == [[3, 3]]


def test_only_whole_instructions_have_ticks(figure):
    figure.draw_without_rendering()
    ticks = figure.axes[-1].get_xticks()
    assert len(ticks) > 2
    assert (ticks == np.round(ticks)).all()


def test_what_cannot_be_drawn_is_refused():
    program, ring = loads(TEXT), parse_ring("exact")
    for value in (10**160, 10**400):
        with pytest.raises(InputError, match="R0: a value is too large to be drawn"):
            draw_registers(program, ring, trace(program, ring, ring.encode_all([[value]]))[:, 0])
    start = "0 1 " + "0 " * 63
    wide = loads(TEXT.replace("width 3", f"width 65\nstart {start}"))
    with pytest.raises(InputError, match="room for 64 registers, not 65: draw a waveform"):
        draw_registers(wide, ring, trace(wide, ring, ring.encode_all([[1]]))[:, 0])
