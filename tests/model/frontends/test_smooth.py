"""Activations as polynomials: within the error everywhere, however far the arguments go."""

from fractions import Fraction

import numpy as np
import pytest
from skinny.model.errors import CheckError
from skinny.model.formula.formula import constant, product, total, variables
from skinny.model.formula.function import apply
from skinny.model.frontends.imported import Imported, Layer
from skinny.model.frontends.ranges import Range, box_ranges, row_values
from skinny.model.frontends.smooth import find_activations, has_functions, smoothed

(x,) = variables("x")


def model(name):
    inner = total([product([constant(3), x]), constant(0.5)])
    layer = Layer("hidden layer 1", (apply(name, inner),))
    return Imported({"y": product([constant(2), layer.values[0]])}, ("x",), "regressor", "one neuron", (layer,))


def activations(name, size, error=Fraction(1, 100)):
    imported = model(name)
    return imported, find_activations(imported, lambda n: box_ranges(n, {"x": Range(-size, size)}), error, 1.0)


@pytest.mark.parametrize("name", ["tanh", "sigmoid"])
@pytest.mark.parametrize("size", [0.3, 20.0])
def test_errors_hold_on_the_whole_range(name, size):
    imported, found = activations(name, size)
    made = smoothed(imported, found)
    assert has_functions(imported)
    assert not has_functions(made)
    rows = {"x": np.linspace(-size, size, 4001)}
    errors = [row_values(rows, [m.layers[0].values[0]])[0] for m in (imported, made)]
    largest = np.abs(errors[0] - errors[1]).max()
    (activation,) = found.values()
    assert largest <= activation.error <= Fraction(1, 100)
    assert activation.cut == (size > 1)
    assert ("cut off beyond" in made.notes[0]) == activation.cut
    assert f"{name} became a polynomial of degree {len(activation.coefficients) - 1}" in made.notes[0]


def test_layers_stay_nodes_of_the_outputs():
    imported, found = activations("tanh", 1.0)
    made = smoothed(imported, found)
    assert made.outputs["y"].args[1] is made.layers[0].values[0]


@pytest.mark.parametrize("digits", [12, 20])  # of the smaller one nothing is left beside one in floats
def test_what_is_out_of_reach_names_its_layer(digits):
    with pytest.raises(CheckError, match=r"^hidden layer 1: tanh\(v\) is out of reach"):
        activations("tanh", 100.0, Fraction(1, 10**digits))
