"""Powers of two folded into weights: the same function, and everything fits."""

from fractions import Fraction

import numpy as np
import pytest
from skinny.model.formula.formula import constant, evaluate, postorder, product, total, variables
from skinny.model.formula.function import apply
from skinny.model.frontends.imported import Imported, Layer
from skinny.model.frontends.ranges import row_ranges, row_values
from skinny.model.frontends.scale import Room, scale_model
from skinny.model.rings import Exact

ROWS = 50
#: 16 values of x that go up to 100, y up to 0.001.
RNG = np.random.default_rng(3)
COLUMNS = {"x": RNG.uniform(-100, 100, ROWS), "y": RNG.uniform(-0.001, 0.001, ROWS)}


def form(coefficients, values, bias):
    return total([*(product([constant(c), v]) for c, v in zip(coefficients, values, strict=True)), constant(bias)])


def network(argmax="class"):
    """Two layers with a relu, squares, and a term without a weight."""
    x, y = variables("x y")
    hidden = tuple(apply("relu", form(row, (x, y), 3)) for row in ((0.5, 40), (-7, 1000), (2, -3)))
    squares = (hidden[0] ** 2, product([hidden[1], hidden[2]]))
    last = tuple(form(row, (*squares, hidden[1]), 1) for row in ((0.1, -2, 3), (1, 2, 0.5)))
    outputs = {"s0": total([*last[0].args, hidden[0]]), "s1": last[1]}
    layers = (Layer("one", hidden), Layer("squares", squares), Layer("two", tuple(outputs.values())))
    return Imported(outputs, ("x", "y"), "classifier", "net", layers, argmax)


@pytest.mark.parametrize("room", [Room(1, 0), Room(2, 1), Room(4, 2)])
@pytest.mark.parametrize("argmax", ["class", ""])
def test_the_function_is_the_same_and_everything_fits(room, argmax):
    imported = network(argmax)
    scaled = scale_model(imported, row_ranges(imported.outputs.values(), COLUMNS), 1.0, room)
    inside = {name: np.ldexp(column, -scaled.input_exponents[name]) for name, column in COLUMNS.items()}
    exact = Exact()
    for name, formula in imported.outputs.items():
        point = {key: exact.encode_all([Fraction(float(column[0]))]) for key, column in COLUMNS.items()}
        small = {key: exact.encode_all([Fraction(float(column[0]))]) for key, column in inside.items()}
        expected = evaluate(formula, point, exact)[0]
        assert (
            evaluate(scaled.outputs[name], small, exact)[0] * Fraction(2) ** scaled.output_exponents[name] == expected
        )
    for node in postorder(*scaled.outputs.values()):
        if node.kind == "constant":
            assert abs(node.value) < 1 << room.integer
    for layer, exponents in zip(scaled.layers, scaled.layer_exponents, strict=True):
        largest = max(np.abs(values).max() for values in row_values(inside, list(layer.values)))
        assert largest < 2 ** (room.integer if layer.name == "two" else max(room.target, 2 * room.target))
        if layer.name != "squares":
            assert len(set(exponents)) == 1 or not argmax
    if argmax:
        assert len(set(scaled.output_exponents.values())) == 1


def test_inputs_of_one_kind_have_one_scale_and_others_their_own():
    x, y = variables("x y")
    imported = Imported({"s": form((1, 1), (x, y), 0)}, ("x", "y"), "regressor", "sum")
    for size, expected in ((16, (4, 4)), (0.9, (4, 4)), (0.3, (4, -1))):
        columns = {"x": np.array([-15.0, 3]), "y": np.array([size, 0]) * 0.99}
        scaled = scale_model(imported, row_ranges(imported.outputs.values(), columns), 1.0, Room(1, 0))
        assert tuple(scaled.input_exponents.values()) == expected, size


def test_origins_say_where_constants_come_from():
    imported = network()
    scaled = scale_model(imported, row_ranges(imported.outputs.values(), COLUMNS), 1.0, Room(1, 0))
    before = {id(node): node.value for node in postorder(*imported.outputs.values()) if node.kind == "constant"}
    seen = 0
    for node in postorder(*scaled.outputs.values()):
        if id(node) in scaled.origins:
            origin, power = scaled.origins[id(node)]
            assert node.value == before[origin] * Fraction(2) ** power
            seen += 1
    assert seen == len(before)
