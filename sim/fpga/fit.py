"""The coefficients of the estimates, fitted to synthesis runs; and how far the estimates are off."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .estimate import Shape, Terms, estimate, ff_terms, lut_terms, paths, weigh
from .report import Design
from .samples import fitting_set, held_out_set, measure
from .tools import tool_version

__all__ = ["fit", "fit_period", "held_out", "shape_of", "solve", "summary"]

#: How much a coefficient may stray from what was guessed, against how well the designs are met.
STRENGTH = 0.02
#: Guesses for delays in ns on HX8K; other devices take a multiple.
GUESS = {
    "control": 8.0,
    "control, address bit": 0.05,
    "select": 3.0,
    "select, register": 0.5,
    "product": 4.0,
    "product of bits": 1.5,
    "product of blocks": 5.0,
    "product of blocks, bit kept": 0.1,
    "product in LUTs": 5.5,
    "product in LUTs, bit": 0.25,
    "product in LUTs, bit kept": 0.1,
    "sum": 4.0,
    "sum, bit": 0.13,
    "fold": 4.0,
    "fold, bit": 0.3,
    "write": 2.0,
}
SLOWNESS = {"hx8k": 1.0, "up5k": 2.1, "ecp5, generic": 0.8, "ecp5, ecp5": 0.7}


def shape_of(design: Design) -> Shape:
    return Shape(design.image.config, design.device, design.target, design.rom)


def fit(say: Callable[[str], None]) -> dict[str, Any]:
    """Measure the fitting set, one seed each, and fit; ``say`` is told of each design."""
    cells: dict[str, dict[str, list[tuple[Terms, float]]]] = {"lut4": {}, "ff": {}}
    periods: dict[str, list[tuple[dict[str, Terms], float]]] = {}
    designs = fitting_set()
    for number, design in enumerate(designs, start=1):
        found, shape = measure(design, (1,), alone=False), shape_of(design)
        say(f"{number}/{len(designs)} {design.device.name}, {shape.config.ring.name}: {found['mhz']:.1f} MHz")
        kind, speed = shape.groups
        for what, terms in (("lut4", lut_terms), ("ff", ff_terms)):
            cells[what].setdefault(kind, []).append((terms(shape), found[what]))
        periods.setdefault(speed, []).append((paths(shape), 1000 / found["mhz"]))
    return {
        "versions": [tool_version(tool) for tool in ("yosys", "nextpnr-ice40", "nextpnr-ecp5")],
        **{
            what: {kind: solve([terms for terms, _ in rows], [y for _, y in rows]) for kind, rows in groups.items()}
            for what, groups in cells.items()
        },
        "period": {speed: fit_period(rows, SLOWNESS[speed]) for speed, rows in periods.items()},
    }


def solve(rows: Sequence[Terms], measured: Sequence[float], guess: Terms | None = None) -> dict[str, float]:
    """The coefficients with the least sum of squares of relative errors; those that matter little stay near their
    ``guess``, or near zero."""
    names = list(dict.fromkeys(name for row in rows for name in row)) if guess is None else list(guess)
    y = np.array(measured)
    x = np.array([[row.get(name, 0) for name in names] for row in rows]) / y[:, None]
    first = np.array([guess[name] for name in names]) if guess else np.zeros(len(names))
    # Without a guess a coefficient is measured by what it would have to be if it were the only one.
    scale = STRENGTH * (1 / first if guess else np.maximum(x.max(axis=0), 1e-12) / 4)
    solution, *_ = np.linalg.lstsq(
        np.vstack([x, np.diag(scale)]), np.concatenate([np.ones(len(y)), scale * first]), rcond=None
    )
    return dict(zip(names, (round(float(value), 5) for value in solution), strict=True))


def fit_period(rows: Sequence[tuple[dict[str, Terms], float]], slowness: float) -> dict[str, float]:
    """Which path decides depends on the coefficients, and they on it: in turn, until nothing changes. That need not
    come to an end, so the best that was met is taken."""
    guess = {name: slowness * value for name, value in GUESS.items()}
    measured = [period for _, period in rows]
    tried: list[tuple[float, dict[str, float]]] = []
    weights = guess
    for _ in range(50):
        slowest = [max(candidates.values(), key=lambda terms: weigh(weights, terms)) for candidates, _ in rows]
        weights = solve(slowest, measured, guess)
        found = [max(weigh(weights, terms) for terms in candidates.values()) for candidates, _ in rows]
        off = sum((period / real - 1) ** 2 for period, real in zip(found, measured, strict=True))
        if (off, weights) in tried:
            break
        tried.append((off, weights))
    return min(tried, key=lambda each: each[0])[1]


def held_out(table: dict[str, Any], say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Estimates beside synthesis (the core alone; the median of three seeds) for designs that were not fitted."""
    rows = []
    for number, design in enumerate(held_out_set(), start=1):
        found, shape = measure(design, (1, 2, 3), alone=True), shape_of(design)
        guess = estimate(shape, table)
        config = shape.config
        rows.append(
            {
                **{"device": design.device.name, "target": design.target, "ring": config.ring.name},
                **{"bits": config.bits, "threads": config.threads, "width": config.width, "depth": config.depth},
                **{"attention": config.attention, "check": config.check, "rom": design.rom},
            }
            | {
                name: {"estimate": getattr(guess, name), "measured": real, "error": getattr(guess, name) / real - 1}
                for name, real in found.items()
            }
        )
        say(f"{number} {design.device.name}, {config.ring.name}: {found['lut4']} LUT4, {found['mhz']:.1f} MHz")
    return rows


def summary(rows: Sequence[dict[str, Any]]) -> tuple[dict[str, float], dict[str, float]]:
    """The worst and the median relative error of each figure."""
    errors = {name: [abs(row[name]["error"]) for row in rows] for name in ("lut4", "ff", "mhz")}
    return {n: max(e) for n, e in errors.items()}, {n: statistics.median(e) for n, e in errors.items()}
