"""``skinny run``: a program on inputs, bit for bit as the hardware computes it."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from skinny.model.program.storage import load
from skinny.model.rings import parse_ring
from skinny.model.run.golden import run

from .common import SHOWN, add_command, named_results, print_json, print_results
from .inputs import read_inputs, read_start
from .options import add_inputs_option

__all__ = ["add_run_options", "register"]

DETAILS = """\
A CSV file has a header with the names of the inputs, in any order, and a row for each inference. Numbers are decimals
or fractions and are read exactly; one that is no element of the ring is an error.

JSON keys: program, ring, batch, outputs (a list of values for each name; what is neither an integer nor a decimal is
a text like "3/4").

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
    parser.add_argument("program", metavar="PROGRAM", help="a .skn or .npz file")
    parser.add_argument(
        "--ring",
        required=True,
        metavar="RING",
        help="modular:BITS, fixed:BITS.FRAC, prime:P, boolean, exact or real",
    )
    add_inputs_option(parser)
    parser.add_argument("--start", metavar="R0,R1,…", help="start vector instead of the program's")


def register(commands: Any) -> None:
    add_run_options(add_command(commands, "run", execute, "run a program on inputs in a ring", DETAILS))


def execute(args: argparse.Namespace) -> None:
    ring = parse_ring(args.ring)
    program = load(args.program)
    inputs = read_inputs(args.inputs, program.inputs, ring)
    with np.errstate(all="ignore"):  # floats may overflow; inf says so
        values = run(program, ring, inputs, read_start(args.start, program.width, ring)).outputs
    names = [output.name for output in program.outputs]
    if args.json:
        columns = named_results(ring, names, values)
        print_json({"program": args.program, "ring": ring.name, "batch": len(inputs), "outputs": columns})
    else:
        print_results(named_results(ring, names, values[:SHOWN]), len(values))
