"""``skinny trace``: every register after every instruction."""

from __future__ import annotations

import argparse
import sys
from typing import Any, NamedTuple

import numpy as np
from skinny.answers import watched_run
from skinny.model.errors import InputError
from skinny.model.files import expect_file
from skinny.model.program.program import Program
from skinny.model.program.text import instruction_texts, scalar_texts
from skinny.model.program.units import Units
from skinny.model.rings import Array, Ring
from skinny.model.run.golden import trace
from skinny.model.run.precision import Precision
from skinny.model.run.stream import begin_streams, runs_of
from skinny.model.run.vcd import write_vcd
from skinny.streams import Piece, expect_full_window, first_sample, watched_stream
from skinny.trace import trace_lines
from skinny.values import printable, several

from .common import add_command, note, print_json, readable, tell
from .inputs import read_inputs, read_start, read_streams
from .options import expect_stream_options, load_program
from .outputs import add_output_option, expect_table, write_table
from .run import add_run_options

__all__ = ["register"]

DETAILS = """\
A line for each instruction with the registers after it; * marks the register that was written. Outputs are sent from
the registers shown. With --vcd the trace goes to a waveform file instead, one time step for each instruction; with -o
to a CSV file. Where the program has scales, registers are as the core holds them, and outputs are in your own units.

Of a stream (--stream, docs/streams.md) it is the sample --row that is traced, from the states that the samples before
left; --vcd without --row shows all samples one after the other, with their number in the signal sample.

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
  $ skinny trace product.skn --ring modular:16 --inputs a=3,b=5 -o registers.csv
  $ skinny trace sum.skn --ring fixed:16.8 --stream samples.csv --row 3
"""


def register(commands: Any) -> None:
    parser = add_command(commands, "trace", execute, "show the registers after each instruction", DETAILS)
    add_run_options(parser)
    parser.add_argument(
        "--row", metavar="N", type=int, help="which row of the inputs or sample, from 1 (default: the first that runs)"
    )
    parser.add_argument("--vcd", metavar="FILE", help="write a waveform (value change dump)")
    add_output_option(parser, "the registers after each instruction")


class _Chosen(NamedTuple):
    """What is traced: the row or sample ``number`` with its ``inputs``, of shape ``(1, inputs)``, its ``start`` and
    what it ``sent``. ``drawn`` are the inputs and starts of all that a waveform shows: of a stream all its samples."""

    number: int
    inputs: Array
    start: Array | None
    sent: Array
    precision: Precision
    drawn: tuple[Array, Array] | None = None


def execute(args: argparse.Namespace) -> None:
    expect_table(args.output)
    expect_file(args.vcd)
    program, ring = load_program(args)
    units = Units(program, ring)
    find = _sample if expect_stream_options(args, program, "start") else _row
    found = find(args, program, ring, units)
    with np.errstate(all="ignore"):  # floats may overflow; inf says so
        if not (args.json or args.vcd or args.output):
            bold = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")
            for line in trace_lines(program, ring, found.inputs, found.start, bold):
                print(line)
            tell(found.precision, args.strict)
            return
        registers = trace(program, ring, found.inputs, found.start)[:, 0]
        shown = registers if found.drawn is None else trace(program, ring, *found.drawn).swapaxes(0, 1)
    if args.vcd:
        write_vcd(args.vcd, program, ring, shown)
    rows = [_readable_row(ring, row) for row in registers] if args.json or args.output else []
    texts = instruction_texts(program, scalar_texts(program), 0, len(program))
    if args.output:
        heads = ["step", "instruction", *(f"R{number}" for number in range(program.width))]
        lines = enumerate(zip(("start", *texts), rows, strict=True))
        write_table(args.output, heads, ((step, text, *row) for step, (text, row) in lines))
        note(f"{args.output}: {several(len(program), 'step')} of {program.width} registers")
    if args.json:
        print_json(
            {
                "program": args.program,
                "ring": ring.name,
                "row": found.number,
                "instructions": texts,
                "registers": rows,
                "outputs": printable(units.decode_row(found.sent)),
                "vcd": args.vcd,
                "precision": found.precision.counts,
            }
        )
    elif args.vcd:
        samples = "" if found.drawn is None else f" in each of {several(len(shown), 'sample')}"
        note(f"{args.vcd}: {several(len(program), 'step')} of {program.width} registers{samples}")
    tell(found.precision, args.strict)


def _row(args: argparse.Namespace, program: Program, ring: Ring, units: Units) -> _Chosen:
    given = read_inputs(args.inputs, units)
    start = read_start(args.start, program.width, ring)
    number = _number(args, 1, len(given.elements))
    row = given.row(number - 1)
    sent, precision = watched_run(program, ring, row, start)
    return _Chosen(number, row.elements, start, sent[0], precision)


def _sample(args: argparse.Namespace, program: Program, ring: Ring, units: Units) -> _Chosen:
    if args.retune:
        raise InputError("a trace has one set of weights: --weight sets them, not --retune")
    if len(args.stream) > 1:
        raise InputError("a trace is of one stream: give --stream once")
    given = read_streams(args.stream, units)
    samples, first = given.elements[0], first_sample(program, args.pad)
    expect_full_window(program, len(samples), args.pad)
    number = _number(args, first, len(samples))
    sent, precision = watched_stream([Piece(0, program)], ring, given, args.pad)
    inputs, starts = runs_of(program, ring, samples, begin_streams(program, ring, 1, padded=args.pad))
    at = number - first
    drawn = None if args.row else (inputs, starts)
    return _Chosen(number, inputs[at : at + 1], starts[at], sent[0, at], precision, drawn)


def _number(args: argparse.Namespace, first: int, last: int) -> int:
    number = first if args.row is None else args.row
    if not first <= number <= last:
        raise InputError(f"--row must be {first} to {last}, not {args.row}")
    return int(number)


def _readable_row(ring: Ring, registers: Array) -> list[int | float | str]:
    return [readable(ring.decode(element), f"R{number}") for number, element in enumerate(registers)]
