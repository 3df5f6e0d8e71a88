"""``skinny run``: a program on inputs, bit for bit as the hardware computes it."""

from __future__ import annotations

import argparse
from typing import Any

from skinny.answers import watched_run
from skinny.model.program.units import Units

from .common import SHOWN, add_command, named_results, print_json, print_results, tell
from .inputs import read_inputs, read_start
from .options import add_inputs_option, add_program_options, add_strict_option, load_program

__all__ = ["add_run_options", "register"]

DETAILS = """\
A CSV file has a header with the names of the inputs, in any order, and a row for each inference. Numbers are decimals
or fractions in your own units; a program with scales (see 'skinny info') applies them, to inputs and to results.

A number that the ring has no element for is rounded to the nearest one in fixed point, and an error elsewhere, as is
one out of range. Fixed point says on stderr, in one line, which weights became 0 or changed by more than 1 %, in how
many rows a value wrapped that was read (sums may wrap and come out right), how many rows are outside the box that the
program was compiled for, and how many input values were rounded; with --strict that is exit code 1.

JSON keys: program, ring, batch, outputs (a list of values for each name; what is neither an integer nor a decimal is
a text like "3/4"), precision (zero_weights, changed_weights, wrapped_rows, outside_rows,
rounded_inputs).

example:
  $ skinny compile 'y = (a + 2*b)^3' -o cube.skn
  $ skinny run cube.skn --ring modular:16 --inputs a=1,b=-2
  row     y
  ─────────
    1   -27
  $ skinny run cube.skn --ring fixed:16.8 --inputs values.csv --json
"""


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """The program, the ring and the inputs, as ``run`` and ``trace`` take them."""
    add_program_options(parser)
    add_inputs_option(parser)
    add_strict_option(parser)
    parser.add_argument("--start", metavar="R0,R1,…", help="start vector instead of the program's")


def register(commands: Any) -> None:
    add_run_options(add_command(commands, "run", execute, "run a program on inputs in a ring", DETAILS))


def execute(args: argparse.Namespace) -> None:
    program, ring = load_program(args)
    units = Units(program, ring)
    inputs = read_inputs(args.inputs, units)
    values, precision = watched_run(program, ring, inputs, read_start(args.start, program.width, ring))
    if args.json:
        answer = {"program": args.program, "ring": ring.name, "batch": len(values)}
        print_json(answer | {"outputs": named_results(units, values), "precision": precision.counts})
    else:
        print_results(named_results(units, values[:SHOWN]), len(values))
    tell(precision, args.strict)
