"""The picture of ``skinny sweep``: inferences a second against area, a panel a device, and the points of the front."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skinny.model.files import write_file
from skinny.points import QUALITIES
from skinny.sweeping import area
from skinny.trace import save_picture

__all__ = ["draw_front"]

NAMES = {"accuracy": "accuracy on test rows", "r2": "R² on test rows", "error": "proven error", "cycles": "cycles"}


def draw_front(rows: Sequence[dict[str, Any]], path: str) -> None:
    """Write a PNG of the rows that :func:`skinny.sweep` gives. The colour is the quality or, without one, the cycles;
    the points of the front have a ring and their number in ``front.csv``. Without figures of cores, the quality is
    drawn against the cycles."""
    from matplotlib.colors import LogNorm, Normalize
    from matplotlib.figure import Figure

    measured = any(row["figures"] for row in rows)
    drawn = [row for row in rows if (row["figures"] if measured else row["cycles"])]
    name = next((name for name in QUALITIES if name in rows[0]), "cycles")
    values = [row[name] for row in drawn]
    norm = (Normalize if name in ("accuracy", "r2") or min(values) <= 0 else LogNorm)(min(values), max(values))
    numbers = {id(row): number for number, row in enumerate((row for row in drawn if row["front"]), 1)}
    devices = list(dict.fromkeys(row["device"] for row in drawn))
    figure = Figure(figsize=(2 + 4.6 * len(devices), 4.8), layout="constrained")
    panels = figure.subplots(1, len(devices), squeeze=False)[0]
    for axes, device in zip(panels, devices, strict=True):
        for best, style in ((False, {"s": 22, "alpha": 0.6}), (True, {"s": 70, "edgecolors": "black"})):
            chosen = [row for row in drawn if row["device"] == device and row["front"] == best]
            places = [
                (area(row)[1], row["inferences_per_second"]) if measured else (row["cycles"], row[name])
                for row in chosen
            ]
            colours = [row[name] for row in chosen]
            across, up = ([place[side] for place in places] for side in (0, 1))
            axes.scatter(across, up, c=colours, norm=norm, cmap="viridis", zorder=2 + best, **style)
            for row, place in zip(chosen, places, strict=True) if best else ():
                text = str(numbers[id(row)])
                axes.annotate(text, place, xytext=(5, 5), textcoords="offset points", fontsize=8, zorder=4)
        axes.set_title(device, fontsize=10)
        axes.set_xlabel(next(area(row)[0] for row in drawn if row["device"] == device) if measured else "cycles")
        axes.grid(alpha=0.3, which="both")
        if measured:
            axes.set_yscale("log")
    panels[0].set_ylabel("inferences a second" if measured else NAMES[name])
    figure.colorbar(panels[0].collections[1], ax=list(panels), label=NAMES[name])
    write_file(path, lambda file: save_picture(figure, file))
