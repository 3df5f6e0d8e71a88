"""``skinny trace``: every register after every instruction."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
from skinny.answers import watched_run
from skinny.model.errors import InputError
from skinny.model.program.text import instruction_texts, scalar_texts
from skinny.model.program.units import Units
from skinny.model.rings import Array, Ring
from skinny.model.run.golden import trace
from skinny.model.run.vcd import write_vcd
from skinny.trace import trace_lines
from skinny.values import printable

from .common import add_command, note, print_json, readable, tell
from .inputs import read_inputs, read_start
from .options import load_program
from .run import add_run_options

__all__ = ["register"]

DETAILS = """\
A line for each instruction with the registers after it; * marks the register that was written. Outputs are sent from
the registers shown. With --vcd the trace goes to a waveform file instead, one time step for each instruction. Where the
program has scales, registers are as the core holds them, and outputs are in your own units.

JSON keys: program, ring, row, instructions, registers (the start, then after each instruction), outputs, vcd, and
precision (as for skinny run).

example:
  $ skinny compile 'y = a*b' -o product.skn
  $ skinny trace product.skn --ring modular:16 --inputs a=3,b=5
                  R0   R1   R2
  0  start         0    1    0
  1  R2 += b*R1    0    1    5*
  2  R0 += a*R2   15*   1    5   y = R0
  $ skinny trace product.skn --ring modular:16 --inputs values.csv --row 7 --vcd product.vcd
"""


def register(commands: Any) -> None:
    parser = add_command(commands, "trace", execute, "show the registers after each instruction", DETAILS)
    add_run_options(parser)
    parser.add_argument("--row", metavar="N", type=int, default=1, help="which row of the inputs, from 1 (default: 1)")
    parser.add_argument("--vcd", metavar="FILE", help="write a waveform (value change dump)")


def execute(args: argparse.Namespace) -> None:
    program, ring = load_program(args)
    units = Units(program, ring)
    given = read_inputs(args.inputs, units)
    start = read_start(args.start, program.width, ring)
    if not 1 <= args.row <= len(given.elements):
        raise InputError(f"--row must be 1 to {len(given.elements)}, not {args.row}")
    row = given.row(args.row - 1)
    sent, precision = watched_run(program, ring, row, start)
    inputs = row.elements
    with np.errstate(all="ignore"):  # floats may overflow; inf says so
        if not (args.json or args.vcd):
            bold = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")
            for line in trace_lines(program, ring, inputs, start, bold):
                print(line)
            tell(precision, args.strict)
            return
        registers = trace(program, ring, inputs, start)[:, 0]
    if args.vcd:
        write_vcd(args.vcd, program, ring, registers)
    if args.json:
        print_json(
            {
                "program": args.program,
                "ring": ring.name,
                "row": args.row,
                "instructions": instruction_texts(program, scalar_texts(program), 0, len(program)),
                "registers": [_readable_row(ring, row) for row in registers],
                "outputs": printable(units.decode_row(sent[0])),
                "vcd": args.vcd,
                "precision": precision.counts,
            }
        )
    else:
        note(f"{args.vcd}: {len(program):,} steps of {program.width} registers")
    tell(precision, args.strict)


def _readable_row(ring: Ring, registers: Array) -> list[int | float | str]:
    return [readable(ring.decode(element), f"R{number}") for number, element in enumerate(registers)]
