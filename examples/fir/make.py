"""Write a low-pass filter of 64 coefficients as a formula, and a noisy tone to filter; the design is scipy's."""

from pathlib import Path

import numpy as np
from scipy.signal import firwin

FOLDER = Path(__file__).parent
TAPS, STEP = 64, 2.0**-14

taps = np.round(firwin(TAPS, 0.15) / STEP) * STEP
terms = [f"{tap:.15g}*x" + (f"[t-{lag}]" if lag else "") for lag, tap in enumerate(taps)]
(FOLDER / "formula.txt").write_text(
    "# A low-pass filter of 64 coefficients: scipy.signal.firwin(64, 0.15), rounded to multiples of 2^-14.\ny = "
    + " + ".join(terms).replace("+ -", "- ")
    + "\n"
)
rng = np.random.default_rng(1)
t = np.arange(400)
x = 0.5 * np.sin(2 * np.pi * t / 40) + 0.3 * np.sin(2 * np.pi * t / 5) + rng.normal(0, 0.05, len(t))
x = np.round(x * 256) / 256
(FOLDER / "samples.csv").write_text("x\n" + "".join(f"{value:.10g}\n" for value in x))
