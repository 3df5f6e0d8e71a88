"""Write a Butterworth filter of sixth order as three biquads, and a square wave to filter; the design is scipy's."""

from pathlib import Path

import numpy as np
from scipy.signal import butter

FOLDER = Path(__file__).parent
STEP = 2.0**-14


def rounded(value):
    return f"{np.round(value / STEP) * STEP:.15g}"


lines = [
    "# A Butterworth filter of sixth order, a fifth of the sampling rate wide: three biquads, one behind the other."
]
sections = butter(6, 0.2, output="sos")
# scipy has the gain of all sections in the first one; shared out evenly, no signal becomes small.
gain = sections[0, 0] ** (1 / 3)
sections[0, :3] /= sections[0, 0]
source = "x"
for n, (b0, b1, b2, _, a1, a2) in enumerate(sections, start=1):
    b0, b1, b2, a1, a2 = (rounded(value) for value in (gain * b0, gain * b1, gain * b2, a1, a2))
    y = f"y{n}" if n < 3 else "y"
    lines += [
        f"state p{n} = 0; state q{n} = 0",
        f"{'let ' if n < 3 else ''}{y} = {b0}*{source} + p{n}",
        f"next p{n} = {b1}*{source} - {a1}*{y} + q{n}",
        f"next q{n} = {b2}*{source} - {a2}*{y}",
    ]
    source = y
(FOLDER / "formula.txt").write_text("\n".join(lines).replace("- -", "+ ") + "\n")
square = np.where(np.arange(400) // 50 % 2, -0.75, 0.75)
(FOLDER / "samples.csv").write_text("x\n" + "".join(f"{value:.10g}\n" for value in square))
