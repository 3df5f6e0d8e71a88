"""The picture of a core's pins, cycle by cycle, as a simulation shows them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from skinny.hdl.core.core import Core
from skinny.model.errors import InputError
from skinny.model.machine.assemble import Image
from skinny.model.machine.isa import Words
from skinny.sim.check.steps import LoadImage, ResetCore, RunStimulus
from skinny.sim.check.stimulus import Stimulus
from skinny.sim.simulators.amaranth import run_steps
from skinny.trace import COLOURS

__all__ = ["draw_pins", "seen_pins"]

#: Cycles that have room.
MOST_CYCLES = 100
#: Cycles that every third result waits for the sink.
STALL = 2
#: The pins from top to bottom, each group in its colour. What is on the pins of :data:`LEVELS` always means something,
#: what is on another one while the first pin of its group is high.
GROUPS = (
    ("load_valid", "load_ready", "load_space", "load_address", "load_data"),
    ("i_valid", "i_ready", "i_data", "i_last"),
    ("retire_valid", "retire_pc", "retire_thread", "retire_value"),
    ("o_valid", "o_ready", "o_data", "o_last", "o_fault"),
    ("busy",),
    ("fault",),
)
LEVELS = ("load_valid", "load_ready", "i_valid", "i_ready", "retire_valid", "o_valid", "busy", "fault")
BITS = (*LEVELS, "i_last", "o_ready", "o_last", "o_fault")


def seen_pins(image: Image, vectors: Words) -> list[dict[str, int]]:
    """What is on each pin in each cycle of a load, after a reset, and of a run of ``vectors``, all checked against
    the cycle model. Every third result waits for the sink."""
    plain = Stimulus.steady(image, vectors)
    stalls = np.where(np.arange(plain.results) % 3 == 1, STALL, 0)
    stimulus = Stimulus(image, plain.vectors, plain.sizes, stalls=stalls)
    pins: list[dict[str, int]] = []
    run_steps(Core(image.config), [ResetCore(), LoadImage(image), RunStimulus(stimulus)], pins=pins)
    if len(pins) > MOST_CYCLES:
        raise InputError(f"a picture has room for {MOST_CYCLES} cycles, not {len(pins):,}: take a shorter program")
    return pins[1:]  # without the reset, in which inputs are random


def draw_pins(pins: Sequence[dict[str, int]], vector: int) -> Any:
    """A figure with a line for each pin, for vectors of ``vector`` words. Dots are words that move; grey is what means
    nothing."""
    from matplotlib.figure import Figure

    moved = itertools.accumulate((cycle["i_valid"] & cycle["i_ready"] for cycle in pins), initial=0)
    ends = [cycle["i_valid"] and count % vector == vector - 1 for cycle, count in zip(pins, moved, strict=False)]
    rows = [(name, group) for group in GROUPS for name in group if name in pins[0]]
    figure = Figure(figsize=(1.6 + 0.32 * len(pins), 0.8 + 0.3 * len(rows)), layout="constrained")
    axis = figure.subplots()
    for place, (name, group) in enumerate(rows):
        colour = COLOURS[GROUPS.index(group) % len(COLOURS)]
        values = [cycle[name] for cycle in pins]
        means = (
            [name in LEVELS or bool(cycle[group[0]]) for cycle in pins] if name != "i_last" else list(map(bool, ends))
        )
        if name in BITS:
            _draw_level(axis, place, values, means, colour)
        else:
            _draw_numbers(axis, place, values, means, colour)
        if name == group[0] and name.removesuffix("valid") + "ready" in pins[0]:
            moves = [t for t, cycle in enumerate(pins) if cycle[name] and cycle[name.removesuffix("valid") + "ready"]]
            axis.plot([t + 0.5 for t in moves], [place] * len(moves), "o", color=colour, markersize=3)
    axis.set_xlim(0, len(pins))
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.set_yticks(range(len(rows)), [name for name, _ in rows], family="monospace", fontsize=9)
    axis.set_xticks(range(0, len(pins) + 1, 5))
    axis.set_xticks(range(len(pins) + 1), minor=True)
    axis.grid(axis="x", which="both", alpha=0.3, linewidth=0.5)
    axis.set_axisbelow(True)
    axis.tick_params(axis="y", length=0)
    axis.set_xlabel("cycle")
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    return figure


def _draw_level(axis: Any, place: int, values: Sequence[int], means: Sequence[bool], colour: str) -> None:
    for first, end, meant in _runs(means):
        if meant:
            heights = [place + 0.3 - 0.6 * value for value in values[first:end]]
            axis.stairs(heights, range(first, end + 1), baseline=None, color=colour, linewidth=1.4)
        else:
            _draw_nothing(axis, place, first, end)


def _draw_numbers(axis: Any, place: int, values: Sequence[int], means: Sequence[bool], colour: str) -> None:
    for first, end, value in _runs([value if meant else None for value, meant in zip(values, means, strict=True)]):
        if value is None:
            _draw_nothing(axis, place, first, end)
            continue
        axis.fill([first, first, end, end], [place - 0.3, place + 0.3, place + 0.3, place - 0.3], facecolor="white",
                  edgecolor=colour, linewidth=1)  # fmt: skip
        text = str(value) if len(str(value)) <= 3 * (end - first) else f"{value:x}h"
        axis.text((first + end) / 2, place, text, ha="center", va="center", fontsize=7 if len(text) < 4 else 5)


def _draw_nothing(axis: Any, place: int, first: int, end: int) -> None:
    axis.fill_between([first, end], place - 0.3, place + 0.3, color="#e8e8e8", linewidth=0)


def _runs(values: Sequence[Any]) -> list[tuple[int, int, Any]]:
    """First index, index past the last, and value of each run of equal values."""
    out, first = [], 0
    for value, equal in itertools.groupby(values):
        end = first + len(list(equal))
        out.append((first, end, value))
        first = end
    return out
