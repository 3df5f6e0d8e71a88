"""Ranges and errors of layers, against values worked out by hand."""

import numpy as np
import pytest
from skinny.model.formula.formula import constant, product, total, variables
from skinny.model.formula.function import apply
from skinny.model.frontends.imported import Imported, Layer
from skinny.model.frontends.measure import decided, measure_layers, scores
from skinny.model.frontends.ranges import row_ranges
from skinny.model.frontends.scale import Room, scale_model
from skinny.model.rings import FixedPoint

(x,) = variables("x")
HIDDEN = apply("relu", total([product([constant(3), x]), constant(-1)]))
OUTPUT = product([constant(0.3), HIDDEN])
NET = Imported(
    {"y": OUTPUT}, ("x",), "regressor", "net", (Layer("hidden layer 1", (HIDDEN,)), Layer("output", (OUTPUT,)))
)
COLUMNS = {"x": np.array([-1.0, 0.3, 0.99])}


def test_ranges_are_those_of_the_rows():
    found = measure_layers(NET, COLUMNS, None, None)
    assert [(layer.name, layer.values) for layer in found] == [("inputs", 1), ("hidden layer 1", 1), ("output", 1)]
    assert [layer.low for layer in found] == [-1, 0, 0]
    assert [layer.high for layer in found] == pytest.approx([0.99, 1.97, 0.591])
    assert all(layer.exponent is None and layer.largest_error is None for layer in found)


def test_errors_are_those_of_words():
    """Inputs are rounded to steps of 2^(e - 5), and no error grows by more than the weights and a step a layer."""
    scaled = scale_model(NET, row_ranges(NET.outputs.values(), COLUMNS), 1.0, Room(1, 0))
    ring = FixedPoint(7, 5)
    inputs, hidden, output = measure_layers(NET, COLUMNS, scaled, ring)
    (power,) = scaled.input_exponents.values()
    step = 2.0 ** (power - 5)
    words = np.floor(COLUMNS["x"] / step + 0.5) * step
    assert inputs.largest_error == pytest.approx(np.abs(words - COLUMNS["x"]).max())
    assert inputs.used == np.abs(words / 2.0**power).max() / 2
    assert 0 < hidden.largest_error <= 3 * inputs.largest_error + 2.0 ** (hidden.exponent - 5)
    assert hidden.mean_error <= hidden.largest_error
    assert output.exponent == scaled.output_exponents["y"]
    finer = measure_layers(NET, COLUMNS, scaled, FixedPoint(24, 22))
    assert all(layer.largest_error < 1e-5 for layer in finer)


def test_decisions_are_those_of_floats():
    assert scores(NET, COLUMNS) == pytest.approx(np.array([[0], [0], [0.591]]))
    three = Imported({"a": x, "b": -x, "c": x + 0}, ("x",), "classifier", "three")
    assert decided(scores(three, COLUMNS)).tolist() == [1, 0, 0], "the first of equals"
    one = Imported({"score": x}, ("x",), "classifier", "one")
    assert decided(scores(one, {"x": np.array([-1.0, 0, 2])})).tolist() == [0, 0, 1]
