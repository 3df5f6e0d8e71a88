"""Write a Kalman filter in its steady state, for a position measured with noise; the gain is from scipy's solver."""

from pathlib import Path

import numpy as np
from scipy.linalg import solve_discrete_are

FOLDER = Path(__file__).parent
STEP = 2.0**-14
A = np.array([[1, 0.125], [0, 1]])  # position and velocity, eight samples a second
H = np.array([[1.0, 0]])
Q, R = np.diag([1e-4, 4e-3]), np.array([[0.04]])
P = solve_discrete_are(A.T, H.T, Q, R)
gain = (P @ H.T @ np.linalg.inv(H @ P @ H.T + R)).ravel()
g, h = (f"{np.round(value / STEP) * STEP:.15g}" for value in gain)
(FOLDER / "formula.txt").write_text(
    f"""\
# Position and velocity from noisy positions: predict, compare, correct. The gains solve Riccati's equation.
state p = 0
state v = 0
let ahead = p + v/8
let error = z - ahead
position = ahead + {g}*error
velocity = v + {h}*error
next p = position
next v = velocity
"""
)
rng = np.random.default_rng(5)
true = np.cumsum(np.where(np.arange(240) // 60 % 2, -0.5, 0.5) / 8)
measured = np.round((true + rng.normal(0, 0.2, 240)) * 1024) / 1024
(FOLDER / "samples.csv").write_text("z\n" + "".join(f"{value:.10g}\n" for value in measured))
