"""Messages name the layer in which a value does not fit."""

from fractions import Fraction

import numpy as np
import pytest
from skinny.model.bounds.bounds import bound
from skinny.model.formula.formula import constant, product, total, variables
from skinny.model.formula.function import apply
from skinny.model.frontends.imported import Imported, Layer
from skinny.model.frontends.layers import layer_values, overflowing_layer, wrapping_layer
from skinny.model.frontends.ranges import Range, box_ranges
from skinny.model.frontends.scale import Room, scale_model
from skinny.model.frontends.settable import compile_settable
from skinny.model.rings import FixedPoint

COUNT = 8
NAMES = tuple(f"x{n}" for n in range(COUNT))
BOX = dict.fromkeys(NAMES, Range(-1, 1))


def form(coefficients, values):
    return total([product([constant(c), v]) for c, v in zip(coefficients, values, strict=True)])


def network():
    rng = np.random.default_rng(0)
    values, layers = tuple(variables(" ".join(NAMES))), []
    for name, count in (("first", COUNT), ("second", COUNT), ("last", 2)):
        values = tuple(form(row, values) for row in rng.uniform(0.25, 0.3, (count, COUNT)))
        if name != "last":
            values = tuple(apply("relu", value) for value in values)
        layers.append(Layer(name, values))
    return Imported({f"s{n}": value for n, value in enumerate(values)}, NAMES, "regressor", "net", tuple(layers))


def compiled(imported, ranges):
    scaled = scale_model(imported, ranges, 1.0, Room(2, 2))
    return compile_settable(scaled.outputs, NAMES, 16, frozenset())[0].program, scaled


def overflow(program, scaled, ring):
    sides = [(Fraction(-1, 1 << exponent), Fraction(1, 1 << exponent)) for exponent in scaled.input_exponents.values()]
    return bound(program, ring, sides).overflow


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_the_layer_that_overflows_is_named(layer):
    """One layer is scaled as if its values were an eighth of what they are."""
    imported = network()
    ranges = box_ranges(imported.outputs.values(), BOX)
    ring = FixedPoint(24, 21)
    assert overflow(*compiled(imported, ranges), ring) is None
    for value in imported.layers[layer].values:
        head = value.args[0] if value.kind == "relu" else value
        ranges[id(head)] = Range(*(end / 8 for end in ranges[id(head)]))
    program, scaled = compiled(imported, ranges)
    found = overflow(program, scaled, ring)
    assert found is not None
    assert overflowing_layer(program, scaled, found) == ("first", "second", "last")[layer]


def test_the_layer_that_wraps_on_rows_is_named():
    imported = network()
    program, scaled = compiled(imported, box_ranges(imported.outputs.values(), BOX))
    ring = FixedPoint(16, 13)
    inside = np.full((2, COUNT), 0.5) * [[1], [-1]]
    assert wrapping_layer(program, ring, scaled, np.ldexp(inside, 13).astype(int)) == ""
    assert wrapping_layer(program, ring, scaled, np.ldexp(inside * 5, 13).astype(int)) == "first"


def test_values_before_a_relu_count():
    x, y = variables("x y")
    layer = Layer("one", tuple(apply("relu", form(row, (x, y))) for row in ((1.5, 1.25), (-1.5, 0.75))))
    columns = {"x": np.array([1.0]), "y": np.array([0.0])}
    assert layer_values(layer, columns)[:, 0].tolist() == [1.5, 0, 1.5, -1.5]
