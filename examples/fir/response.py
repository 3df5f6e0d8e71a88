"""Draw the responses of both filters: as scipy designs them, and as the words of the core have them (after ``skinny
compile`` in the folders fir and cascade)."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import skinny
from scipy.signal import butter, firwin, freqz, sosfreqz

FOLDER = Path(__file__).parent
LENGTH = 1024


def measured(name):
    """The response of a program to one impulse, in its format."""
    impulse = np.zeros(LENGTH)
    impulse[0] = 0.9
    program = skinny.load(str(FOLDER.parent / name / f"{name}.skn"))
    return np.fft.rfft(
        np.array(program.run_stream(impulse[:, None], pad=bool(program.model.window)), dtype=float) / 0.9
    )


def decibels(response):
    return 20 * np.log10(np.maximum(np.abs(response), 1e-6))


figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), sharey=True, layout="constrained")
frequencies = np.linspace(0, 1, LENGTH // 2 + 1)
designs = {
    "fir": freqz(firwin(64, 0.15), worN=np.pi * frequencies)[1],
    "cascade": sosfreqz(butter(6, 0.2, output="sos"), worN=np.pi * frequencies)[1],
}
for axis, (name, design), title in zip(axes, designs.items(), ("FIR, 64 terms", "three biquads"), strict=True):
    axis.plot(frequencies, decibels(design), label="designed (scipy)", linewidth=3, color="#bbbbbb")
    ring = skinny.load(str(FOLDER.parent / name / f"{name}.skn")).model.ring
    axis.plot(frequencies, decibels(measured(name)), label=f"words of {ring}", linewidth=1, color="#1f5fa8")
    axis.set(title=title, xlabel="frequency, of half the sampling rate", ylim=(-110, 5), xlim=(0, 1))
    axis.legend()
axes[0].set_ylabel("gain, dB")
figure.savefig(FOLDER / "response.png", dpi=110)
