"""``skinny info``: what a program is."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from skinny.model.program import Input, Linear, Program
from skinny.model.rings import parse_ring
from skinny.model.storage import load

from .common import add_command, print_json, print_table

__all__ = ["register"]

DETAILS = """\
cycles count attention steps too; levels are the dependent steps of the program; reads are instructions that use an
input, alone or in a linear form; state bits are the registers, and the accumulator of a program with linear forms,
in words of the ring (0 when the ring has no hardware).

example:
  $ skinny compile 'y = (a + 2*b)^3' -o cube.skn
  $ skinny info cube.skn --ring fixed:16.8
"""


def register(commands: Any) -> None:
    parser = add_command(commands, "info", execute, "say what a program is", DETAILS)
    parser.add_argument("program", metavar="PROGRAM", help="a .skn or .npz file")
    parser.add_argument("--ring", default="modular:16", help="ring for the state bits (default: modular:16)")


def execute(args: argparse.Namespace) -> None:
    ring = parse_ring(args.ring)
    program = load(args.program)
    linear = sum(isinstance(form, Linear) for form in program.forms)
    answer = {
        "program": args.program,
        "title": program.title,
        "length": len(program),
        "cycles": program.cycles,
        "width": program.width,
        "contract": program.contract,
        "start": program.start,
        "levels": program.depth,
        "inputs": dict(zip(program.inputs, input_reads(program), strict=True)),
        "outputs": [output.name for output in program.outputs],
        "weights": len(program.weights),
        "derived_weights": sum(program.derived),
        "linear_forms": linear,
        "ring": ring.name,
        "state_bits": (program.width + bool(linear)) * ring.bits,
    }
    if args.json:
        print_json(answer)
        return
    del answer["program"], answer["inputs"]
    answer["title"] = program.title.partition("\n")[0]
    answer["start"] = " ".join(map(str, program.start))
    answer["outputs"] = ", ".join(
        f"{o.name} = R{o.register} after {o.at:,}{', restart' if o.restart else ''}" for o in program.outputs
    )
    print_table(
        (args.program, ""),
        [(key.replace("_", " "), f"{value:,}" if isinstance(value, int) else value) for key, value in answer.items()],
    )
    print()
    print_table(("input", "reads"), zip(program.inputs, input_reads(program), strict=True))


def input_reads(program: Program) -> list[int]:
    """How many instructions use each input."""
    uses = np.bincount(program.code.form, minlength=len(program.forms)).tolist()
    out = [0] * len(program.inputs)
    for form, count in zip(program.forms, uses, strict=True):
        match form:
            case Input(u):
                out[u] += count
            case Linear(terms):
                for u in {u for _, u in terms}:
                    out[u] += count
    return out
