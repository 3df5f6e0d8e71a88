"""Scores, against those of the estimators themselves."""

import numpy as np
import pytest
import skinny
from skinny.model.errors import InputError
from skinny.model.frontends.find import import_model
from skinny.model.frontends.ranges import row_values
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

RNG = np.random.default_rng(6)
LABELS = np.arange(90) % 3
ROWS = RNG.normal(size=(90, 5)) @ RNG.normal(size=(5, 5)) + RNG.normal(size=(3, 5))[LABELS] * 2


def scores(model, rows):
    imported = import_model(model)
    columns = dict(zip(imported.inputs, rows.T, strict=True))
    return np.stack(row_values(columns, list(imported.outputs.values())), axis=1)


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        RidgeClassifier(),
        LinearDiscriminantAnalysis(),
        make_pipeline(StandardScaler(), PCA(2), LogisticRegression()),
    ],
)
def test_linear_scores_are_the_decision_function(model):
    assert scores(model.fit(ROWS, LABELS), ROWS) == pytest.approx(model.decision_function(ROWS))
    two = LABELS < 2
    model.fit(ROWS[two], LABELS[two])
    assert scores(model, ROWS)[:, 0] == pytest.approx(model.decision_function(ROWS))


@pytest.mark.parametrize("steps", [(), (StandardScaler(),), (StandardScaler(), PCA(3))])
@pytest.mark.parametrize("last", [GaussianNB(), QuadraticDiscriminantAnalysis(reg_param=0.1)])
def test_quadratic_scores_are_logarithms_of_probabilities(steps, last):
    """Up to what all classes share: so differences of scores are compared."""
    model = make_pipeline(*steps, last).fit(ROWS, LABELS)
    found, wanted = scores(model, ROWS), model.predict_log_proba(ROWS)
    assert found - found[:, :1] == pytest.approx(wanted - wanted[:, :1], rel=1e-6, abs=1e-6)
    two = LABELS < 2
    model.fit(ROWS[two], LABELS[two])
    wanted = model.predict_log_proba(ROWS)
    assert scores(model, ROWS)[:, 0] == pytest.approx(wanted[:, 1] - wanted[:, 0], rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("steps", [(), (StandardScaler(),)])
@pytest.mark.parametrize("last", [GaussianNB(var_smoothing=1e-2), QuadraticDiscriminantAnalysis(reg_param=0.1)])
def test_columns_that_all_classes_share_do_not_matter(steps, last):
    rows = np.column_stack([ROWS, np.full(90, 7.0)])
    model = make_pipeline(*steps, last).fit(rows, LABELS)
    assert import_model(model).idle == ("x5",)
    found, wanted = scores(model, rows), model.predict_log_proba(rows)
    assert found - found[:, :1] == pytest.approx(wanted - wanted[:, :1], rel=1e-6, abs=1e-6)


def test_a_scaler_in_front_of_squares_stays_there():
    """In squares of numbers that are far from zero most digits would cancel, and no format would do."""
    rows = ROWS + 100
    model = make_pipeline(StandardScaler(), QuadraticDiscriminantAnalysis()).fit(rows, LABELS)
    assert [layer.name for layer in import_model(model).layers] == ["StandardScaler", "QuadraticDiscriminantAnalysis"]
    program = skinny.compile(model, ring="fixed", calibration=rows)
    assert (program.predict(rows) == model.predict(rows)).all()


def test_coefficients_out_of_proportion_are_named():
    rows = ROWS.copy()
    rows[LABELS == 1, 3] = 2.0
    with pytest.raises(InputError) as refused:
        import_model(GaussianNB().fit(rows, LABELS))
    assert str(refused.value).startswith("GaussianNB: the coefficients of x3 in class 1 are out of proportion, up to ")
    assert str(refused.value).endswith("fit it with a larger var_smoothing than 1e-09, such as 1e-2")
    import_model(GaussianNB(var_smoothing=1e-2).fit(rows, LABELS))
