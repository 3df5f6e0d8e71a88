"""The picture of a campaign: where, and when in the program, a flipped bit hurts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from skinny.model.machine.isa import Op

if TYPE_CHECKING:
    from skinny.sim.upsets.campaign import Campaign

__all__ = ["draw"]

#: Outcomes in the order they are stacked, with their colours: harmless is pale, harmful is dark.
COLOURS = {"masked": "#d9d9d9", "detected": "#4c8cbf", "timeout": "#e6b95c", "wrong": "#b2182b"}
LABELS = {"timeout": "seen by time-out or count", "wrong": "wrong answer, undetected"}
#: Columns of a map at most.
COLUMNS = 40


def draw(campaigns: dict[str, Campaign]) -> Any:
    """A figure with a row for each core: the share of flips that end in an undetected wrong answer, by what is hit and
    by the word that is issued, with the word "none" where there is no such flip; beside it what becomes of all."""
    from matplotlib.figure import Figure
    from skinny.sim.simulators.state import PLACES

    hit = set().union(*(np.unique(done.place).tolist() for done in campaigns.values()))
    places = [place for place in PLACES if place in hit]
    figure = Figure(figsize=(13, 0.9 + (0.24 * len(places) + 1.1) * len(campaigns)), layout="constrained")
    axes = figure.subplots(len(campaigns), 2, squeeze=False, width_ratios=(3, 2))
    for (left, right), (name, done) in zip(axes, campaigns.items(), strict=True):
        image = _map(left, done, places)
        _bars(right, done, places)
        wrong = done.counts(~done.in_memory)["wrong"] / (~done.in_memory).sum()
        left.set_title(f"{name}: {wrong:.2%} of register flips end in an undetected wrong answer", fontsize=11, pad=14)
        left.set_xlabel("program word that is issued when the bit flips")
    axes[0, 1].set_title("what becomes of a flip", fontsize=11, pad=14)
    axes[-1, 1].set_xlabel("share of flips")
    handles, labels = axes[0, 1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower right", ncols=4, frameon=False, fontsize=9)
    bar = figure.colorbar(image, ax=axes[:, 0], location="bottom", shrink=0.5, aspect=40, pad=0.02)
    bar.set_label("share of flips that end in an undetected wrong answer")
    bar.ax.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    return figure


def _map(axis: Any, done: Campaign, places: list[str]) -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    length = len(done.image)
    columns = min(COLUMNS, length)
    edges = np.linspace(0, length, columns + 1)
    column = np.searchsorted(edges, done.word, side="right") - 1
    flips, wrong = np.zeros((2, len(places), columns))
    for row, place in enumerate(places):
        hit = done.place == place
        flips[row] = np.bincount(column[hit], minlength=columns)
        wrong[row] = np.bincount(column[hit & done.wrong], minlength=columns)
    share = np.divide(wrong, flips, out=np.full_like(wrong, np.nan), where=flips > 0)
    axis.set_facecolor("#eeeeee")  # shows where no bit was flipped
    colours = LinearSegmentedColormap.from_list("harm", ["white", "#f4a582", COLOURS["wrong"], "#40000a"])
    if not done.wrong.any():
        paper = {"facecolor": "white", "edgecolor": "none"}
        axis.text(0.5, 0.5, "none", transform=axis.transAxes, ha="center", va="center", fontsize=14, bbox=paper)
    image = axis.pcolormesh(edges, np.arange(len(places) + 1), share, cmap=colours, vmin=0, vmax=1)
    axis.set_yticks(np.arange(len(places)) + 0.5, places, fontsize=8)
    axis.invert_yaxis()
    axis.tick_params(length=0, axis="y")
    ops = done.image.config.decode(done.image.words)["op"]
    for label, words in (
        ("emit", np.flatnonzero(done.image.instructions <= -2)),
        ("check", np.flatnonzero(ops == Op.CHECK)),
    ):
        for at in words + 0.5:
            axis.axvline(at, color="#333333", linewidth=0.7, linestyle=":")
            axis.annotate(label, (at, 0), (0, 1), textcoords="offset points", fontsize=7, ha="center", va="bottom")
    return image


def _bars(axis: Any, done: Campaign, places: list[str]) -> None:
    left = np.zeros(len(places))
    counts = [done.counts(done.place == place) for place in places]
    total = np.array([max(1, sum(count.values())) for count in counts])
    for outcome, colour in COLOURS.items():
        share = np.array([count[outcome] for count in counts]) / total
        axis.barh(np.arange(len(places)) + 0.5, share, 0.8, left, color=colour, label=LABELS.get(outcome, outcome))
        left += share
    axis.set_ylim(len(places), 0)
    axis.set_xlim(0, 1)
    axis.set_yticks([])
    axis.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
