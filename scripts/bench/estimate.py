"""``skinny bench estimate``: how far the estimates of ``skinny fpga --estimate`` are off, and their fit."""

from __future__ import annotations

import argparse
import json
from typing import Any

from skinny.model.errors import CheckError
from skinny.model.files import write_file
from skinny.scripts.common import add_command, print_json, print_table
from skinny.scripts.progress import working

__all__ = ["register"]

DETAILS = """\
Twenty cores that the formulas were not fitted to, on all devices, are synthesised, placed and routed with five seeds;
estimates are compared with the LUTs, registers and (on iCE40) logic cells of the core alone and with the median
frequency. More than 15 % off in LUTs, cells or MHz is exit code 1. --fit first measures 144 others, two seeds each,
fits the coefficients anew and writes them, with the errors, into the package: for use after a change of the core or of
the tools. Results are kept; a first run takes a quarter of an hour on two free processors, with --fit an hour.

JSON keys: designs (device, target, ring, ..., lut4, ff, cells and mhz with estimate, measured and error), worst,
median.

example:
  $ skinny bench estimate
  $ skinny bench estimate --fit
"""
ALLOWED = {"lut4": 0.15, "cells": 0.15, "mhz": 0.15}


def register(benches: Any) -> None:
    parser = add_command(benches, "estimate", execute, "how far estimates of area and frequency are off", DETAILS)
    parser.add_argument("--fit", action="store_true", help="fit the coefficients anew and keep them")


def execute(args: argparse.Namespace) -> None:
    # Loaded here, because other benches do not need the tools.
    from skinny.sim.fpga.estimate import TABLE, read_table
    from skinny.sim.fpga.fit import fit, held_out, summary

    with working("synthesis, place and route of designs") as work:
        table = fit(work.found) if args.fit else read_table()
        rows = held_out(table, work.found)
    worst, median = summary(rows)
    if args.fit:
        text = json.dumps(table | {"worst": worst, "held_out": rows}, indent=1) + "\n"
        write_file(TABLE, lambda file: file.write(text.encode()))
    if args.json:
        print_json({"designs": rows, "worst": worst, "median": median})
    else:
        heads = ("device", "target", "ring", "bits", "threads", "width")
        figures = {"lut4": ".0f", "ff": ".0f", "cells": ".0f", "mhz": ".1f"}
        print_table(
            (*heads, *(head for name in figures for head in (f"{name}, estimate", "measured", "error"))),
            [
                [row[head] for head in heads]
                + [text for name, form in figures.items() for text in _texts(row.get(name), form)]
                for row in rows
            ],
        )
        for name in worst:
            print(f"{name}: worst error {worst[name]:.1%}, median {median[name]:.1%}")
    if missed := [f"{name} {worst[name]:.1%} off" for name, most in ALLOWED.items() if worst[name] > most]:
        raise CheckError(f"estimates are too far off: {', '.join(missed)}")


def _texts(figure: dict[str, float] | None, form: str) -> tuple[str, str, str]:
    """What is estimated, measured and off; nothing where there is no such figure."""
    if figure is None:
        return "", "", ""
    return format(figure["estimate"], form), format(figure["measured"], form), f"{figure['error']:+.1%}"
