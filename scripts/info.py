"""``skinny info``: what a program is."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from skinny.model.program.program import Input, Linear, Program, Weight
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
#: Numbers of lanes that the limit by segments is stated for.
LANES = (2, 4, 8)


def register(commands: Any) -> None:
    parser = add_command(commands, "info", execute, "say what a program is", DETAILS)
    parser.add_argument("program", metavar="PROGRAM", help="a .skn or .npz file")
    parser.add_argument("--ring", default="modular:16", help="ring for the state bits (default: modular:16)")


def execute(args: argparse.Namespace) -> None:
    ring = parse_ring(args.ring)
    program = load(args.program)
    linear = sum(isinstance(form, Linear) for form in program.forms)
    length, words, levels = len(program), program.words, program.depth
    input_reads, weight_reads = reads(program)
    most = max(input_reads, default=0)
    answer = {
        "program": args.program,
        "title": program.title,
        "length": length,
        "words": words,
        "attends": words - length,
        "width": program.width,
        "contract": program.contract,
        "start": program.start,
        "levels": levels,
        "critical_path": critical_path(program),
        "speedup": {
            "levels": length / levels if levels else 1.0,
            "reads": length / most if most else None,
            "segments": {str(lanes): by_segments(words, program.width, lanes) for lanes in LANES},
        },
        "inputs": dict(zip(program.inputs, input_reads, strict=True)),
        "most_read": program.inputs[input_reads.index(most)] if most else None,
        "outputs": [output.name for output in program.outputs],
        "weights": len(program.weights),
        "weight_reads": weight_reads,
        "derived_weights": sum(program.derived),
        "forms": len(program.forms),
        "linear_forms": linear,
        "ring": ring.name,
        "state_bits": (program.width + bool(linear)) * ring.bits,
    }
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
        rows = zip(program.weights, weight_reads, strict=True)
        print_table(("weight", "value", "reads"), [(f"w[{k}]", str(w), count) for k, (w, count) in enumerate(rows)])


def reads(program: Program) -> tuple[list[int], list[int]]:
    """How many instructions use each input, and each weight."""
    uses = np.bincount(program.code.form, minlength=len(program.forms)).tolist()
    inputs, weights = [0] * len(program.inputs), [0] * len(program.weights)
    for form, count in zip(program.forms, uses, strict=True):
        match form:
            case Input(u):
                inputs[u] += count
            case Weight(k):
                weights[k] += count
            case Linear():
                for u in {u for _, u in form.steps() if u >= 0}:
                    inputs[u] += count
                for k in {k for k, _ in form.steps()}:
                    weights[k] += count
    return inputs, weights


def critical_path(program: Program) -> dict[str, int]:
    """A longest chain of instructions that do not commute, counted by what they multiply with."""
    counts = {"inputs": 0, "weights": 0, "linear_forms": 0}
    kinds = {Input: "inputs", Weight: "weights", Linear: "linear_forms"}
    code = program.code
    columns = (program.level_numbers(), code.dst, code.src, code.form)
    wanted, read, written = program.depth, None, None
    for level, dst, src, form in zip(*(column[::-1].tolist() for column in columns), strict=True):
        if level == wanted and (read is None or dst == read or src == written):
            counts[kinds[type(program.forms[form])]] += 1
            wanted, read, written = level - 1, src, dst
    return counts


def by_segments(words: int, width: int, lanes: int) -> float:
    """The speed-up of ``lanes`` lanes with a segment each, which are then combined."""
    return words / (-(-words // lanes) + (lanes - 1) * width**2) if words else 1.0
