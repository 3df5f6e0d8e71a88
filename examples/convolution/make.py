"""Write a convolution of four kernels of nine over a window, with ReLU, and a signal."""

from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
STEP = 2.0**-8
rng = np.random.default_rng(2)
lines = ["# Four kernels of nine over the last nine samples, with ReLU: a layer of a 1-d convolutional network."]
for number, kernel in enumerate(np.round(rng.normal(0, 0.35, (4, 9)) / STEP) * STEP):
    terms = [f"{weight:.15g}*x" + (f"[t-{lag}]" if lag else "") for lag, weight in enumerate(kernel)]
    lines.append(f"y{number} = relu({' + '.join(terms)} + {STEP * (number - 2):.15g})".replace("+ -", "- "))
(FOLDER / "formula.txt").write_text("\n".join(lines) + "\n")
signal = np.round(np.cumsum(rng.normal(0, 0.2, 200)) / STEP) * STEP
signal = np.clip(signal, -2, 2)
(FOLDER / "samples.csv").write_text("x\n" + "".join(f"{value:.10g}\n" for value in signal))
