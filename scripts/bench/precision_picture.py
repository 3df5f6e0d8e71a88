"""The picture of ``skinny bench precision``: errors, relative to the text as written, against cycles."""

from __future__ import annotations

from typing import Any

from skinny.model.files import write_file

__all__ = ["draw_errors"]

#: Colours that differ in lightness as well, so that they print, and marks that differ too.
ONE, SEVERAL, GREY = "#d9730d", "#0b6e99", "#6a6a6a"
#: Ratios from here on are drawn above, a line each, and so is what has no safe format; those below, at the lower edge.
MOST, LEAST, LINE = 200.0, 0.1, 1.35
#: Cycles from where on names stand on the left of their marks.
WIDE = 256


def draw_errors(rows: list[dict[str, Any]], path: str) -> None:
    """Write a PNG: a panel a width of the word, without what the text itself does not fit. A filled mark is our
    program, a hollow one joined to it the shortest one; what misses its limit is named."""
    from matplotlib.figure import Figure

    widths = list(dict.fromkeys(row["bits"] for row in rows))
    figure = Figure(figsize=(1.5 + 5 * len(widths), 6.5), layout="constrained")
    axes = figure.subplots(1, len(widths), sharex=True, sharey=True, squeeze=False)[0]
    most = 0
    for axis, bits in zip(axes, widths, strict=True):
        axis.set_title(f"{bits} bits", fontsize=10)
        axis.axhline(1, color=GREY, linewidth=0.8)
        axis.axhline(2, color=GREY, linewidth=0.8, linestyle="--")
        above = 0
        for row in rows:
            if row["bits"] != bits or row["text_error"] is None:
                continue
            one = row["variables"] == 1
            colour, mark = (ONE, "s") if one else (SEVERAL, "o")
            (x, y), (there, before) = _places(row)
            off = y >= MOST
            if off:
                above += 1
                y = MOST * LINE**above
            if (row["cycles"], row["proven_ratio"]) != (row["shortest"], row["shortest_ratio"]):
                axis.plot([there, x], [before, y], color=colour, linewidth=0.7, alpha=0.6)
                axis.plot(there, before, mark, color=colour, markerfacecolor="white", markersize=4.5)
            axis.plot(x, y, "^" if off else mark, color=colour, markersize=5.5)
            if {"ratio", "safe"} & set(row["missed"]):
                place = {"xytext": (-4, 3), "ha": "right"} if x > WIDE else {"xytext": (4, 3), "ha": "left"}
                axis.annotate(row["name"], (x, y), textcoords="offset points", fontsize=6.5, color=colour, **place)
        most = max(most, above)
        axis.axhspan(MOST, MOST * LINE**99, color=GREY, alpha=0.12, linewidth=0)
        axis.set_xlabel("cycles")
        axis.grid(alpha=0.3)
    axes[0].loglog()
    axes[0].set_ylim(LEAST / 1.4, MOST * LINE ** (most + 1))
    axes[0].set_yticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
    longest = max(max(row["cycles"], row["shortest"]) for row in rows)
    ticks = [tick for tick in (4, 8, 16, 32, 64, 128, 256, 512, 1024) if tick <= 1.4 * longest]
    axes[0].set_xlim(3, 1.4 * max(longest, 4))
    axes[0].set_xticks(ticks, [str(tick) for tick in ticks])
    axes[0].set_xticks([], minor=True)
    axes[0].set_ylabel("proven error over the error of the text as written")
    axes[0].plot([], [], "s", color=ONE, label="one variable")
    axes[0].plot([], [], "o", color=SEVERAL, label="several variables")
    axes[0].plot([], [], "D", color="black", markerfacecolor="white", label="the shortest program")
    axes[0].plot([], [], "^", color="black", label="off the scale, or no safe format")
    axes[0].plot([], [], color=GREY, linewidth=0.8, linestyle="--", label="twice the text's error")
    figure.legend(loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    figure.suptitle("error in the best proven format against cycles; names: the limit is missed", fontsize=11)
    write_file(path, lambda file: figure.savefig(file, format="png", dpi=110))


def _places(row: dict[str, Any]) -> tuple[tuple[int, float], tuple[int, float]]:
    """Where our program and the shortest one stand."""
    ours, plain = (
        MOST if ratio is None else min(MOST, max(LEAST, ratio))
        for ratio in (row["proven_ratio"], row["shortest_ratio"])
    )
    return (row["cycles"], ours), (row["shortest"], plain)
