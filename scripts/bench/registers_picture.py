"""The picture of ``skinny bench registers``: a panel a function, a line a choice of promises."""

from __future__ import annotations

from typing import Any

from skinny.model.files import write_file

__all__ = ["draw_registers"]

#: Colours that differ in lightness as well, so that they print, and marks that differ too; where lines fall together,
#: the larger mark shows behind the smaller one.
STYLES = {
    "linear,reversible": ("#0b6e99", "o", 8),
    "reversible": ("#d9730d", "s", 4),
    "linear": ("#9a9a9a", "^", 8),
    "none": ("#111111", "D", 3),
}


def draw_registers(rows: list[dict[str, Any]], path: str) -> None:
    """Write a PNG of the rows that :func:`skinny.scripts.bench.promises.bench_registers` gives."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullFormatter

    names = list(dict.fromkeys(row["formula"] for row in rows))
    figure = Figure(figsize=(1.5 + 3.6 * len(names), 4.6), layout="constrained")
    axes = figure.subplots(1, len(names), squeeze=False)[0]
    for axis, name in zip(axes, names, strict=True):
        for keep, (colour, mark, size) in STYLES.items():
            found = [(row["registers"], row["cycles"]) for row in rows if (row["formula"], row["keep"]) == (name, keep)]
            axis.plot(*zip(*found, strict=True), color=colour, marker=mark, markersize=size, linewidth=1, label=keep)
        axis.loglog()
        axis.set_title(name, fontsize=10)
        axis.set_xticks([3, 8, 16, 64, 256, 1024], ["3", "8", "16", "64", "256", "1024"])
        axis.set_xticks([], minor=True)
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.yaxis.set_major_formatter(lambda count, _: f"{count:,.0f}")
        axis.yaxis.set_minor_formatter(NullFormatter())
        axis.set_xlabel("registers at most")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("cycles, outputs included")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, [f"keep {label}" for label in labels], loc="outside lower center", ncols=4, frameon=False)
    write_file(path, lambda file: figure.savefig(file, format="png", dpi=110))
