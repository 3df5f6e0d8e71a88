"""Constants of a model that was trained again, in the places of the first one."""

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.formula.formula import constant, postorder, product, total, variables
from skinny.model.formula.function import apply
from skinny.model.frontends.imported import Imported, Layer
from skinny.model.frontends.ranges import row_ranges, row_values
from skinny.model.frontends.retrain import retrained, with_values
from skinny.model.frontends.scale import Room, scale_model

NAMES = ("x", "y", "z")
COLUMNS = dict(zip(NAMES, np.random.default_rng(0).normal(size=(3, 20)), strict=True))


def form(row, values, bias=0.0):
    """As a front end writes it: no terms for zeros, and no sum around a single term."""
    terms = [product([constant(c), v]) for c, v in zip(row, values, strict=True) if c]
    terms += [constant(bias)] if bias or not terms else []
    return terms[0] if len(terms) == 1 else total(terms)


def model(first, last, classes=(0, 1)):
    hidden = tuple(apply("relu", form(row[:3], variables("x y z"), row[3])) for row in first)
    outputs = {f"s{n}": form(row[:2], hidden, row[2]) for n, row in enumerate(last)}
    layers = (Layer("hidden layer 1", hidden), Layer("net", tuple(outputs.values())))
    return Imported(outputs, NAMES, "classifier", "net", layers, "class", classes)


FIRST = model([(2, 3, 0, 5), (1.5, -2, 4, 0.25)], [(2, 3, 4), (5, 6, 7)])


def check(again):
    """The first model with the constants of ``again`` computes what that one computes."""
    made, _ = with_values(FIRST, None, retrained(FIRST, again))
    for name, formula in again.outputs.items():
        found = row_values(COLUMNS, [made.outputs[name]])[0]
        assert found == pytest.approx(row_values(COLUMNS, [formula])[0])
    kinds = [[node.kind for node in postorder(*m.outputs.values())] for m in (made, FIRST)]
    assert kinds[0] == kinds[1]


def test_other_weights_take_their_places():
    check(model([(-1.5, 8, 0, 2), (2, 2, 2, 2)], [(1.5, -3, 1.25), (7, 8, 9)]))


def test_weights_that_became_zero_are_zero():
    check(model([(0, 8, 0, 2), (2, 0, 0, 0)], [(1.5, -3, 0), (0, 8, 9)]))
    check(model([(0, 0, 0, 0), (2, 2, 0, 0)], [(1.5, -3, 0), (0, 0, 9)]))


@pytest.mark.parametrize(
    ("again", "message"),
    [
        (
            model([(2, 3, 9, 5), (1, 2, 4, 2)], [(2, 3, 4), (5, 6, 7)]),
            r"hidden layer 1, value 0 of 2: its weight of z was zero when the program was compiled, .* keep_zeros=True",
        ),
        (
            Imported(FIRST.outputs, NAMES, "classifier", "net", FIRST.layers[1:], "class", (0, 1)),
            r"the model has layers of \[2\] values and had \[2, 2\]",
        ),
        (model([(2, 3, 0, 5), (1, 2, 4, 2)], [(2, 3, 4), (5, 6, 7)], (0, 1, 2)), "the model has 3 classes and had 2"),
        (model([(2, 3, 0, 5), (1, 2, 4, 2)], [(2, 3, 4)]), "net with 1 outputs has not the inputs and outputs of net"),
    ],
)
def test_other_shapes_are_refused(again, message):
    with pytest.raises(InputError, match=message):
        retrained(FIRST, again)


def test_scales_go_with_the_places():
    again = model([(-1.5, 8, 0, 2), (2, 2, 2, 2)], [(1.5, -3, 1.25), (7, 8, 9)])
    scaled = scale_model(FIRST, row_ranges(FIRST.outputs.values(), COLUMNS), 1.25, Room(2, 1))
    made, rescaled = with_values(FIRST, scaled, retrained(FIRST, again))
    inside = {name: np.ldexp(column, -rescaled.input_exponents[name]) for name, column in COLUMNS.items()}
    for name, exponent in rescaled.output_exponents.items():
        found = np.ldexp(row_values(inside, [rescaled.outputs[name]])[0], exponent)
        assert found == pytest.approx(row_values(COLUMNS, [made.outputs[name]])[0])
    assert rescaled.layer_exponents == scaled.layer_exponents
