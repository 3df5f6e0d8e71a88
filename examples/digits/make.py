"""Train a quadratic network of 64 pixels, 10 squares and 10 classes on scikit-learn's digits; write it as a formula.

Weights are rounded to multiples of 2^-8, the words of ``fixed:16.8``. Of the digits, in
random order, 360 are test rows, which training does not see; another 287 decide which weights are kept.
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

FOLDER = Path(__file__).parent
STEP = 2.0**-8


def scores(parameters, x):
    a, bias, v, last = parameters
    h = (x @ a + bias) ** 2
    return h @ v + last


def gradients(parameters, x, labels):
    a, bias, v, _ = parameters
    f = x @ a + bias
    y = scores(parameters, x)
    p = np.exp(y - y.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    p[np.arange(len(x)), labels] -= 1
    p /= len(x)
    back = (p @ v.T) * 2 * f
    return x.T @ back, back.sum(axis=0), (f**2).T @ p, p.sum(axis=0)


def rounded(parameters):
    return [np.round(part / STEP) * STEP for part in parameters]


def accuracy(parameters, x, labels):
    return float(np.mean(scores(rounded(parameters), x).argmax(axis=1) == labels))


def train(x, labels, held, held_labels):
    """Adam with decaying weights; the weights that are best on the held rows, rounded, are kept."""
    rng = np.random.default_rng(1)
    parameters = [rng.normal(0, 0.3, (64, 10)), np.zeros(10), rng.normal(0, 0.3, (10, 10)), np.zeros(10)]
    first = [np.zeros_like(part) for part in parameters]
    second = [np.zeros_like(part) for part in parameters]
    best, kept = 0.0, parameters
    for step in range(1, 6001):
        rows = rng.integers(0, len(x), 128)
        noisy = x[rows] + rng.normal(0, 0.05, (128, 64))
        rate = 0.01 * min(1, (6001 - step) / 3000)
        for n, gradient in enumerate(gradients(parameters, noisy, labels[rows])):
            gradient = gradient + 3e-4 * parameters[n]
            first[n] = 0.9 * first[n] + 0.1 * gradient
            second[n] = 0.999 * second[n] + 0.001 * gradient**2
            parameters[n] = parameters[n] - rate * first[n] / (1 - 0.9**step) / (
                np.sqrt(second[n] / (1 - 0.999**step)) + 1e-8
            )
        if step % 50 == 0 and (found := accuracy(parameters, held, held_labels)) >= best:
            best, kept = found, parameters
    return rounded(kept), best


def number(value):
    return f"{round(value / STEP)}/256"


def form(weights, names, bias):
    terms = [f"{number(w)}*{name}" for w, name in zip(weights, names, strict=True) if w]
    return " + ".join([*terms, number(bias)]).replace("+ -", "- ")


def main():
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.data))
    x, labels = digits.data[order] / 16, digits.target[order]
    parts = slice(0, 1150), slice(1150, 1437), slice(1437, None)
    (fit, fit_labels), (held, held_labels), (test, test_labels) = [(x[part], labels[part]) for part in parts]
    parameters, best = train(fit, fit_labels, held, held_labels)
    a, bias, v, last = parameters
    print(f"{best:.1%} of the held digits, {accuracy(parameters, test, test_labels):.1%} of the test digits")
    pixels = [f"p{u}" for u in range(64)]
    hidden = [f"h{j}" for j in range(10)]
    lines = ["# 64 pixels from 0 to 1, ten squares of forms, ten scores."]
    lines += [f"let h{j} = ({form(a[:, j], pixels, bias[j])})^2" for j in range(10)]
    lines += [f"digit{c} = {form(v[:, c], hidden, last[c])}" for c in range(10)]
    (FOLDER / "formula.txt").write_text("\n".join(lines) + "\n")
    rows = [",".join(pixels), *(",".join(f"{value:g}" for value in row) for row in test)]
    (FOLDER / "inputs.csv").write_text("\n".join(rows) + "\n")
    (FOLDER / "labels.csv").write_text("digit\n" + "\n".join(map(str, test_labels)) + "\n")


if __name__ == "__main__":
    main()
