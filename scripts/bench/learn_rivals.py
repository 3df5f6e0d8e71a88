"""Rivals of learned programs: networks with relu that are trained and pruned as they are, and models of scikit-learn,
with the cycles of those that are programs."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skinny.model.learn.fitting import MANY, Job, Setting, fit, settings_for

__all__ = ["linear_cycles", "networks", "rivals"]

Rows = NDArray[Any]
#: The budget of a program without a limit.
UNLIMITED = 1 << 40
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


def networks(
    rows: Rows,
    targets: Rows,
    new: Rows,
    truth: Rows,
    budgets: Sequence[int],
    seed: int,
    numbers: bool,
    *,
    units: Sequence[int],
    image: tuple[int, int] | None = None,
    effort: float = 1.0,
) -> list[dict[str, Any]]:
    """The ``budget`` (None: no limit), the ``cycles`` and the ``score`` on ``new`` rows of networks with relu, of each
    of the numbers of ``units``, that are trained, pruned and chosen in the same way as learned programs."""
    if numbers:
        task, wanted, count = "numbers", targets[:, None].astype(float), 1
    else:
        classes, wanted = np.unique(targets, return_inverse=True)
        task, count = ("sign", 1) if len(classes) == 2 else ("classes", len(classes))
    ours = settings_for(task, count, 16, len(rows))
    kinds = sorted({(each.taught, each.noise, each.discriminant) for each in ours if each.units})
    if not numbers and len(rows) >= MANY:
        kinds = [kinds[0], kinds[-1]]
    settings = tuple(Setting("relu", each, *kind) for kind in kinds for each in units)
    job = Job(rows, wanted, task, (UNLIMITED, *budgets), settings, 8, effort, image, seed)
    out = []
    for point in fit(job).curve:
        outputs = point.program.values(new)
        if numbers:
            score = 1 - ((truth - outputs[:, 0]) ** 2).sum() / ((truth - truth.mean()) ** 2).sum()
        else:
            decided = (outputs[:, 0] > 0).astype(int) if count == 1 else outputs.argmax(axis=1)
            score = (classes[decided] == truth).mean()
        budget = point.budget if point.budget < UNLIMITED else None
        out.append({"budget": budget, "cycles": point.cycles, "score": float(score)})
    return out
