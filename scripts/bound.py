"""``skinny bound``: can a program overflow in fixed point, and how wrong can its outputs be."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

from skinny.answers import bounds, expect_fixed_point
from skinny.model.errors import CheckError, InputError
from skinny.model.program.storage import load
from skinny.model.rings import parse_ring
from skinny.values import printable

from .common import add_command, print_json, print_table
from .inputs import parse_number

__all__ = ["register"]

DETAILS = """\
The bounds are sound: no input in the box goes beyond them. A program is safe when every value that it reads fits the
word: a register that is multiplied, the attention accumulator when it is used, a register that is sent. Sums may wrap
on the way: registers are right modulo 2^BITS all the time, so that what fits when it is read is right. Ranges are those
of a word without limits. Errors hold when the program is safe; they are the difference from the exact program at the
inputs as they were rounded to the format.

When the program is not safe, a format is suggested: as many bits as were given if they can do, else the fewest that
can, and of these the format with the most fraction bits; no weight and no end of the box that is not zero becomes zero
in it. With --error, when the error is not reached: the format of fewest bits that is safe and reaches it.

The exit code is 1 when the program is not proven safe, or --error is not reached in the given format.

JSON keys: program, ring, safe, errors (for each output), ranges (for each register), overflow (null, or the first value
that may not fit: instruction and text of the one that reads it, or output; register (null: the attention accumulator),
low, high), with --error reached, and, when one was looked for, suggestion (a ring, or null with the reason in
suggestion_failed). What is not proven is null.

example:
  $ skinny compile 'y = (a + 2*b)^3' -o cube.skn
  $ skinny bound cube.skn --ring fixed:16.8 --box -1:1
  $ skinny bound cube.skn --ring fixed:16.8 --box -1:1 --box b=0:1/2 --error 0.05
"""


def register(commands: Any) -> None:
    parser = add_command(commands, "bound", execute, "bound the ranges and errors of a program in fixed point", DETAILS)
    parser.add_argument("program", metavar="PROGRAM", help="a .skn or .npz file")
    parser.add_argument("--ring", required=True, metavar="fixed:BITS.FRAC", help="the fixed-point format")
    parser.add_argument(
        "--box",
        required=True,
        action="append",
        metavar="[x=]LO:HI",
        help="least and greatest value of every input, or of the input x; repeatable",
    )
    parser.add_argument("--error", metavar="E", help="the largest error of an output that is wanted")


def execute(args: argparse.Namespace) -> None:
    ring = parse_ring(args.ring)
    expect_fixed_point(ring)
    wanted = None if args.error is None else parse_number(args.error)
    if wanted is not None and wanted <= 0:
        raise InputError(f"--error must be above zero, not {args.error}")
    program = load(args.program)
    box = _box(args.box, program.inputs)
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
    if "suggestion_failed" in answer:
        print(answer["suggestion_failed"])
    elif "suggestion" in answer:
        print(f"a format that does: {answer['suggestion']}")
    if answer["safe"]:
        print()
        errors = answer["errors"].items()
        print_table(("output", "error at most"), [(name, rounded_outwards(error, up=True)) for name, error in errors])
    print()
    ranges = [
        (f"R{r}", rounded_outwards(low, up=False), rounded_outwards(high, up=True))
        for r, (low, high) in enumerate(answer["ranges"])
    ]
    print_table(("register", "least", "greatest"), ranges)


def rounded_outwards(value: float | None, up: bool) -> str:
    """``value`` with three digits, rounded up or down; what is None is not proven."""
    if value is None:
        return "not proven"
    context = Context(prec=3, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    return f"{float(context.create_decimal(Decimal(value))):.6g}"


def _box(given: Sequence[str], names: Sequence[str]) -> list[tuple[Fraction, Fraction]]:
    general: tuple[Fraction, Fraction] | None = None
    special: dict[str, tuple[Fraction, Fraction]] = {}
    for text in given:
        name, equals, limits = text.rpartition("=")
        low, colon, high = limits.partition(":")
        if not colon:
            raise InputError(f"--box: expected LO:HI or NAME=LO:HI, found {text!r}")
        try:
            pair = parse_number(low), parse_number(high)
        except InputError as error:
            raise InputError(f"--box {text}: {error}") from None
        if pair[0] > pair[1]:
            raise InputError(f"--box {text}: the least value is above the greatest")
        if equals and name not in names:
            raise InputError(f"--box {text}: the program has no input {name!r}")
        if name in special or (not equals and general):
            raise InputError(f"--box {text}: this box is given twice")
        if equals:
            special[name] = pair
        else:
            general = pair
    out = []
    for name in names:
        box = special.get(name, general)
        if box is None:
            raise InputError(f"--box: the input {name!r} has no box")
        out.append(box)
    return out
