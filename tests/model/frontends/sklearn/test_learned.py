"""Skinny's own estimators behind scalers: the scaler is folded into what was learned."""

from types import SimpleNamespace

import numpy as np
import pytest
import skinny
from skinny.model.errors import InputError
from skinny.model.formula.formula import variables
from skinny.model.frontends.affine import Features
from skinny.model.frontends.find import import_model
from skinny.model.frontends.ranges import row_values
from skinny.model.frontends.sklearn.learned import learned
from skinny.model.learn.network import FAMILIES
from skinny.model.learn.patterns import Patterns
from skinny.model.learn.search import Searched
from skinny.model.learn.sparse import Sparse
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

ROWS, NUMBERS = load_iris(return_X_y=True)
LABELS = load_iris().target_names[NUMBERS]
#: As little training as there is: the tests ask whether programs say what was learned, not whether it is good.
QUICK = {"budget": 40, "curve": (), "effort": 0.02, "restarts": 1}


def random_sparse(family, inputs=4, outputs=2):
    chance = np.random.default_rng(5)
    units = 0 if family == "linear" else 3
    factors = chance.normal(size=(units, FAMILIES[family], inputs + 1))
    reads = chance.normal(size=(outputs, units))
    return Sparse(family, factors, chance.normal(size=(outputs, inputs + 1)), reads)


def random_pattern(inputs=4):
    chance = np.random.default_rng(6)
    dst, src = np.array([[0, 2, 1, 0]]), np.array([[1, 0, 2, 1]])
    forms = chance.normal(size=(1, 4, inputs + 1))
    forms *= chance.random(forms.shape) < 0.8
    return Searched(20, 20, 0.0, Patterns(dst, src, forms, forms != 0), 2.5)


LEARNED = {family: random_sparse(family) for family in FAMILIES} | {"pattern": random_pattern()}


@pytest.mark.parametrize("name", LEARNED)
def test_formulas_are_what_was_learned_of_the_features(name):
    """Features that are each input times two and less one, and features that mix the inputs."""
    chance = np.random.default_rng(7)
    rows, bias = chance.normal(size=(20, 4)), chance.normal(size=4)
    for matrix in (2 * np.eye(4), chance.normal(size=(4, 4))):
        values = Features.of(variables("a b c d"))
        outputs, layers = learned(values.mapped(matrix, bias), SimpleNamespace(learned_=LEARNED[name]))
        assert len(layers) == (name not in ("linear", "pattern"))
        columns = dict(zip("abcd", rows.T, strict=True))
        found = np.stack(row_values(columns, outputs), axis=1)
        wanted = LEARNED[name].values(rows @ matrix.T + bias)
        assert found == pytest.approx(wanted)


def test_a_classifier_behind_a_scaler_becomes_one_program():
    model = make_pipeline(StandardScaler(), skinny.SkinnyClassifier(**QUICK)).fit(ROWS, LABELS)
    program = skinny.compile(model)
    own = model[-1]
    wanted = own.classes_[own.float_outputs(model[:-1].transform(ROWS)).argmax(axis=1)]
    assert (program.predict(ROWS) == wanted).all()
    assert program.predict_proba(ROWS) == pytest.approx(model.predict_proba(ROWS), abs=0.05)
    assert program.cycles <= own.program_.model.words + 3 + 2, "the scaler takes no cycle"
    assert program.imported.title == "StandardScaler → SkinnyClassifier, 4 inputs"
    fixed = skinny.compile(model, ring="fixed", calibration=ROWS)
    assert (fixed.predict(ROWS) == wanted).all()


def test_columns_that_are_constant_stay_out():
    rows = np.column_stack([ROWS[:, :2], np.ones(150), ROWS[:, 2:]])
    model = make_pipeline(MinMaxScaler(), skinny.SkinnyRegressor(**QUICK)).fit(rows, NUMBERS)
    program = skinny.compile(model)
    assert "x2" not in program.inputs
    wanted = model[-1].float_outputs(model[:-1].transform(rows))[:, 0]
    assert program.predict(rows) == pytest.approx(wanted)


def test_a_searched_pattern_behind_a_scaler():
    model = make_pipeline(PCA(2), skinny.SkinnyRegressor(patterns="search", **QUICK | {"budget": 30}))
    model.fit(ROWS, ROWS[:, 0])
    wanted = model[-1].float_outputs(model[:-1].transform(ROWS))[:, 0]
    assert skinny.compile(model).predict(ROWS) == pytest.approx(wanted)


def test_an_estimator_that_was_not_fitted():
    with pytest.raises(InputError, match=r"SkinnyClassifier: it is not fitted; call fit\(X, y\) before compiling it"):
        import_model(skinny.SkinnyClassifier())
