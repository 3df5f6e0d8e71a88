"""``skinny bound``: can a program overflow in fixed point, and how wrong can its outputs be."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from skinny.answers import bounds, expect_fixed_point
from skinny.model.errors import InputError
from skinny.model.program.storage import load
from skinny.model.rings import parse_ring
from skinny.values import printable

from .common import add_command, print_json, print_table
from .inputs import parse_number

__all__ = ["register"]

DETAILS = """\
The bounds are sound: no input in the box goes beyond them. When the program is not safe, or --error asks for an error
bound, the smallest format that is safe (and reaches it) is suggested.

JSON keys: program, ring, safe, errors (for each output; provided that nothing overflows), ranges (for each register),
overflow (null, or instruction, text, register (null: the attention accumulator), low, high), and, when one was looked
for, suggestion (a ring, or null with the reason in suggestion_failed). What may exceed 2^64 has the bound "inf".

example:
  $ skinny compile 'y = (a + 2*b)^3' -o cube.skn
  $ skinny bound cube.skn --ring fixed:16.8 --box -1:1
  $ skinny bound cube.skn --ring fixed:16.8 --box -1:1 --box b=0:1/2 --error 0.001
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


def _print_answer(answer: dict[str, Any]) -> None:
    if answer["safe"]:
        print(f"safe: no register overflows in {answer['ring']}")
    else:
        over = answer["overflow"]
        where = "the attention accumulator" if over["register"] is None else f"R{over['register']}"
        print(f"not safe: instruction {over['instruction']} ({over['text']}) may overflow {where} in {answer['ring']}:")
        print(f"  its range is {over['low']} to {over['high']}")
    if "suggestion_failed" in answer:
        print(answer["suggestion_failed"])
    elif "suggestion" in answer:
        print(f"smallest format that does: {answer['suggestion']}")
    print()
    print_table(("output", "error at most"), answer["errors"].items())
    print()
    print_table(("register", "least", "greatest"), [(f"R{r}", *limits) for r, limits in enumerate(answer["ranges"])])


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
