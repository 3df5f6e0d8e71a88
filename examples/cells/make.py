"""Write an Elman cell with ReLU and a cell with polynomial gates as formulas, and a sequence of two inputs."""

from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
STEP = 2.0**-8
rng = np.random.default_rng(3)


def rounded(*shape, scale):
    return np.round(rng.normal(0, scale, shape) / STEP) * STEP


def affine(weights, names, bias):
    terms = [f"{w:.15g}*{name}" for w, name in zip(weights, names, strict=True)]
    return " + ".join([*terms, f"{bias:.15g}"] if bias else terms)


def written(name, title, lines):
    (FOLDER / f"{name}.txt").write_text("\n".join([title, *lines]).replace("+ -", "- ") + "\n")


hidden = [f"h{n}" for n in range(4)]
names = ["a", "b", *hidden]
lines = [f"state {h} = 0" for h in hidden]
lines += [f"next {h} = relu({affine(rounded(6, scale=0.35), names, rounded(scale=0.2))})" for h in hidden]
lines += [f"y = {affine(rounded(4, scale=0.5), hidden, 0.25)}"]
written(
    "elman", "# An Elman cell: four hidden values from two inputs and the hidden values of the sample before.", lines
)

lines = [f"state {h} = 0" for h in hidden[:2]]
for h in hidden[:2]:
    lines += [
        f"let f{h} = {affine(rounded(4, scale=0.1), ['a', 'b', 'h0', 'h1'], 0.5)}",
        f"let g{h} = {affine(rounded(4, scale=0.2), ['a', 'b', 'h0', 'h1'], 0)}",
        f"next {h} = {h} + f{h}*(g{h} - {h})",
    ]
lines += ["y = h0 - h1"]
written("gated", "# A cell with polynomial gates: the form f opens a state h towards g, in place of a sigmoid.", lines)
inputs = np.clip(np.round(rng.normal(0, 0.4, (300, 2)) / STEP) * STEP, -1, 1)
(FOLDER / "samples.csv").write_text("a,b\n" + "".join(f"{a:.10g},{b:.10g}\n" for a, b in inputs))
