"""Write samples whose mean and spread change."""

from pathlib import Path

import numpy as np

rng = np.random.default_rng(7)
spread = np.repeat([0.1, 0.5, 0.25, 0.05], 60)
x = np.round((np.cumsum(rng.normal(0, 0.05, 240)) + spread * rng.normal(size=240)) * 256) / 256
text = "x\n" + "".join(f"{value:.10g}\n" for value in x)
(Path(__file__).parent / "samples.csv").write_text(text)
