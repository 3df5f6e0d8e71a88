"""Writes ``formula.txt`` and ``inputs.csv``: the quadratic discriminant analysis that scikit-learn fits to the irises.

scikit-learn gives a flower to the class with the greatest ``log(prior) - log(det(C))/2 - |z|^2/2``, where ``C`` is the
covariance of the class and ``z`` the distance to its mean in standard deviations along the axes of ``C``.
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

INPUTS = ("sl", "sw", "pl", "pw")


def term(weight: float, factor: str) -> str:
    return f" {'-' if weight < 0 else '+'} {abs(weight):.4f}{factor}"


iris = load_iris()
fitted = QuadraticDiscriminantAnalysis().fit(iris.data, iris.target)
forms, outputs = [], []
for number, name in enumerate(iris.target_names):
    axes = (fitted.rotations_[number] / np.sqrt(fitted.scalings_[number])).T
    squares = ""
    for axis, weights in enumerate(axes):
        text = "".join(term(weight, f"*{x}") for weight, x in zip(weights, INPUTS, strict=True))
        forms.append(f"let {name}{axis} ={text}{term(-weights @ fitted.means_[number], '')}")
        squares += f" - {name}{axis}^2/2"
    constant = np.log(fitted.priors_[number]) - np.log(fitted.scalings_[number]).sum() / 2
    outputs.append(f"{name} = {constant:.4f}{squares}")

folder = Path(__file__).parent
text = "\n".join(["# Made by make.py: a score for each class of iris, the greatest wins.", *forms, *outputs])
(folder / "formula.txt").write_text(text.replace("= + ", "= ").replace("= - ", "= -") + "\n", encoding="utf-8")
rows = [",".join(INPUTS), *(",".join(f"{value:g}" for value in row) for row in iris.data)]
(folder / "inputs.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
