"""``skinny trace``: every register after every instruction."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
from skinny.model.errors import InputError
from skinny.model.program.storage import load
from skinny.model.program.text import instruction_texts, scalar_texts
from skinny.model.rings import Array, Ring, parse_ring
from skinny.model.run.golden import trace
from skinny.model.run.vcd import write_vcd
from skinny.trace import trace_lines

from .common import add_command, note, print_json, readable
from .inputs import read_inputs, read_start
from .run import add_run_options

__all__ = ["register"]

DETAILS = """\
A line for each instruction with the registers after it; * marks the register that was written. Outputs are sent from
the registers shown. With --vcd the trace goes to a waveform file instead, one time step for each instruction.

JSON keys: program, ring, row, instructions, registers (the start, then after each instruction), outputs, and vcd.

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
    ring = parse_ring(args.ring)
    program = load(args.program)
    inputs = read_inputs(args.inputs, program.inputs, ring)
    start = read_start(args.start, program.width, ring)
    if not 1 <= args.row <= len(inputs):
        raise InputError(f"--row must be 1 to {len(inputs)}, not {args.row}")
    inputs = inputs[args.row - 1 : args.row]
    with np.errstate(all="ignore"):  # floats may overflow; inf says so
        if not (args.json or args.vcd):
            bold = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")
            for line in trace_lines(program, ring, inputs, start, bold):
                print(line)
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
                "outputs": {o.name: _readable_row(ring, registers[o.at])[o.register] for o in program.outputs},
                "vcd": args.vcd,
            }
        )
    else:
        note(f"{args.vcd}: {len(program):,} steps of {program.width} registers")


def _readable_row(ring: Ring, registers: Array) -> list[int | float | str]:
    return [readable(ring.decode(element), f"R{number}") for number, element in enumerate(registers)]
