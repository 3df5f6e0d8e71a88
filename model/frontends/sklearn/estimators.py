"""Estimators of scikit-learn, alone or at the end of a pipeline, become formulas."""

from __future__ import annotations

import re
from typing import Any, NoReturn

from skinny.model.formula.formula import Formula, postorder

from ..affine import Features
from ..imported import Imported, Layer
from .attributes import class_name, expect_fitted, known_class, refuse
from .learned import learned
from .network import network
from .refusals import REASONS
from .scores import linear, naive_bayes, quadratic_discriminant
from .transforms import TRANSFORMS, transformed

__all__ = ["import_estimator"]

#: Estimators with ``coef_`` and ``intercept_``, and what makes probabilities of the scores of classifiers.
LINEAR_CLASSIFIERS = {
    "LinearDiscriminantAnalysis": "softmax",
    "LinearSVC": "",
    "LogisticRegression": "softmax",
    "PassiveAggressiveClassifier": "",
    "Perceptron": "",
    "RidgeClassifier": "",
    "RidgeClassifierCV": "",
    "SGDClassifier": "sigmoid",
}
LINEAR_REGRESSORS = (
    "ARDRegression",
    "BayesianRidge",
    "ElasticNet",
    "ElasticNetCV",
    "HuberRegressor",
    "Lars",
    "LarsCV",
    "Lasso",
    "LassoCV",
    "LassoLars",
    "LassoLarsCV",
    "LassoLarsIC",
    "LinearRegression",
    "LinearSVR",
    "MultiTaskElasticNet",
    "MultiTaskElasticNetCV",
    "MultiTaskLasso",
    "MultiTaskLassoCV",
    "OrthogonalMatchingPursuit",
    "OrthogonalMatchingPursuitCV",
    "PassiveAggressiveRegressor",
    "QuantileRegressor",
    "Ridge",
    "RidgeCV",
    "SGDRegressor",
    "TheilSenRegressor",
)
#: Other classifiers, and what makes probabilities of their scores.
CLASSIFIERS = {
    **LINEAR_CLASSIFIERS,
    "GaussianNB": "softmax",
    "MLPClassifier": "softmax",
    "QuadraticDiscriminantAnalysis": "softmax",
    "SkinnyClassifier": "softmax",
}
KNOWN = dict.fromkeys((*CLASSIFIERS, *LINEAR_REGRESSORS, "MLPRegressor", "SkinnyRegressor"))


def import_estimator(estimator: Any, keep_zeros: bool = False) -> Imported:
    """A fitted estimator or pipeline as formulas of its scores or predictions; the result of a classifier is the number
    of its class. With ``keep_zeros`` weights of linear models and networks that are zero have terms too."""
    steps = _steps(estimator)
    last = steps[-1]
    name = known_class(last, KNOWN)
    if name is None:
        _refuse_unknown(last)
    names = _input_names(estimator, steps)
    features = Features.of([Formula("variable", value=found) for found in names])
    layers: list[Layer] = []
    for step in steps[:-1]:
        features = transformed(features, step)
        layers.append(Layer(class_name(step), features.formulas))
    outputs, hidden = _outputs(features, last, name, names, keep_zeros)
    classifier = name in CLASSIFIERS
    classes = tuple(last.classes_.tolist()) if classifier else ()
    if classifier and len(outputs) != (len(classes) if len(classes) > 2 else 1):
        refuse(last, f"it gives {len(outputs)} outputs for {len(classes)} classes", "fit it with one label a row")
    kind = _probabilities(last, CLASSIFIERS.get(name, ""), len(outputs))
    return Imported(
        outputs=dict(zip(_output_names(classes, len(outputs)), outputs, strict=True)),
        inputs=names,
        kind="classifier" if classifier else "regressor",
        title=" → ".join(class_name(step) for step in steps) + f", {len(names)} inputs",
        layers=(*_kept(layers, outputs), *hidden, Layer(class_name(last), outputs)),
        argmax="class" if classifier else "",
        classes=classes,
        probabilities=kind,
    )


def _probabilities(estimator: Any, kind: str, outputs: int) -> str:
    """What makes probabilities of the scores of a classifier; empty where the library gives none, or others than
    ``kind`` does."""
    if kind == "sigmoid":  # of one score; of several the library divides sigmoids by their sum
        return kind if outputs == 1 and getattr(estimator, "loss", "") == "log_loss" else ""
    several = getattr(estimator, "multi_class", "") == "ovr" and outputs > 1
    return "" if several else "sigmoid" if kind and outputs == 1 else kind


def _kept(layers: list[Layer], outputs: tuple[Formula, ...]) -> list[Layer]:
    """The values of layers that were not folded into what follows."""
    there = {id(node) for node in postorder(*outputs) if node.args}
    kept = [Layer(name, tuple(value for value in values if id(value) in there)) for name, values in layers]
    return [layer for layer in kept if layer.values]


def _outputs(
    features: Features, last: Any, name: str, names: tuple[str, ...], keep_zeros: bool
) -> tuple[tuple[Formula, ...], list[Layer]]:
    match name:
        case "GaussianNB":
            return naive_bayes(features, last, names), []
        case "QuadraticDiscriminantAnalysis":
            return quadratic_discriminant(features, last), []
        case "MLPClassifier" | "MLPRegressor":
            return network(features, last, keep_zeros)
        case "SkinnyClassifier" | "SkinnyRegressor":
            return learned(features, last)
        case _:
            return linear(features, last, keep_zeros), []


def _steps(estimator: Any) -> list[Any]:
    """The steps of a pipeline, those of pipelines inside too, and of the best that a search found."""
    if known_class(estimator, {"BaseSearchCV": None}):
        expect_fitted(estimator, "best_estimator_")
        return _steps(estimator.best_estimator_)
    if known_class(estimator, {"Pipeline": None}) is None:
        return [estimator]
    out = []
    for _, step in estimator.steps:
        if step is not None and step != "passthrough":
            out += _steps(step)
    if not out:
        refuse(estimator, "it has no step", "give it an estimator")
    return out


def _refuse_unknown(estimator: Any) -> NoReturn:
    reason = known_class(estimator, REASONS)
    if reason is not None:
        refuse(estimator, *REASONS[reason])
    if known_class(estimator, TRANSFORMS) is not None:
        refuse(estimator, "it transforms and predicts nothing", "put an estimator behind it")
    refuse(
        estimator,
        "this estimator has no front end",
        "linear and logistic models, discriminants, GaussianNB, MLPs and Skinny's own have; write others as formulas",
    )


def _input_names(estimator: Any, steps: list[Any]) -> tuple[str, ...]:
    """The names of the columns that it was fitted on, made of letters, digits and underscores, or ``x0``, ``x1``, …"""
    expect_fitted(steps[0], "n_features_in_")
    count = int(steps[0].n_features_in_)
    given = getattr(steps[0], "feature_names_in_", None)
    if given is not None:
        names = tuple(re.sub(r"\W+", "_", str(name), flags=re.ASCII).strip("_") for name in given)
        if len(set(names)) == count and all(re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) for name in names):
            return names
    return tuple(f"x{number}" for number in range(count))


def _output_names(classes: tuple[Any, ...], count: int) -> tuple[str, ...]:
    if count == 1:
        return ("score",) if classes else ("y",)
    return tuple(f"score{number}" if classes else f"y{number}" for number in range(count))
