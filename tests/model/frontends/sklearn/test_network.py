"""Networks, against the forward pass in numpy."""

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.formula.formula import variables
from skinny.model.frontends.affine import Features
from skinny.model.frontends.find import import_model
from skinny.model.frontends.ranges import row_values
from skinny.model.frontends.sklearn.network import network
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

RNG = np.random.default_rng(7)
ROWS = RNG.normal(size=(60, 4)) * [1, 5, 0.2, 2]
LABELS = np.arange(60) % 3
FUNCTIONS = {
    "identity": lambda v: v,
    "relu": lambda v: np.maximum(v, 0),
    "tanh": np.tanh,
    "logistic": lambda v: 1 / (1 + np.exp(-v)),
}


@pytest.mark.parametrize("activation", FUNCTIONS)
@pytest.mark.parametrize("layers", [(3,), (5, 2)])
@pytest.mark.filterwarnings("ignore:.*converge")
def test_values_are_those_of_the_forward_pass(activation, layers):
    net = MLPClassifier(layers, activation=activation, max_iter=3, random_state=0)
    model = make_pipeline(StandardScaler(), net).fit(ROWS, LABELS)
    imported = import_model(model)
    columns = dict(zip(imported.inputs, ROWS.T, strict=True))
    assert len(imported.layers) == 1 + (0 if activation == "identity" else len(layers))
    values = model[0].transform(ROWS)
    for number, (weights, bias) in enumerate(zip(net.coefs_, net.intercepts_, strict=True)):
        values = values @ weights + bias
        if number < len(layers):
            values = FUNCTIONS[activation](values)
            if activation != "identity":
                found = row_values(columns, list(imported.layers[number].values))
                assert np.stack(found, axis=1) == pytest.approx(values)
    found = row_values(columns, list(imported.outputs.values()))
    assert np.stack(found, axis=1) == pytest.approx(values)


@pytest.mark.filterwarnings("ignore:.*converge")
def test_other_activations_are_refused():
    model = MLPClassifier((2,), max_iter=1).fit(ROWS, LABELS)
    model.activation = "softplus"
    with pytest.raises(
        InputError, match="MLPClassifier: the activation 'softplus' has no front end; take identity, relu"
    ):
        network(Features.of(variables("a b c d")), model)
    model.activation, model.out_activation_ = "relu", "exp"
    with pytest.raises(InputError, match="the output activation 'exp' has no front end"):
        network(Features.of(variables("a b c d")), model)
