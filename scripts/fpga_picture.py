"""The picture of ``skinny bench fpga``: multiply-accumulates a second against LUTs."""

from __future__ import annotations

from typing import Any

from skinny.model.storage import write_file
from skinny.sim.fpga.devices import find_device

from .fpga_designs import CORE, FED, MINIMAL

__all__ = ["draw_rates"]

MARKERS = {"up5k": "o", "hx8k": "s", "ecp5-25k": "^", "ecp5-85k": "v"}
#: Colours that differ in lightness as well, so that they print.
KINDS = {
    FED: ("#d9730d", "the limit: bare multiply-accumulate from block RAM"),
    CORE: ("#0b6e99", "our core"),
    MINIMAL: ("#5b3a8c", "our core, minimal"),
}
GREY = "#6a6a6a"
#: Where the name of a rival stands, so that names do not meet: offset in points, then the side of the text.
NAMES: dict[str, tuple[str, tuple[int, int], str, str]] = {
    "picorv32, fast multiplier": ("picorv32, fast", (0, 6), "center", "bottom"),
    "picorv32, serial multiplier": ("picorv32, serial", (0, -6), "center", "top"),
    "SERV": ("SERV", (7, 0), "left", "center"),
    "FemtoRV electron": ("FemtoRV", (0, -6), "center", "top"),
}


def draw_rates(rows: list[dict[str, Any]], rivals: list[dict[str, Any]], path: str) -> None:
    """Write a PNG: a panel a device; a colour a kind of design, its sizes joined by a line, with their bits."""
    from matplotlib.figure import Figure

    devices = list(dict.fromkeys(row["device"] for row in rows))
    figure = Figure(figsize=(1.5 + 4 * len(devices), 6), layout="constrained")
    axes = figure.subplots(1, len(devices), sharex=True, sharey=True, squeeze=False)[0]
    for axis, device in zip(axes, devices, strict=True):
        axis.set_title(find_device(device).title, fontsize=10)
        parts = sorted({row["parts"] for row in rows if row["device"] == device}, key="inferred".__eq__)
        for kind, part in ((kind, part) for kind in KINDS for part in parts):
            points = [row for row in rows if (row["device"], row["parts"], row["design"]) == (device, part, kind)]
            # Inferred parts are hollow and have their numbers below, where there are others.
            _draw_line(axis, points, device, KINDS[kind][0], below=part != parts[0])
        for rival in rivals:
            if rival["device"] == device:
                axis.plot(rival["lut"], rival["macs_per_second"], MARKERS[device], color=GREY)
                name, offset, across, along = NAMES[rival["rival"]]
                _write(axis, name, rival, GREY, offset, across, along)
        axis.set_xlabel("LUTs")
        axis.grid(alpha=0.3)
    axes[0].loglog()
    axes[0].set_xlim(5, 20_000)
    axes[0].set_ylim(top=axes[0].get_ylim()[1] * 1.6)
    axes[0].set_ylabel("multiply-accumulates a second")
    for colour, text in [*KINDS.values(), (GREY, "rivals, measured earlier")]:
        axes[0].plot([], [], "D", color=colour, label=text)
    if any(row["parts"] != "inferred" for row in rows):
        axes[0].plot([], [], "D", color="black", markerfacecolor="white", label="inferred, not the family's own parts")
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    figure.suptitle("multiply-accumulates a second against area; numbers are bits", fontsize=11)
    write_file(path, lambda file: figure.savefig(file, format="png", dpi=110))


def _draw_line(axis: Any, points: list[dict[str, Any]], device: str, colour: str, *, below: bool) -> None:
    axis.plot(
        [point["lut"] for point in points],
        [point["macs_per_second"] for point in points],
        linestyle="-",
        linewidth=0.8,
        marker=MARKERS[device],
        color=colour,
        markerfacecolor="white" if below else colour,
    )
    for point in points:
        _write(axis, str(point["bits"]), point, colour, (0, -6 if below else 6), "center", "top" if below else "bottom")


def _write(
    axis: Any, text: str, point: dict[str, Any], colour: str, offset: tuple[int, int], across: str, along: str
) -> None:
    axis.annotate(
        text,
        (point["lut"], point["macs_per_second"]),
        xytext=offset,
        textcoords="offset points",
        ha=across,
        va=along,
        fontsize=8,
        color=colour,
    )
