"""What fixed point took away is said in one line, however much it is."""

from fractions import Fraction

from skinny.model.program.forms import Weight
from skinny.model.program.program import Columns, Output, Program
from skinny.model.rings import FixedPoint, Real
from skinny.model.run.precision import Precision, lost_weights


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
    told = Precision("fixed:8.4", rows=1000, wrapped=3, rounded=1)
    assert told.line == (
        "fixed:8.4: 3 of 1,000 rows wrapped, so that results are wrong by more than rounding; 1 input value rounded"
    )
    assert told.counts == {"zero_weights": 0, "changed_weights": 0, "wrapped_rows": 3, "rounded_inputs": 1}
