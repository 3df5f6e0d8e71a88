"""Train two networks of 8, 6, 6 and 3 neurons on scikit-learn's wines, one with squares and one with ReLU; write them.

Eight of the thirteen measurements of a wine, scaled to -1 to 1 by the training rows, are the inputs, and the class with
the largest score is its grower. Weights are rounded to multiples of 2^-8, the words of ``fixed:16.8``. Every fourth
wine is a test row, which training does not see.
"""

from itertools import pairwise
from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine

FOLDER = Path(__file__).parent
STEP = 2.0**-8
SIZES = (8, 6, 6, 3)
#: The activation and its derivative.
ACTIVATIONS = {
    "squares": (np.square, lambda f: 2 * f),
    "relu": (lambda f: np.maximum(f, 0), lambda f: (f > 0).astype(float)),
}


def train(x, labels, activation):
    """Adam on all rows at once; returns the rounded weights and biases of each layer."""
    value, slope = ACTIVATIONS[activation]
    rng = np.random.default_rng(2)
    layers = [[rng.normal(0, 0.8 / np.sqrt(m), (m, n)), np.full(n, 0.1)] for m, n in pairwise(SIZES)]
    moments = [[np.zeros_like(part), np.zeros_like(part)] for layer in layers for part in layer]
    for step in range(1, 1501):
        forms, values = [], [x]
        for weights, bias in layers:
            forms.append(values[-1] @ weights + bias)
            values.append(value(forms[-1]))
        p = np.exp(forms[-1] - forms[-1].max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        p[np.arange(len(x)), labels] -= 1
        back = p / len(x)
        for number in reversed(range(len(layers))):
            weights, bias = layers[number]
            parts = (values[number].T @ back + 2e-3 * weights, back.sum(axis=0))
            if number:
                back = (back @ weights.T) * slope(forms[number - 1])
            for n, (part, gradient) in enumerate(zip((weights, bias), parts, strict=True)):
                first, second = moments[2 * number + n]
                first[...] = 0.9 * first + 0.1 * gradient
                second[...] = 0.999 * second + 0.001 * gradient**2
                part -= 0.01 * first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return [[np.round(part / STEP) * STEP for part in layer] for layer in layers]


def classes(layers, x, activation):
    for weights, bias in layers[:-1]:
        x = ACTIVATIONS[activation][0](x @ weights + bias)
    return (x @ layers[-1][0] + layers[-1][1]).argmax(axis=1)


def form(weights, names, bias):
    terms = [f"{round(w / STEP)}/256*{name}" for w, name in zip(weights, names, strict=True) if w]
    return " + ".join([*terms, f"{round(bias / STEP)}/256"]).replace("+ -", "- ")


def formula(layers, activation):
    names = [f"x{u}" for u in range(8)]
    lines = [f"# A network of 8, 6, 6 and 3 neurons with {activation}."]
    for number, (weights, bias) in enumerate(layers[:-1]):
        made = [f"{'gh'[number]}{j}" for j in range(6)]
        for j, name in enumerate(made):
            inner = form(weights[:, j], names, bias[j])
            lines.append(f"let {name} = ({inner})^2" if activation == "squares" else f"let {name} = relu({inner})")
        names = made
    weights, bias = layers[-1]
    return "\n".join([*lines, *(f"y{c} = {form(weights[:, c], names, bias[c])}" for c in range(3))]) + "\n"


def main():
    wine = load_wine()
    order = np.random.default_rng(0).permutation(len(wine.data))
    x, labels = wine.data[order][:, [0, 1, 2, 3, 6, 9, 10, 12]], wine.target[order]
    test = np.arange(len(x)) % 4 == 3
    low, high = x[~test].min(axis=0), x[~test].max(axis=0)
    x = np.round(np.clip((x - low) / (high - low) * 2 - 1, -1, 1) / STEP) * STEP
    for activation in ACTIVATIONS:
        layers = train(x[~test], labels[~test], activation)
        right = np.mean(classes(layers, x[test], activation) == labels[test])
        print(f"{activation}: {right:.1%} of {test.sum()} test wines")
        (FOLDER / f"{activation}.txt").write_text(formula(layers, activation))
    rows = [",".join(f"x{u}" for u in range(8)), *(",".join(str(float(value)) for value in row) for row in x[test])]
    (FOLDER / "inputs.csv").write_text("\n".join(rows) + "\n")
    (FOLDER / "labels.csv").write_text("grower\n" + "\n".join(map(str, labels[test])) + "\n")


if __name__ == "__main__":
    main()
