"""``skinny run``: a program on inputs, bit for bit as the hardware computes it."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from skinny.answers import watched_run
from skinny.model.program.program import Program
from skinny.model.program.units import Units
from skinny.model.rings import Ring
from skinny.streams import first_sample, tuned, watched_stream

from .common import (
    SHOWN,
    add_command,
    named_results,
    named_streams,
    print_json,
    print_results,
    print_samples,
    tell,
)
from .inputs import read_inputs, read_start, read_streams
from .options import (
    add_inputs_option,
    add_program_options,
    add_stream_options,
    add_strict_option,
    expect_stream_options,
    load_program,
    read_retunes,
)
from .outputs import add_output_option, expect_table, write_results, write_samples
from .progress import counted

__all__ = ["add_run_options", "register"]

DETAILS = """\
--inputs takes numbers (a=1,b=-2; x[0:16]=0 for elements of a vector; x=@rows.npy for a file of its own), or a file with
a row for each inference. A CSV file has a header with the names of the inputs, in any order; what a name cannot have
may stand there too: the column 'room temp (C)' is the input room_temp or room_temp_C, and x[3] is x3. A .npy file has a
column for each input, in the order of 'skinny info'. Numbers are decimals or fractions in your own units; a program
with scales (see 'skinny info') applies them, to inputs and to results. -o FILE.csv writes all results, a row each.

A number that the ring has no element for is rounded to the nearest one in fixed point, and an error elsewhere, as is
one out of range. Fixed point says on stderr, in one line, which weights became 0 or changed by more than 1 %, in how
many rows a value wrapped that was read (sums may wrap and come out right), how many rows are outside the box that the
program was compiled for, and how many input values were rounded; with --strict that is exit code 1.

JSON keys: program, ring, batch, outputs (a list of values for each name; what is neither an integer nor a decimal is
a text like "3/4"), precision (zero_weights, changed_weights, wrapped_rows, outside_rows,
rounded_inputs). For streams, in place of batch: streams, samples, first (the number of the first sample with results,
from 1), and outputs has a list for each stream.

A program with states or a window is one step of a stream: --stream takes its samples, a row each. A window waits until
it is full, unless --pad puts zeros before the first sample. --retune 500:kp=1.2 sets a named weight before sample 500;
states stay (docs/streams.md).

example:
  $ skinny compile 'y = (a + 2*b)^3' -o cube.skn
  $ skinny run cube.skn --ring modular:16 --inputs a=1,b=-2
  row     y
  ─────────
    1   -27
  $ skinny run cube.skn --ring fixed:16.8 --inputs values.csv -o results.csv
  $ skinny run cube.skn --ring fixed:16.8 --inputs values.csv --json
  $ skinny compile 'state s = 0; next s = s + x; y = s + x' -o sum.skn
  $ skinny run sum.skn --ring fixed:16.8 --stream samples.csv
"""


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """The program, the ring and the inputs, as ``run`` and ``trace`` take them."""
    add_program_options(parser)
    add_inputs_option(parser)
    add_stream_options(parser)
    add_strict_option(parser)
    parser.add_argument("--start", metavar="R0,R1,…", help="start vector instead of the program's")


def register(commands: Any) -> None:
    parser = add_command(commands, "run", execute, "run a program on inputs in a ring", DETAILS)
    add_run_options(parser)
    add_output_option(parser)


def execute(args: argparse.Namespace) -> None:
    expect_table(args.output)
    program, ring = load_program(args)
    if expect_stream_options(args, program, "start"):
        _run_streams(args, program, ring)
        return
    units = Units(program, ring)
    inputs = read_inputs(args.inputs, units)
    values, precision = watched_run(program, ring, inputs, read_start(args.start, program.width, ring))
    if args.output is not None:
        write_results(args.output, named_results(units, values))
    if args.json:
        answer = {"program": args.program, "ring": ring.name, "batch": len(values)}
        print_json(answer | {"outputs": named_results(units, values), "precision": precision.counts})
    elif args.output is None:
        print_results(named_results(units, values[:SHOWN]), len(values))
    tell(precision, args.strict)


def _run_streams(args: argparse.Namespace, program: Program, ring: Ring) -> None:
    units = Units(program, ring)
    samples = read_streams(args.stream, units)
    pieces = tuned(program, read_retunes(args.retune), samples.elements.shape[1])
    values, precision = watched_stream(pieces, ring, samples, args.pad, partial(counted, "running"))
    first, count = first_sample(program, args.pad), samples.elements.shape[1]
    if args.output is not None:
        write_samples(args.output, named_streams(units, values), first)
    if args.json:
        answer = {"program": args.program, "ring": ring.name, "streams": len(values), "samples": count, "first": first}
        print_json(answer | {"outputs": named_streams(units, values), "precision": precision.counts})
    elif args.output is None:
        print_samples(named_streams(units, values[:, :SHOWN]), values.shape[1], first)
    tell(precision, args.strict)
