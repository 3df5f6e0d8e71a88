"""Estimates without synthesis: closed formulas whose coefficients :mod:`.fit` found from our own synthesis runs.

LUTs, registers and the delays of paths are sums of terms (:mod:`.terms`), each times its coefficient; logic cells of
iCE40 follow from LUTs and registers, of which some share a cell. Coefficients and the errors that were found on designs
that were not fitted are kept in ``estimate.json``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from skinny.model.errors import InputError
from skinny.model.machine.cycles import cycles_per_inference
from skinny.model.machine.image import MachineImage
from skinny.model.rings import PrimeField

from .devices import Device
from .expected import expect_fit, expected_cells
from .terms import Shape, ff_terms, lut_terms, paths, weigh

__all__ = [
    "LEAST_FOR_PRIMES",
    "RANGES",
    "TABLE",
    "Estimate",
    "NoEstimateError",
    "estimate",
    "estimate_report",
    "read_table",
]

TABLE = Path(__file__).with_name("estimate.json")
#: The ranges of the parameters of the designs that were fitted.
RANGES = {
    "bits": (7, 32),
    "threads": (1, 6),
    "width": (3, 5),
    "depth": (16, 4096),
    "inputs": (2, 128),
    "weights": (2, 512),
    "fifo": (16, 128),
}
#: With fewer threads the reduction after a product in a prime field is not cut off from the registers, and synthesis
#: makes of it what no formula tells.
LEAST_FOR_PRIMES = 4


class NoEstimateError(InputError):
    """There is no formula for a core."""


class Estimate(NamedTuple):
    """The estimated figures of a core. ``cells`` are logic cells, None on ECP5, whose slices depend on the placement.
    ``mhz`` is the median of seeds as nextpnr reports it, ``path`` the path that decides it. ``outside`` names the
    parameters whose values no fitted design had."""

    lut4: int
    ff: int
    cells: int | None
    mhz: float
    path: str
    outside: tuple[str, ...]


def read_table() -> dict[str, Any]:
    """The coefficients and errors of the last fit."""
    found: dict[str, Any] = json.loads(TABLE.read_text())
    return found


def estimate(shape: Shape, table: Mapping[str, Any]) -> Estimate:
    """The estimate for ``shape`` with the coefficients of ``table``. Raises :exc:`NoEstimateError` where there is no
    formula: for primes that are not Mersenne's, and for primes with few threads."""
    config = shape.config
    if isinstance(config.ring, PrimeField):
        if config.ring.p & (config.ring.p + 1):
            raise NoEstimateError(f"there is no estimate for {config.ring.name}: only for primes of the form 2^k - 1")
        if config.threads < LEAST_FOR_PRIMES:
            raise NoEstimateError(
                f"there is no estimate for {config.ring.name} with fewer than {LEAST_FOR_PRIMES} threads"
            )
    cells, speed = shape.groups
    delays = {name: weigh(table["period"][speed], terms) for name, terms in paths(shape).items()}
    slowest = max(delays, key=lambda name: delays[name])
    lut4, ff = weigh(table["lut4"][cells], lut_terms(shape)), weigh(table["ff"][cells], ff_terms(shape))
    shared = table["cells"].get(cells)
    return Estimate(
        lut4=round(lut4),
        ff=round(ff),
        cells=None if shared is None else round(weigh(shared, {"lut4": lut4, "ff": ff})),
        mhz=1000 / delays[slowest],
        path=slowest,
        outside=tuple(
            f"{name} {getattr(config, name)} (fitted: {least} to {most})"
            for name, (least, most) in RANGES.items()
            if not least <= getattr(config, name) <= most
        ),
    )


def estimate_report(image: MachineImage, device: Device, target: str, *, rom: bool) -> dict[str, Any]:
    """The figures of a synthesis report, as far as they can be estimated. Raises :exc:`NoEstimateError` where there
    is no formula and :exc:`InputError` where the core does not fit."""
    config = image.config
    if len(image.lanes) > 1 or config.guard:
        raise NoEstimateError("there are no estimates of engines and of cores with the guard")
    if config.relu or config.argmax or config.deep or config.streams or config.repeat:
        raise NoEstimateError(
            "there are no estimates of cores with relu, argmax, registers in memory, state, a window or loops"
        )
    table = read_table()
    found = estimate(Shape(config, device, target, rom), table)
    cells = expected_cells(config, device, target=target, rom=image if rom else None)
    expect_fit(cells, device)
    if (needed := found.cells or max(found.lut4, found.ff)) > device.cells:
        raise InputError(
            f"the core does not fit {device.name}: it needs about {needed:,} cells, there are {device.cells:,}"
        )
    cap = device.cap if cells.dsp[-1] else None
    effective = device.usable(found.mhz, blocks=cells.dsp[-1], bits=config.bits, threads=config.threads)
    cycles = cycles_per_inference(image)
    return {
        "device": device.name,
        "ring": config.ring.name,
        "target": target,
        "rom": rom,
        # A rom may come out with fewer.
        "core": {
            **{"lut4": found.lut4, "ff": found.ff, "cells": found.cells},
            **{"dsp": cells.dsp[-1], "block_ram": cells.block_ram[-1]},
        },
        "mhz": {"median": found.mhz, "cap": cap, "effective": effective},
        "critical_path": found.path,
        "cycles_per_inference": cycles,
        "inferences_per_second": effective * 1e6 / cycles,
        "state_bits": config.threads * (config.width + config.attention) * config.bits,
        "program_words": len(image),
        "program_bits": len(image) * config.word_bits,
        "worst_errors": table["worst"],
        "outside": list(found.outside),
    }
