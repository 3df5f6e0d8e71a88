"""``skinny bench fpga``: area and frequency of the core on every device, and what was promised of them."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter
from typing import Any

from skinny.model.errors import CheckError
from skinny.scripts.common import add_command, print_json, print_table
from skinny.scripts.progress import working
from skinny.sim.fpga.devices import DEVICES, find_device
from skinny.trace import expect_png

from .fpga_rivals import RIVALS

__all__ = ["register"]

DETAILS = """\
Synthesis, place and route of the core (fixed point, half of the bits fraction, 3 registers, 4 threads, 1024 words, 64
inputs, 256 weights, attention and check) at 8, 16 and 32 bits, of a minimal core (8 bit, one thread, no attention, no
check, ROM), and of the limit: a bare multiply-accumulate, alone and fed from block RAM. Best of three seeds. Results
are kept, so that a second run takes seconds; the first takes about eleven minutes on two processors.

LUT counts the carry cells of ECP5, which take the place of two LUTs each. "cells" are the logic cells of iCE40 that
hold the design alone, "placed" the logic cells or slices that it takes with the registers that feed its pins. "to
limit" compares with the bare one fed from block RAM, of the same parts. nextpnr knows no timing for the multiplier
block of UP5K: no more than the 50 MHz of its data sheet count there, and where it has no registers around it (minimal
core, 32 bits) its 9 ns are added. The rivals were measured earlier, with the same tools, not in this run.

A promise that is missed is exit code 1.

JSON keys: designs, rivals, claims (claim, sense, asked, reached, met), seeds, seconds; picture with -o.

example:
  $ skinny bench fpga --quick
  $ skinny bench fpga -o fpga.png
"""
Row = dict[str, Any]

#: ecp5-85k is the same fabric as ecp5-25k.
USUAL = ("up5k", "hx8k", "ecp5-25k")
QUICK = "up5k"


def register(benches: Any) -> None:
    parser = add_command(benches, "fpga", execute, "area and frequency on FPGAs, against the limit and rivals", DETAILS)
    parser.add_argument("--quick", action="store_true", help="one device, one size, one seed: a minute")
    parser.add_argument(
        *("--device", "-d"),
        action="append",
        metavar="DEVICE",
        help=f"{', '.join(DEVICES)} (default: {', '.join(USUAL)})",
    )
    parser.add_argument("-o", "--output", metavar="FILE.png", help="draw rates against area")


def execute(args: argparse.Namespace) -> None:
    devices = args.device or ([QUICK] if args.quick else USUAL)
    for name in devices:
        find_device(name)
    if args.output is not None:
        expect_png(args.output)

    # Loaded here, because other benches do not need the tools.
    from .fpga_designs import bench_subjects, claims, subjects

    began = perf_counter()
    seeds = (1,) if args.quick else (1, 2, 3)
    wanted = subjects(devices, (16,) if args.quick else (8, 16, 32))
    with working("synthesis, place and route of designs", len(wanted)) as work:
        rows = bench_subjects(wanted, seeds, work.found)
    held = claims(rows)
    rivals = [
        {"rival": rival.name, "device": device, "lut": rival.luts[device], "mhz": rival.mhz[device]}
        | {"cycles_per_mac": rival.cycles, "macs_per_second": rival.rate(device)}
        for rival in RIVALS
        for device in devices
        if device in rival.mhz
    ]
    if args.output is not None:
        from .fpga_picture import draw_rates

        draw_rates(rows, rivals, args.output)
    if args.json:
        answer = {"designs": rows, "rivals": rivals, "claims": held, "seeds": len(seeds)}
        print_json(answer | {"seconds": perf_counter() - began, "picture": args.output})
    else:
        _show(COLUMNS, rows)
        if any(row["mhz"] == row["cap"] for row in rows):
            print("* what the data sheet allows the multiplier block; nextpnr has no timing for it, and gives more")
        print()
        _show(RIVAL_COLUMNS, rivals)
        print()
        _show(CLAIM_COLUMNS, held)
    missed = [claim["claim"] for claim in held if not claim["met"]]
    if missed:
        raise CheckError(f"{len(missed)} of {len(held)} promises missed: {'; '.join(missed)}")


#: Heads of columns, and what stands in them.
COLUMNS: dict[str, Callable[[Row], object]] = {
    "device": lambda row: row["device"],
    "parts": lambda row: row["parts"],
    "design": lambda row: row["design"],
    "bits": lambda row: row["bits"],
    "LUT": lambda row: row["lut"],
    "FF": lambda row: row["ff"],
    "cells": lambda row: "" if row["cells"] is None else row["cells"],
    "placed": lambda row: row["placed_cells"],
    "DSP": lambda row: row["dsp"],
    "RAM": lambda row: row["block_ram"],
    "MHz": lambda row: f"{row['mhz']:.1f}{'*' * (row['mhz'] == row['cap'])}",
    "to limit": lambda row: _number(row["to_limit"], ".2f"),
    "M MAC/s": lambda row: f"{row['macs_per_second'] / 1e6:.1f}",
    "k MAC/s a LUT": lambda row: f"{row['macs_per_second_per_lut'] / 1e3:,.0f}",
    "times picorv32": lambda row: _number(row["times_picorv32"], ".1f"),
    "its LUTs": lambda row: _number(row["luts_to_picorv32"], ".0%"),
}
RIVAL_COLUMNS: dict[str, Callable[[Row], object]] = {
    "device": lambda row: row["device"],
    "measured earlier, not in this run": lambda row: row["rival"],
    "LUT": lambda row: row["lut"],
    "MHz": lambda row: row["mhz"],
    "cycles a MAC": lambda row: f"{row['cycles_per_mac']:,}",
    "M MAC/s": lambda row: f"{row['macs_per_second'] / 1e6:.3f}",
    "k MAC/s a LUT": lambda row: f"{row['macs_per_second'] / row['lut'] / 1e3:.3f}",
}
CLAIM_COLUMNS: dict[str, Callable[[Row], object]] = {
    "promise": lambda row: row["claim"],
    "asked": lambda row: f"{row['sense']} {row['asked']:g}",
    "reached": lambda row: f"{row['reached']:.4g}",
    "met": lambda row: "yes" if row["met"] else "NO",
}


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _show(columns: dict[str, Callable[[Row], object]], rows: list[Row]) -> None:
    print_table(list(columns), [[cell(row) for cell in columns.values()] for row in rows])
