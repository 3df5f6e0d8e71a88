"""Estimators without a front end: each is refused by name, in one line, with what does instead."""

import pytest
from skinny.model.errors import InputError
from skinny.model.frontends.find import import_model
from skinny.model.frontends.sklearn.refusals import REASONS
from sklearn.cluster import KMeans
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import PoissonRegressor
from sklearn.naive_bayes import ComplementNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, NuSVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

TREES = "a program has no branches; LogisticRegression or MLPClassifier"
KERNELS = "compares every input with every support vector.*LinearSVC or LinearSVR compile"
NEIGHBORS = "keeps all rows that it was fitted on and compares with each; QuadraticDiscriminantAnalysis"


@pytest.mark.parametrize(
    ("estimator", "why"),
    [
        (DecisionTreeClassifier(), TREES),
        (DecisionTreeRegressor(), TREES),
        (RandomForestClassifier(2), TREES),
        (ExtraTreesRegressor(2), TREES),
        (GradientBoostingClassifier(n_estimators=1), TREES),
        (HistGradientBoostingRegressor(max_iter=1), TREES),
        (AdaBoostClassifier(n_estimators=1), TREES),
        (BaggingRegressor(n_estimators=1), TREES),
        (SVC(), KERNELS),
        (NuSVR(), KERNELS),
        (KernelRidge(), KERNELS),
        (GaussianProcessRegressor(), KERNELS),
        (KNeighborsClassifier(1), NEIGHBORS),
        (PoissonRegressor(), "exponential of a linear form; fit Ridge to the logarithm of the target"),
        (ComplementNB(), "this estimator has no front end; linear and logistic models"),
        (KMeans(2, n_init=1), "this estimator has no front end"),
    ],
)
def test_the_reason_and_what_does_instead(estimator, why):
    estimator.fit([[float(n), 1.0] for n in range(8)], [0, 1] * 4)
    with pytest.raises(InputError, match=f"^{type(estimator).__name__}: .*{why}") as refused:
        import_model(estimator)
    assert "\n" not in str(refused.value)


def test_every_reason_is_a_sentence_and_a_suggestion():
    for reason, instead in REASONS.values():
        assert len(reason) > 20
        assert len(instead) > 20
