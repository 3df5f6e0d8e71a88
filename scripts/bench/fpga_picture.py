"""The picture of ``skinny bench fpga``: multiply-accumulates a second against LUTs."""

from __future__ import annotations

from typing import Any

from skinny.model.files import write_file
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
#: Where a text stands: offset in points, then the side of the text.
Place = tuple[tuple[int, int], str, str]
ABOVE: Place = ((0, 6), "center", "bottom")
BELOW: Place = ((0, -6), "center", "top")
BESIDE: Place = ((7, 0), "left", "center")
#: Short names of rivals, and places where they do not meet.
NAMES: dict[str, tuple[str, Place]] = {
    "picorv32, fast multiplier": ("picorv32, fast", ABOVE),
    "picorv32, serial multiplier": ("picorv32, serial", BELOW),
    "SERV": ("SERV", BESIDE),
    "FemtoRV electron": ("FemtoRV", BELOW),
}


def draw_rates(rows: list[dict[str, Any]], rivals: list[dict[str, Any]], path: str) -> None:
    """Write a PNG: a panel a device; a colour a kind of design, its sizes joined by a line, with their bits."""
    from matplotlib.figure import Figure

    devices = list(dict.fromkeys(row["device"] for row in rows))
    figure = Figure(figsize=(1.5 + 4 * len(devices), 7), layout="constrained")
    axes = figure.subplots(1, len(devices), sharex=True, sharey=True, squeeze=False)[0]
    for axis, device in zip(axes, devices, strict=True):
        axis.set_title(find_device(device).title, fontsize=10)
        numbered: dict[tuple[str, int], float] = {}
        parts = sorted({row["parts"] for row in rows if row["device"] == device}, key="inferred".__eq__)
        for kind, part in ((kind, part) for kind in KINDS for part in parts):
            points = [row for row in rows if (row["device"], row["parts"], row["design"]) == (device, part, kind)]
            # The family's own parts come first. Numbers stand where others do not come into their way.
            hollow = part != parts[0]
            place = BESIDE if kind == MINIMAL else BELOW if hollow or (kind == FED and len(parts) == 1) else ABOVE
            colour = KINDS[kind][0]
            axis.plot(
                [point["lut"] for point in points],
                [point["macs_per_second"] for point in points],
                linestyle="-",
                linewidth=0.8,
                marker=MARKERS[device],
                color=colour,
                markerfacecolor="white" if hollow else colour,
            )
            for point in points:
                # Where both kinds of parts come out the same one number is enough.
                rate = point["macs_per_second"]
                if not hollow or abs(rate / numbered.get((kind, point["bits"]), 2 * rate) - 1) > 0.1:
                    _write(axis, str(point["bits"]), place, point, colour)
                    numbered[kind, point["bits"]] = rate
        for rival in rivals:
            if rival["device"] == device:
                axis.plot(rival["lut"], rival["macs_per_second"], MARKERS[device], color=GREY)
                _write(axis, *NAMES[rival["rival"]], rival, GREY)
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


def _write(axis: Any, text: str, place: Place, point: dict[str, Any], colour: str) -> None:
    offset, across, along = place
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
