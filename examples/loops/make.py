"""Train a network of 64 pixels, 16 hidden neurons with ReLU and 10 classes with scikit-learn, and compile it."""

from pathlib import Path

import numpy as np
import skinny
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

FOLDER = Path(__file__).parent

x, labels = load_digits(return_X_y=True)
train, test, train_labels, test_labels = train_test_split(
    x / 16, labels, test_size=0.25, stratify=labels, random_state=0
)
model = MLPClassifier((16,), alpha=1e-3, tol=1e-3, max_iter=600, random_state=0).fit(train, train_labels)
program = skinny.compile(model)
program.save(FOLDER / "loops.skn")
header = ",".join(f"x{n}" for n in range(64))
np.savetxt(FOLDER / "inputs.csv", test[:100], fmt="%.10g", delimiter=",", header=header, comments="")
(FOLDER / "labels.csv").write_text("label\n" + "".join(f"{label}\n" for label in model.predict(test[:100])))
print(f"scikit-learn has {model.score(test, test_labels):.1%} of {len(test)} test digits right")
