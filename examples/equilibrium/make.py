"""Write a layer whose output is its own input (a deep equilibrium layer) as a fixed number of rounds."""

from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
STEP = 2.0**-10
SIZE, INPUTS, ROUNDS = 6, 4, 12
rng = np.random.default_rng(4)
w = rng.normal(0, 1, (SIZE, SIZE))
w = np.round(0.45 * w / np.linalg.norm(w, 2) / STEP) * STEP
u = np.round(rng.normal(0, 0.5, (SIZE, INPUTS)) / STEP) * STEP
b = np.round(rng.normal(0, 0.2, SIZE) / STEP) * STEP

lines = [
    f"# z = relu(W z + U x + b), {ROUNDS} rounds from zero. The norm of W is {np.linalg.norm(w, 2):.3f}: after n",
    "# rounds the distance to the equilibrium is at most that to the n, times the distance at the start.",
]
for n in range(SIZE):
    terms = [f"{value:.15g}*x{m}" for m, value in enumerate(u[n])]
    lines.append(f"let c{n} = {' + '.join(terms)} + {b[n]:.15g}")
for r in range(ROUNDS):
    for n in range(SIZE):
        terms = [f"{value:.15g}*z{r - 1}_{m}" for m, value in enumerate(w[n])] if r else []
        left = f"let z{r}_{n}" if r < ROUNDS - 1 else f"z{n}"
        lines.append(f"{left} = relu({' + '.join([*terms, f'c{n}'])})")
(FOLDER / "formula.txt").write_text("\n".join(lines).replace("+ -", "- ") + "\n")
rows = np.round(rng.uniform(-1, 1, (40, INPUTS)) / STEP) * STEP
header = ",".join(f"x{m}" for m in range(INPUTS))
(FOLDER / "inputs.csv").write_text(
    header + "\n" + "".join(",".join(f"{value:.10g}" for value in row) + "\n" for row in rows)
)
