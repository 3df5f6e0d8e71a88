"""Write eight rows of 1,000 bits."""

from pathlib import Path

import numpy as np

bits = np.random.default_rng(5).integers(0, 2, (8, 1000))
header = ",".join(f"x{n}" for n in range(1000))
np.savetxt(Path(__file__).parent / "inputs.csv", bits, fmt="%d", delimiter=",", header=header, comments="")
