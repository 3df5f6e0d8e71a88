"""Estimators that cannot become programs: why, and what does instead."""

from __future__ import annotations

__all__ = ["REASONS"]

_TREES = (
    "a tree asks one question after the other and jumps by the answers, but a program has no branches",
    "LogisticRegression or MLPClassifier, on PolynomialFeatures or alone, compile (for numbers Ridge or MLPRegressor)",
)
_KERNELS = (
    "a kernel machine compares every input with every support vector, thousands of cycles for the same answer",
    "LinearSVC or LinearSVR compile, on PolynomialFeatures for curved borders",
)
_NEIGHBORS = (
    "it keeps all rows that it was fitted on and compares with each",
    "QuadraticDiscriminantAnalysis or MLPClassifier compile (for numbers MLPRegressor)",
)
_LINKS = ("its prediction is an exponential of a linear form", "fit Ridge to the logarithm of the target")

#: By the class of scikit-learn: the reason, and what does instead.
REASONS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        (
            "AdaBoostClassifier",
            "AdaBoostRegressor",
            "BaggingClassifier",
            "BaggingRegressor",
            "BaseDecisionTree",
            "BaseForest",
            "BaseGradientBoosting",
            "BaseHistGradientBoosting",
            "IsolationForest",
        ),
        _TREES,
    ),
    **dict.fromkeys(
        (
            "BaseLibSVM",
            "GaussianProcessClassifier",
            "GaussianProcessRegressor",
            "KernelRidge",
        ),
        _KERNELS,
    ),
    **dict.fromkeys(("NeighborsBase",), _NEIGHBORS),
    **dict.fromkeys(("GammaRegressor", "PoissonRegressor", "TweedieRegressor"), _LINKS),
}
