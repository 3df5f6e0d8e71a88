"""Rivals of learned programs: models of scikit-learn, with the cycles of those that are programs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["linear_cycles", "rivals"]

Rows = NDArray[Any]
#: Strengths of L1 logistic regression that are tried by cross-validation.
STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


def linear_cycles(weights: Rows, argmax: bool) -> int:
    """The cycles of a program of affine forms: a weight each, and a constant, a word that applies it and one that sends
    it for each output. One constant is free with argmax; a single output is compared with zero."""
    outputs = len(weights)
    return int(np.count_nonzero(weights)) + 3 * outputs + ((1 if outputs == 1 else -1) if argmax else 0)


def rivals(
    rows: Rows, targets: Rows, new: Rows, truth: Rows, seed: int, numbers: bool
) -> dict[str, tuple[int | None, float]]:
    """Cycles (None: no program) and accuracy, or R², on ``new`` rows of each rival that is fitted to ``rows``; what can
    be chosen is chosen by cross-validation."""
    from sklearn.linear_model import LassoCV, LogisticRegression, LogisticRegressionCV, RidgeCV
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler
    from sklearn.svm import SVC, SVR
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    def scaled(last: Any) -> Any:
        return make_pipeline(MinMaxScaler(), last)

    out: dict[str, tuple[int | None, float]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some strengths do not converge
        if numbers:
            linear = {"ridge": scaled(RidgeCV(np.geomspace(1e-3, 100, 16))), "L1": scaled(LassoCV(cv=5))}
            tree: Any = DecisionTreeRegressor(random_state=seed)
            kernel: Any = scaled(SVR())
            grid = {"svr__C": [10, 100, 1000], "svr__gamma": [0.1, 0.3, 1, 3]}
        else:
            linear = {
                "logistic": scaled(LogisticRegressionCV(Cs=(0.1, 1, 10, 100), cv=3, max_iter=1000)),
                "L1": scaled(
                    GridSearchCV(
                        LogisticRegression(l1_ratio=1, solver="saga", max_iter=300, tol=1e-3),
                        {"C": STRENGTHS},
                        cv=3,
                    )
                ),
            }
            tree = DecisionTreeClassifier(random_state=seed)
            kernel = scaled(SVC())
            grid = {"svc__C": [1, 10, 100], "svc__gamma": [0.03, 0.1, 0.3, 1, 3]}
        for name, model in linear.items():
            model.fit(rows, targets)
            last = model[-1]
            weights = np.atleast_2d(getattr(last, "best_estimator_", last).coef_)
            out[name] = linear_cycles(weights, argmax=not numbers), float(model.score(new, truth))
        search = GridSearchCV(tree, {"max_depth": [2, 3, 4, 6, 8, 12, None]}, cv=3).fit(rows, targets)
        out["tree"] = None, float(search.score(new, truth))
        out["RBF SVM"] = None, float(GridSearchCV(kernel, grid, cv=3).fit(rows, targets).score(new, truth))
    return out
