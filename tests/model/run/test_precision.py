"""What fixed point took away is said in one line, however much it is."""

from fractions import Fraction

import numpy as np
from skinny.model.program.forms import Input, Weight
from skinny.model.program.program import Columns, Output, Program
from skinny.model.rings import FixedPoint, Real
from skinny.model.run.precision import Precision, lost_weights, outside_rows


def with_weights(*weights):
    return Program(
        width=2,
        inputs=(),
        weights=tuple(map(Fraction, weights)),
        forms=(Weight(0),),
        code=Columns.of([0], [1], [1], [0]),
        outputs=(Output("y", 0, 1),),
    )


def test_weights_that_became_zero_or_changed():
    # Steps of 1/256. 0.4 steps become 0; 1.4 steps become 1; 49.5 become 50, 1.01 % more; 50.5 become 51, 0.99 %.
    steps = ["0.4", "-1.4", "49.5", "50.5", "0", "256"]
    found = lost_weights(with_weights(*(Fraction(step) / 256 for step in steps)), FixedPoint(16, 8))
    assert found.zero == ("w[0] = 0.0015625",)
    assert found.changed == ("w[1] = -0.00546875 is -0.00390625", "w[2] = 0.193359 is 0.195312")
    assert found.line == (
        "fixed:16.8: 1 weight became 0 (w[0] = 0.0015625); "
        "2 weights changed by more than 1 % (w[1] = -0.00546875 is -0.00390625, w[2] = 0.193359 is 0.195312)"
    )
    assert lost_weights(with_weights("0.001"), Real()).line == ""


def test_many_weights_are_one_line():
    line = lost_weights(with_weights(*["0.0001"] * 300), FixedPoint(16, 8)).line
    assert line.startswith("fixed:16.8: 300 weights became 0 (w[0] = 0.0001, ")
    assert line.endswith("w[4] = 0.0001, …)")
    assert "\n" not in line


def test_rows_and_inputs():
    assert Precision("fixed:8.4", rows=10).line == ""
    told = Precision("fixed:8.4", rows=1000, wrapped=3, outside=2, beyond=("x", "y"), rounded=1)
    assert told.line == (
        "fixed:8.4: 3 of 1,000 rows wrapped, so that results are wrong by more than rounding; "
        "2 of 1,000 rows outside the box of the program (x, y), where nothing is proven; 1 input value rounded"
    )
    assert told.counts == {
        "zero_weights": 0,
        "changed_weights": 0,
        "wrapped_rows": 3,
        "outside_rows": 2,
        "rounded_inputs": 1,
    }


def test_rows_outside_the_box():
    # Steps of 2^(3-4) = 1/2 for x and of 1/16 for y. 10.3 is rounded to 10.5, 0.1 to 2/16: these words are inside.
    program = Program(
        width=2,
        inputs=("x", "y"),
        weights=(),
        forms=(Input(0), Input(1)),
        code=Columns.of([0, 0], [1, 1], [1, 1], [0, 1]),
        outputs=(Output("z", 0, 2),),
        input_scales=(3, 0),
        box=((Fraction(-2), Fraction("10.3")), (Fraction("0.1"), Fraction(1))),
    )
    rows = np.array([[-4, 2], [21, 16], [0, 5], [-5, 5], [22, 5], [0, 1], [0, 17], [22, 17]])
    assert outside_rows(program, FixedPoint(8, 4), rows) == (5, ("x", "y"))
    assert outside_rows(program, FixedPoint(8, 4), rows[:3]) == (0, ())
    assert outside_rows(program, FixedPoint(8, 4), rows[6:]) == (2, ("x", "y"))
    assert outside_rows(program, FixedPoint(8, 4), rows[5:7]) == (2, ("y",))
    assert outside_rows(program, Real(), rows) == (0, ())
    assert outside_rows(with_weights(1), FixedPoint(8, 4), np.zeros((3, 0))) == (0, ())
