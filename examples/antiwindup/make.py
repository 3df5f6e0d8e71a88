"""Write the samples of a controller at work: a set point that jumps beyond what the actuator can reach, and back."""

from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
KP, KI, KD, KB = 0.8, 0.1, 0.25, 0.5

lines, value, integral, old = ["r,v"], 0.0, 0.0, 0.0
for r in np.repeat([0.5, 1.25, 0.25, -0.5], 60):
    v = np.round(value * 1024) / 1024
    lines.append(f"{r:.10g},{v:.10g}")
    error = r - v
    wanted = KP * error + integral + KD * (error - old)
    command = min(max(wanted, -1), 1)
    integral, old = integral + KI * error - KB * (wanted - command), error
    value = 0.9 * value + 0.1 * command
(FOLDER / "samples.csv").write_text("\n".join(lines) + "\n")
