"""``skinny bench power-up``: designs run right from any contents of their registers and memories."""

from __future__ import annotations

import argparse
from typing import Any

from skinny.model.errors import CheckError, InputError
from skinny.model.rings import parse_ring
from skinny.scripts.common import add_command, print_json, print_table
from skinny.scripts.progress import working

__all__ = ["register"]

DETAILS = """\
Fills every register and every memory of a design with random bits, as they may be when power comes on, resets it for a
cycle, loads a program and runs it: 50 times for each design and ring. Cores and lanes are compared with the cycle model
in every cycle, boards by the results that the host library gets. If a run is not right, the exit code is 1.

JSON keys: runs, a list with design, ring, seeds, right.

example:
  $ skinny bench power-up
"""
RINGS = ("fixed:16.8", "modular:16", "prime:8191", "boolean")
SEEDS = 50


def register(benches: Any) -> None:
    add_command(benches, "power-up", execute, "runs from random contents of all registers and memories", DETAILS)


def execute(args: argparse.Namespace) -> None:
    from skinny.sim.build import missing_tools
    from skinny.sim.upsets.power_up import DESIGNS, power_up

    if missing := missing_tools():
        raise InputError(f"random power-up needs the compiled simulation: {missing}")
    rows: list[dict[str, Any]] = []
    wrong: list[str] = []
    with working("random power-up", len(DESIGNS) * len(RINGS) * SEEDS) as work:
        for design in DESIGNS:
            for ring in RINGS:
                right = 0
                for seed, found in enumerate(power_up(design, parse_ring(ring), range(SEEDS))):
                    right += found is None
                    wrong += [] if found is None else [f"{design}, {ring}, seed {seed}: {found}"]
                    work.step(f"random power-up, {design}, {ring}")
                rows.append({"design": design, "ring": ring, "seeds": SEEDS, "right": right})
    if args.json:
        print_json({"runs": rows})
    else:
        print_table(list(rows[0]), [list(row.values()) for row in rows])
    if wrong:
        raise CheckError(f"{len(wrong):,} of {len(rows) * SEEDS:,} runs are not right; the first: {wrong[0]}")
