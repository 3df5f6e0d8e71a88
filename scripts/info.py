"""``skinny info``: what a program is."""

from __future__ import annotations

import argparse
from typing import Any

from skinny.answers import describe
from skinny.model.program.storage import load
from skinny.model.rings import parse_ring

from .common import add_command, print_json, print_table

__all__ = ["register"]

DETAILS = """\
words count attention steps (attends) too; levels are the dependent steps of the program; reads are instructions that
use an input or a weight, alone or in a linear form; critical path is a longest chain of dependent instructions, by
what they multiply with; state bits are the registers, and the accumulator of a program with linear forms, in words of
the ring (0 when the ring has no hardware).

Limits of the speed-up, each with multipliers enough:
  by levels    length / levels, the average parallelism: a level after the other, all of a level at once
  by reads     length / reads of the most used input: an input serves one instruction at a time
  by segments  words / (ceil(words / K) + (K - 1)·width²): K lanes, then vector and matrices are combined

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
    answer = {"program": args.program} | describe(program, ring)
    if args.json:
        print_json(answer)
        return
    shown = {key: value for key, value in answer.items() if key not in ("program", "inputs", "weight_reads", "speedup")}
    shown["title"] = program.title.partition("\n")[0]
    shown["start"] = " ".join(map(str, program.start))
    shown["critical_path"] = ", ".join(
        f"{count:,} {kind.replace('_', ' ')}" for kind, count in answer["critical_path"].items()
    )
    shown["outputs"] = ", ".join(
        f"{o.name} = R{o.register} after {o.at:,}{', restart' if o.restart else ''}" for o in program.outputs
    )
    print_table(
        (args.program, ""),
        [(key.replace("_", " "), f"{value:,}" if isinstance(value, int) else value) for key, value in shown.items()],
    )
    print()
    speedup = answer["speedup"]
    print_table(
        ("speed-up", "at most"),
        [(f"by {key}", f"{speedup[key]:.2f}") for key in ("levels", "reads") if speedup[key] is not None]
        + [(f"by segments, {lanes} lanes", f"{limit:.2f}") for lanes, limit in speedup["segments"].items()],
    )
    print()
    print_table(("input", "reads"), answer["inputs"].items())
    if program.weights:
        print()
        rows = zip(program.weights, answer["weight_reads"], strict=True)
        print_table(("weight", "value", "reads"), [(f"w[{k}]", str(w), count) for k, (w, count) in enumerate(rows)])
