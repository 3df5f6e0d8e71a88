"""Scales of streams: formulas of what was divided give what the formulas as written give, divided."""

import random
from fractions import Fraction

import numpy as np
import pytest
from skinny.model.compiler.stream_scale import UNSCALED, StreamScales, scaled_definitions
from skinny.model.formula.formula import evaluate
from skinny.model.formula.parse import parse_definitions
from skinny.model.rings import Exact

SCALES = StreamScales({"x": 5, "z": -2}, 3)


def values_of(definitions, point):
    """What outputs and next values are at a point, exactly."""
    formulas = definitions.outputs | {state.name: state.next for state in definitions.states}
    given = {name: np.array([value], dtype=object) for name, value in point.items()}
    return {name: Fraction(evaluate(formula, given, Exact())[0]) for name, formula in formulas.items()}


@pytest.mark.parametrize(
    "text",
    [
        "state s = 3; y = s + x/8; next s = s - x + 1",
        "state s = 1; y = s*(x - s)^3 + 2^4*x^0; next s = 7",
        "state s = 1; weight k = 2 in 0:4; y = k*s + k; next s = k*k*x*s - (k + 1)^2",
        "state s = 1; y = relu(2 - relu(s - x[t-1])*x); next s = relu(3) + z*z[t-2]",
    ],
)
def test_everything_is_divided(text):
    definitions = parse_definitions(text)
    divided = scaled_definitions(definitions, SCALES)
    assert [state.start * 8 for state in divided.states] == [state.start for state in definitions.states]
    chance = random.Random(text)
    for _ in range(5):
        inner = {name: Fraction(chance.randrange(-99, 99), 4) for name in (*definitions.inputs, "s")}
        given = {name: x * Fraction(2) ** SCALES.inputs.get(name[0], 3) for name, x in inner.items()}
        found = {name: 8 * y for name, y in values_of(divided, inner).items()}
        assert found == values_of(definitions, given)


def test_what_is_not_scaled_stays():
    definitions = parse_definitions("state s = 3; y = s + x/8; next s = s - x + 1")
    assert scaled_definitions(definitions, UNSCALED) is definitions
