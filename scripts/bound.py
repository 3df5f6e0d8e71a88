"""``skinny bound``: can a program overflow in fixed point, and how wrong can its outputs be."""

from __future__ import annotations

import argparse
from typing import Any

from skinny.answers import bounds, expect_fixed_point
from skinny.model.bounds.box import Box, window_box
from skinny.model.errors import CheckError, InputError
from skinny.model.program.storage import load
from skinny.model.rings import parse_ring
from skinny.values import printable

from .boxes import add_box_option, parse_box
from .common import add_command, print_json, print_table, rounded_outwards
from .options import read_error

__all__ = ["register"]

DETAILS = """\
The bounds are sound: no input in the box goes beyond them. A program is safe when every value that it reads fits the
word: a register that is multiplied, the attention accumulator when it is used, a register that is sent. Sums may wrap
on the way: registers are right modulo 2^BITS all the time, so that what fits when it is read is right. Ranges are those
of a word without limits. Errors hold when the program is safe; they are the difference from the exact program at the
inputs as they were rounded to the format.

When the program is not safe, a format is suggested: as many bits as were given if they can do, else the fewest that
can, and of these the format with the most fraction bits; no weight and no end of the box that is not zero becomes zero
in it. Where fewer bits can do, the smallest such format is named too. With --error, when the error is not reached: the
format of fewest bits that is safe and reaches it.

The exit code is 1 when the program is not proven safe, or --error is not reached in the given format.

JSON keys: program, ring, safe, errors (for each output), sampled (outputs with a function that is known by its values
only: what its polynomial changes was seen at samples and is not proven), ranges (for each register), overflow (null, or
the first value that may not fit: instruction and text of the one that reads it, or output; register (null: the
attention accumulator), low, high), unfit (only when a weight, a start value or an end of the box does not fit: the
reason), with --error reached, and, when one was looked for, suggestion (a ring, or null with the reason in
suggestion_failed) and smallest (a ring), for a program with state reason (why a value or an error has no bound, or
null). What is not proven is null.

Bounds of a stream hold at all of its samples; --box names the words of a sample, and zeros that pad a window count as
inputs. What has a pole on or outside of the unit circle has no bound, and neither has what is not linear in the state.

example:
  $ skinny compile 'y = (a + 2*b)^3' -o cube.skn
  $ skinny bound cube.skn --ring fixed:16.8 --box -1:1
  $ skinny bound cube.skn --ring fixed:16.8 --box -1:1 --box b=0:1/2 --error 0.05
"""


def register(commands: Any) -> None:
    parser = add_command(commands, "bound", execute, "bound the ranges and errors of a program in fixed point", DETAILS)
    parser.add_argument("program", metavar="PROGRAM", help="a .skn or .npz file")
    parser.add_argument(
        "--ring", metavar="fixed:BITS.FRAC", help="the fixed-point format (default: the one it was compiled for)"
    )
    add_box_option(parser, "the box that the program was compiled for")
    parser.add_argument("--error", metavar="E", help="the largest error of an output that is wanted")


def execute(args: argparse.Namespace) -> None:
    wanted = read_error(args.error)
    if wanted is not None and wanted <= 0:
        raise InputError(f"--error must be above zero, not {args.error}")
    program = load(args.program)
    if args.ring is None and not program.ring:
        raise InputError("--ring is missing: the program was not compiled for a format")
    ring = parse_ring(args.ring or program.ring)
    expect_fixed_point(ring)
    kept = None if args.box else program.box
    box: Box = kept or window_box(program, parse_box(args.box, program.samples))
    answer = {"program": args.program} | printable(bounds(program, ring, box, wanted))
    if args.json:
        print_json(answer)
    else:
        _print_answer(answer)
    if not answer["safe"]:
        raise CheckError(f"the program is not proven safe in {answer['ring']}")
    if not answer.get("reached", True):
        raise CheckError(f"an error of at most {args.error} is not proven in {answer['ring']}")


def _print_answer(answer: dict[str, Any]) -> None:
    if answer["safe"]:
        print(f"safe: every value that is read fits {answer['ring']} (sums may wrap)")
    elif "unfit" in answer:
        print(f"not safe: {answer['unfit']}")
    else:
        over = answer["overflow"]
        what = "the attention accumulator" if over["register"] is None else f"R{over['register']}"
        if over["output"] is None:
            print(f"not safe: instruction {over['instruction']} ({over['text']}) reads {what},")
        else:
            print(f"not safe: the output {over['output']} is {what},")
        if over["low"] is None or over["high"] is None:
            print(f"  and nothing could be proven about its range in {answer['ring']}")
        else:
            least, most = rounded_outwards(over["low"], up=False), rounded_outwards(over["high"], up=True)
            print(f"  whose range {least} to {most} does not fit {answer['ring']}")
    if answer.get("reason"):
        print(answer["reason"])
    if "suggestion_failed" in answer:
        print(answer["suggestion_failed"])
    elif "suggestion" in answer:
        smaller = f"; the smallest: {answer['smallest']}" if answer["smallest"] != answer["suggestion"] else ""
        print(f"a format that does: {answer['suggestion']}{smaller}")
    if "unfit" in answer:
        return
    if answer["safe"]:
        print()
        errors = answer["errors"].items()
        print_table(("output", "error at most"), [(name, rounded_outwards(error, up=True)) for name, error in errors])
        for name in answer["sampled"]:
            print(f"output {name}: what the polynomial in place of its function changes was sampled, not proven")
    print()
    ranges = [
        (f"R{r}", rounded_outwards(low, up=False), rounded_outwards(high, up=True))
        for r, (low, high) in enumerate(answer["ranges"])
    ]
    print_table(("register", "least", "greatest"), ranges)
