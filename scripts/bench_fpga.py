"""``skinny bench fpga``: area and frequency of the core on every device, and what was promised of them."""

from __future__ import annotations

import argparse
from pathlib import Path
from time import perf_counter
from typing import Any

from skinny.model.errors import CheckError, InputError
from skinny.sim.fpga.devices import DEVICES, find_device

from .common import add_command, note, print_json, print_table
from .fpga_rivals import RIVALS

__all__ = ["register"]

DETAILS = """\
Synthesis, place and route of the core (fixed point, half of the bits fraction, 3 registers, 4 threads, 1024 words, 64
inputs, 256 weights, attention and check) at 8, 16 and 32 bits, of a minimal core (8 bit, 2 threads, no attention, no
check, ROM), and of the limit: a bare multiply-accumulate, alone and fed from block RAM. Best of three seeds. Results are
kept, so that a second run takes seconds; the first takes about ten minutes on two processors.

LUT counts the carry cells of ECP5, which take the place of two LUTs each. "to limit" compares with the bare one fed
from block RAM, of the same parts. nextpnr knows no timing for the multiplier block of UP5K: no more than the 50 MHz of
its data sheet count there. The rivals were measured earlier, with the same tools, not in this run.

A promise that is missed is exit code 1.

JSON keys: designs, rivals, claims (claim, sense, asked, reached, met), seeds, seconds; picture with -o.

example:
  $ skinny bench fpga --quick
  $ skinny bench fpga -o fpga.png
"""
#: ecp5-85k is the same fabric as ecp5-25k.
USUAL = ("up5k", "hx8k", "ecp5-25k")
QUICK = "up5k"


def register(benches: Any) -> None:
    parser = add_command(benches, "fpga", execute, "area and frequency on FPGAs, against the limit and rivals", DETAILS)
    parser.add_argument("--quick", action="store_true", help="one device, one size, one seed: a minute")
    parser.add_argument(
        *("--device", "-d"), action="append", metavar="DEVICE", help=f"{', '.join(DEVICES)} (default: {', '.join(USUAL)})"
    )
    parser.add_argument("-o", "--output", metavar="FILE.png", help="draw rates against area")


def execute(args: argparse.Namespace) -> None:
    devices = args.device or ([QUICK] if args.quick else USUAL)
    for name in devices:
        find_device(name)
    if args.output is not None and Path(args.output).suffix != ".png":
        raise InputError(f"{args.output}: the name of a picture must end in .png")

    # Loaded here, because other benches do not need the tools.
    from .fpga_designs import bench_designs, claims, designs

    began = perf_counter()
    seeds = (1,) if args.quick else (1, 2, 3)
    rows = bench_designs(designs(devices, (16,) if args.quick else (8, 16, 32)), seeds, note)
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
        _show(rows, rivals, held)
    missed = [claim["claim"] for claim in held if not claim["met"]]
    if missed:
        raise CheckError(f"{len(missed)} of {len(held)} promises missed: {'; '.join(missed)}")


def _show(rows: list[dict[str, Any]], rivals: list[dict[str, Any]], held: list[dict[str, Any]]) -> None:
    def number(value: float | None, form: str) -> str:
        return "" if value is None else format(value, form)

    print_table(
        ("device", "parts", "design", "bits", "LUT", "FF", "DSP", "RAM", "MHz", "to limit", "M MAC/s", "k MAC/s/LUT")
        + ("x picorv32", "of its LUTs"),
        [
            (row["device"], row["parts"], row["design"], row["bits"], row["lut"], row["ff"], row["dsp"])
            + (row["block_ram"], f"{row['mhz']:.1f}{' (cap)' * (row['mhz'] == row['cap'])}")
            + (number(row["to_limit"], ".2f"), f"{row['macs_per_second'] / 1e6:.1f}")
            + (f"{row['macs_per_second_per_lut'] / 1e3:,.0f}", number(row["times_picorv32"], ".1f"))
            + (number(row["luts_to_picorv32"], ".0%"),)
            for row in rows
        ],
    )
    print()
    print_table(
        ("device", "measured earlier, not in this run", "LUT", "MHz", "cycles a MAC", "M MAC/s", "k MAC/s/LUT"),
        [
            (row["device"], row["rival"], row["lut"], row["mhz"], f"{row['cycles_per_mac']:,}")
            + (f"{row['macs_per_second'] / 1e6:.3f}", f"{row['macs_per_second'] / row['lut'] / 1e3:.3f}")
            for row in rivals
        ],
    )
    print()
    print_table(
        ("promise", "asked", "reached", "met"),
        [
            (claim["claim"], f"{claim['sense']} {claim['asked']:g}", f"{claim['reached']:.4g}", "yes" if claim["met"] else "NO")
            for claim in held
        ],
    )
