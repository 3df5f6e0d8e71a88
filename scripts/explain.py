"""``skinny explain``: why two inputs give different outputs."""

from __future__ import annotations

import argparse
import re
from fractions import Fraction
from typing import Any

from skinny.answers import explanation
from skinny.model.errors import InputError
from skinny.model.files import expect_file
from skinny.model.program.program import Program
from skinny.model.program.units import Units
from skinny.model.rings import Boolean, Modular, PrimeField
from skinny.model.run.explain import METHODS
from skinny.values import printable, several

from .common import add_command, note, print_json, print_table
from .explain_page import places, short, write_page
from .inputs import read_pair
from .options import add_program_options, load_program

__all__ = ["register"]

DETAILS = """\
Both runs start alike and do the same instructions, so they can be compared step by step: where they part, which steps
take them apart the most, and the share of every input in the difference of each output. Shares sum to the difference
exactly; in fixed point and real what rounding adds is a line of its own. They belong to the function, not to the
program that computes it. docs/explain.md says what they are: along the straight line from a to b (needs division:
exact, fixed, real), or with the inputs changed one after the other, in the order of the program (any ring).

--html writes one page that needs no network: both traces with a cursor, shares, and the inputs as a picture when
--shape says that they form one (inputs with numbered names are placed by number, others in the order of the program).

JSON keys: program, ring, method, inputs (a and b by name), outputs (by name: a, b, difference, shares by input,
remainder), parts (step and instruction, or null), growth (steps: step, instruction, register, a, b, growth), html.

example:
  $ skinny compile 'y = a*b + c' -o sum.skn
  $ skinny explain sum.skn --a a=1,b=2,c=3 --b a=3,b=5,c=3 --html sum.html
  $ skinny explain score.skn --a digits.csv:1 --b digits.csv:7 --shape 8x8 --html digits.html
"""
SHOWN = 12
WAYS = {"line": "along the straight line from a to b", "order": "inputs changed one after the other, in their order"}


def register(commands: Any) -> None:
    parser = add_command(commands, "explain", execute, "say why two inputs give different outputs", DETAILS)
    add_program_options(parser, default="exact")
    for option in ("--a", "--b"):
        parser.add_argument(
            option, required=True, metavar="FILE.csv[:ROW]|x=1,y=2", help="values of the inputs; rows count from 1"
        )
    parser.add_argument("--shares", choices=METHODS, help="how the inputs move (default: line where it can be had)")
    parser.add_argument("--shape", metavar="ROWSxCOLUMNS", help="the inputs form a picture of this size")
    parser.add_argument("--html", metavar="FILE", help="write a page to look at")


def execute(args: argparse.Namespace) -> None:
    if args.shape is not None and args.html is None:
        raise InputError("only a page shows the inputs as a picture: --shape goes with --html")
    expect_file(args.html)
    program, ring = load_program(args, "exact")
    program.expect_no_stream("an explanation needs")
    a, b = read_pair({"--a": args.a, "--b": args.b}, Units(program, ring))
    shape = _parse_shape(args.shape, program)
    found = printable(explanation(program, ring, a, b, args.shares))
    answer = {"program": args.program, **found, "html": args.html}
    if args.html:
        write_page(args.html, answer, program, ring, a, b, shape, (args.a, args.b))
    if args.json:
        print_json(answer)
        return
    _print_answer(answer, isinstance(ring, Modular | PrimeField | Boolean))
    if args.html:
        note(f"{args.html}: {several(len(program), 'step')}")


def _parse_shape(text: str | None, program: Program) -> tuple[int, int, list[int]] | None:
    """Rows, columns and the place of every input."""
    if text is None:
        return None
    sides = re.fullmatch("([1-9][0-9]{0,3})x([1-9][0-9]{0,3})", text)
    if not sides:
        raise InputError(f"--shape must be ROWSxCOLUMNS like 8x8, not {text!r}")
    rows, columns = map(int, sides.groups())
    return rows, columns, places(program.inputs, rows * columns)


def _print_answer(answer: dict[str, Any], finite: bool) -> None:
    outputs = answer["outputs"]
    print_table(
        ("output", "a", "b", "difference"),
        [(name, *(short(found[key]) for key in ("a", "b", "difference"))) for name, found in outputs.items()],
    )
    if answer["parts"] is None:
        print("\nThe runs never part.")
        return
    print(f"\nThe runs part at step {answer['parts']['step']}: {answer['parts']['instruction']}. Apart the most:\n")
    print_table(
        ("step", "instruction", "register", "a", "b", "growth"),
        [
            (
                each["step"],
                each["instruction"],
                f"R{each['register']}",
                *(short(each[key]) for key in ("a", "b", "growth")),
            )
            for each in answer["growth"][:SHOWN]
        ],
    )
    for name, found in outputs.items():
        print(f"\nShares in {name}, {WAYS[answer['method']]}:\n")
        _print_shares(answer["inputs"], found, finite)


def _print_shares(inputs: dict[str, dict[str, Any]], found: dict[str, Any], finite: bool) -> None:
    whole = Fraction(found["difference"])

    def row(name: str, a: Any, b: Any, share: Any) -> tuple[Any, ...]:
        percent = "" if finite or not whole else f"{float(100 * Fraction(share) / whole):.1f} %"
        return name, short(a), short(b), short(share), percent

    moved = sorted(
        (name for name, share in found["shares"].items() if share != 0),
        key=lambda name: -abs(Fraction(found["shares"][name])),
    )
    rows = [row(name, inputs["a"][name], inputs["b"][name], found["shares"][name]) for name in moved[:SHOWN]]
    rest = moved[SHOWN:]
    if found["remainder"] != 0:
        rows.append(row("(rounding, overflow)", "", "", found["remainder"]))
    rows.append(row("sum", "", "", found["difference"]))
    print_table(("input", "a", "b", "share", ""), rows)
    if rest:
        note(f"{several(len(rest), 'smaller share')}; --json gives all")
