"""Steps of pipelines, against the steps themselves."""

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.formula.formula import postorder, variables
from skinny.model.frontends.affine import Features
from skinny.model.frontends.ranges import row_values
from skinny.model.frontends.sklearn.transforms import transformed
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

RNG = np.random.default_rng(5)
ROWS = RNG.normal(size=(40, 4)) * [1, 10, 0.1, 3] + [0, 5, 1, -20]
LABELS = (ROWS[:, 0] > 0).astype(int)
VALUES = variables("a b c d")
COLUMNS = dict(zip("abcd", ROWS.T, strict=True))


@pytest.mark.parametrize(
    "step",
    [
        StandardScaler(),
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        MinMaxScaler((-1, 2)),
        MaxAbsScaler(),
        RobustScaler(),
        RobustScaler(with_centering=False),
        RobustScaler(with_scaling=False),
        PCA(2),
        PCA(3, whiten=True),
        TruncatedSVD(2),
        SelectKBest(k=2),
        VarianceThreshold(0.5),
        PolynomialFeatures(3),
        PolynomialFeatures(2, include_bias=False, interaction_only=True),
        FunctionTransformer(),
    ],
    ids=repr,
)
def test_a_step_gives_what_it_gives(step):
    expected = step.fit(ROWS, LABELS).transform(ROWS)
    features = transformed(Features.of(VALUES), step)
    assert np.stack(row_values(COLUMNS, list(features.formulas)), axis=1) == pytest.approx(expected)


def test_polynomial_features_behind_a_scaler_share_what_they_have_in_common():
    scaler = StandardScaler().fit(ROWS)
    step = PolynomialFeatures(2).fit(scaler.transform(ROWS))
    features = transformed(transformed(Features.of(VALUES), scaler), step)
    assert np.stack(row_values(COLUMNS, list(features.formulas)), axis=1) == pytest.approx(
        step.transform(scaler.transform(ROWS))
    )
    assert sum(node.kind == "sum" for node in postorder(*features.formulas)) == 4


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (
            QuantileTransformer(n_quantiles=5),
            "QuantileTransformer: this step has no front end; the steps that have are",
        ),
        (MinMaxScaler(clip=True), "MinMaxScaler: clip=True cuts its values off"),
        (FunctionTransformer(np.log1p), "FunctionTransformer: its function is Python, not a formula"),
    ],
)
def test_other_steps_are_refused(step, message):
    step.fit(np.abs(ROWS))
    with pytest.raises(InputError, match=message):
        transformed(Features.of(VALUES), step)


def test_too_many_features_are_refused():
    step = PolynomialFeatures(12).fit(np.ones((2, 9)))
    with pytest.raises(InputError, match=r"PolynomialFeatures: it makes 293,930 features; take a lower degree"):
        transformed(Features.of(variables(" ".join(f"v{n}" for n in range(9)))), step)
