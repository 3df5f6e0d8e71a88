"""The coefficients of the estimates, fitted to synthesis runs, and the errors of the estimates."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np

from .estimate import estimate
from .report import Design
from .samples import fitting_set, held_out_set, measure
from .terms import Shape, Terms, ff_terms, lut_terms, paths, weigh
from .tools import side_by_side, tool_version

__all__ = ["fit", "fit_period", "held_out", "shape_of", "solve", "summary"]

#: The weight of staying near the guesses, against the weight of meeting the designs.
STRENGTH = {"lut4": 0.03, "ff": 0.02, "cells": 0.02, "period": 0.1}
#: Guesses for LUTs, read off the structure of the core.
LUTS: Terms = {
    "core": 60,
    "register": 3,
    "load port": 20,
    "address bit": 2.5,
    "FIFO address bit": 4,
    "bit of a short counter": 0.5,
    "bit": 3,
    "bit of a gate": 1,
    "bit of a register": 1,
    "bit of a register, one thread, load port": 0.3,
    "bit, up to two threads": 0.3,
    "bit, four threads and more": 0.3,
    "bit, attention": 3,
    "bit of a register, check": 1,
    "bit of a register, check, one thread": 0.2,
    "bit, Boolean": -2,
    "bit, Mersenne prime": 5,
    "bit of partial products": 1,
    "bit, product in LUTs": 1,
    "bit kept, product of blocks": 1.5,
    "bit kept, product of blocks, one thread": 1,
    "bit kept, product of a block and a bit": 1,
}
#: Guesses for registers, read off the structure of the core.
REGISTERS: Terms = {
    "core": 60,
    "bit of state": 1,
    "bit of a scalar": 1,
    "bit of the pipeline": 1,
    "bit, thread": 1,
    "bit of a start vector": 1,
    "bit of a gated start vector": 1,
    "bit of a register, check": 1,
    "bit of a memory": 1,
    "bit of a word": 1,
    "address bit": 1.5,
    "address bit, thread": 1,
    "thread": 10,
    "thread, register": 2,
    "bit of operands": 0.5,
    "bit of operands, product in LUTs": 0.5,
    "bit of a product": 0.3,
    "bit of a product in LUTs": 0.3,
    "bit of a product of blocks": 0.3,
    "bit, Boolean": 0.3,
    "bit, Mersenne prime": 0.3,
}
#: Guesses of smaller size than this count as of this size.
SMALLEST = 0.3
#: Guesses for delays in ns on HX8K, where a LUT with its wires takes 1.5.
DELAYS: Terms = {
    "control": 6.0,
    "control, address bit": 0.03,
    "control, load port": 0.3,
    "control, bit of a loaded register": 0.008,
    "decode": 6.0,
    "decode, no power of two": 1.0,
    "select": 3.0,
    "select, register": 0.1,
    "select, bit": 0.02,
    "product": 1.5,
    "product beside a bit": 1.5,
    "product of bits": 1.5,
    "product of blocks": 6.0,
    "product of blocks, bit kept": 0.1,
    "product in LUTs": 5.0,
    "product in LUTs, bit": 0.2,
    "product in LUTs, bit kept": 0.15,
    "negate": 1.5,
    "sum": 2.5,
    "sum, bit": 0.13,
    "sum of three": 1.5,
    "fold": 6.0,
    "fold, bit": 0.27,
    "write": 1.5,
    "write, attention": 1.5,
    "check": 4.0,
    "check, level": 1.0,
}
#: On ECP5 carries are fast; a block takes 4.5, and its wires.
FAST: Terms = {name: 0.7 * delay for name, delay in DELAYS.items()} | {
    "sum, bit": 0.03,
    "fold, bit": 0.15,
    "product beside a bit": 6.5,
    "product of blocks": 8.0,
    "product of blocks, bit kept": 0.08,
}
GUESS: dict[str, dict[str, Terms]] = {
    "lut4": {
        "ice40": LUTS,
        # Adders are made of carry cells alone.
        "ecp5": LUTS
        | {"bit": 1, "FIFO address bit": 2, "bit, Boolean": -1, "bit, Mersenne prime": 3}
        | {"bit kept, product of blocks": 0.5, "bit kept, product of blocks, one thread": 0.3},
    },
    "ff": {"ice40": REGISTERS, "ecp5": REGISTERS},
    # A quarter of the registers share a logic cell with the LUT that feeds them.
    "cells": {"ice40": {"lut4": 1, "ff": 0.75}},
    "period": {
        "hx8k": DELAYS,
        "up5k": {name: 2.1 * delay for name, delay in DELAYS.items()}
        # Without Booth's recoding.
        | {"product in LUTs": 14.0, "product of blocks": 4.0, "product of blocks, bit kept": 0.25},
        "ecp5, generic": FAST | {"control": 6.5, "product": 6.5},
        "ecp5, ecp5": FAST | {"control": 4.5, "product": 4.5},
    },
}


def shape_of(design: Design) -> Shape:
    """The parameters of ``design`` that the formulas use."""
    return Shape(design.image.config, design.device, design.target, design.rom)


def fit(say: Callable[[str], None]) -> dict[str, Any]:
    """Measure the fitting set, two seeds each, and fit; ``say`` is told of each design."""
    designs = fitting_set()
    cells: dict[str, dict[str, list[tuple[Terms, float]]]] = {"lut4": {}, "ff": {}, "cells": {}}
    periods: dict[str, list[tuple[dict[str, Terms], float]]] = {}
    for design, found in zip(designs, _measured(designs, (1, 2), say, alone=False), strict=True):
        shape = shape_of(design)
        kind, speed = shape.groups
        for what, terms in (("lut4", lut_terms), ("ff", ff_terms)):
            cells[what].setdefault(kind, []).append((terms(shape), found[what]))
        if "cells" in found:
            cells["cells"].setdefault(kind, []).append(({name: found[name] for name in ("lut4", "ff")}, found["cells"]))
        periods.setdefault(speed, []).append((paths(shape), 1000 / found["mhz"]))
    return {
        "versions": [tool_version(tool) for tool in ("yosys", "nextpnr-ice40", "nextpnr-ecp5")],
        **{
            what: {
                kind: solve([terms for terms, _ in rows], [y for _, y in rows], STRENGTH[what], GUESS[what][kind])
                for kind, rows in groups.items()
            }
            for what, groups in cells.items()
        },
        "period": {speed: fit_period(rows, GUESS["period"][speed]) for speed, rows in periods.items()},
    }


def _measured(
    designs: Sequence[Design], seeds: Sequence[int], say: Callable[[str], None], *, alone: bool
) -> list[dict[str, float]]:
    numbers = count(1)

    def work(design: Design) -> dict[str, float]:
        found = measure(design, seeds, alone=alone)
        what = f"{design.device.name}, {design.image.config.ring.name}"
        say(f"{next(numbers)}/{len(designs)} {what}: {found['lut4']:.0f} LUT4, {found['mhz']:.1f} MHz")
        return found

    return side_by_side(work, designs)


def solve(rows: Sequence[Terms], measured: Sequence[float], strength: float, guess: Terms) -> dict[str, float]:
    """The coefficients with the least sum of squares of relative errors; those that matter little stay near their
    ``guess``. A coefficient whose guess is positive does not become negative."""
    y = np.array(measured)
    x = np.array([[row.get(name, 0) for name in guess] for row in rows]) / y[:, None]
    first = np.array(list(guess.values()))
    scale = strength / np.maximum(np.abs(first), SMALLEST)
    a, b = np.vstack([x, np.diag(scale)]), np.concatenate([np.ones(len(y)), scale * first])
    solution = np.zeros(len(first))
    free = np.ones(len(first), dtype=bool)
    while True:
        solution[:] = 0
        solution[free] = np.linalg.lstsq(a[:, free], b, rcond=None)[0]
        if not (wrong := (solution < 0) & (first > 0)).any():
            return dict(zip(guess, (round(float(value), 5) for value in solution), strict=True))
        free &= ~wrong


def fit_period(rows: Sequence[tuple[dict[str, Terms], float]], guess: Terms) -> dict[str, float]:
    """The coefficients of delays that meet the measured periods best. The slowest path depends on the coefficients, and
    they depend on it, so both are found in turn, while the guess, which decides at first, loses its weight. That need
    not come to an end, so the best coefficients that were met are taken."""
    measured = [period for _, period in rows]
    tried: list[Terms] = []
    weights = guess
    for looser in np.geomspace(20, 1, 30):
        slowest = [max(candidates.values(), key=lambda terms: weigh(weights, terms)) for candidates, _ in rows]
        tried.append(solve(slowest, measured, STRENGTH["period"], guess))
        weights = solve(slowest, measured, looser * STRENGTH["period"], guess)

    def off(weights: Terms) -> float:
        found = [max(weigh(weights, terms) for terms in candidates.values()) for candidates, _ in rows]
        return sum((f / m - 1) ** 2 for f, m in zip(found, measured, strict=True))

    return min(tried, key=off)


def held_out(table: dict[str, Any], say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Estimates beside synthesis (the core alone; the median of five seeds) for designs that were not fitted."""
    rows = []
    designs = held_out_set()
    for design, found in zip(designs, _measured(designs, range(1, 6), say, alone=True), strict=True):
        shape = shape_of(design)
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
    return rows


def summary(rows: Sequence[dict[str, Any]]) -> tuple[dict[str, float], dict[str, float]]:
    """The worst and the median relative error of each figure."""
    names = ("lut4", "ff", "cells", "mhz")
    errors = {name: [abs(row[name]["error"]) for row in rows if name in row] for name in names}
    return {n: max(e) for n, e in errors.items()}, {n: statistics.median(e) for n, e in errors.items()}
