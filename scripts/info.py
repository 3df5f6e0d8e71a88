"""``skinny info``: what a program is."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from skinny.answers import describe
from skinny.model.program.program import Output, Program
from skinny.values import several

from .common import add_command, print_json, print_table
from .options import add_program_options, load_program

__all__ = ["register"]

#: Characters of a text in a line; a longer title is cut.
WIDEST = 100
#: Entries of the answer that the first table leaves out, because they have tables or columns of their own.
APART = (
    *("program", "inputs", "weight_reads", "speedup"),
    *("linear_break", "reversible_break"),
    *("input_scales", "output_scales", "box", "approximations", "sampled", "named_weights"),
)

DETAILS = """\
words count attention steps (attends) too; memory words are those of an image, which has one for each output, flat
and, where something repeats, rolled into loops; levels are the dependent steps of the program; reads are instructions
that use an input or a weight, alone or in a linear form; critical path is a longest chain of dependent instructions, by
what they multiply with; state bits are the registers, and the accumulator of a program with linear forms, in words of
the ring (0 when the ring has no hardware). compiled for is the ring that the program was compiled for, if any; a scale
e of an input means that x enters the program as x/2^e, one of an output that what is sent counts times 2^e; box is the
range of each input that it was compiled for; approximations bound how far the program is from its formula, and of
the outputs in sampled that was seen at samples and is not proven. linear: for fixed inputs the registers are multiplied
by a matrix (lanes need that); reversible: the program can be undone (a self-check needs that); where one is not so, the
first instruction that breaks it is named, counted from 0. argmax is the name of the number of the largest output, if
the program sends that alone. states are registers that keep their content from one sample of a stream to the next, the
window is the words of samples that a run may read, and samples are the words of a sample (docs/streams.md).

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
    add_program_options(parser, "ring for the state bits", "modular:16")


def execute(args: argparse.Namespace) -> None:
    program, ring = load_program(args, "modular:16")
    answer = {"program": args.program} | describe(program, ring)
    if args.json:
        print_json(answer)
        return
    apart = APART if program.streaming else (*APART, "states", "window", "samples")
    shown = {key: value for key, value in answer.items() if key not in apart}
    title = program.title.lstrip("# ").partition("\n")[0]
    shown["title"] = title if len(title) <= WIDEST else f"{title[: WIDEST - 1]}…"
    if program.streaming:
        shown["states"] = ", ".join(f"{name} = R{register}" for name, register in program.state) or "none"
        shown["window"] = several(program.window, "word") if program.window else "none"
        shown["samples"] = " ".join(program.samples) or "none"
    shown["start"] = " ".join(map(str, program.start))
    shown["critical_path"] = ", ".join(
        several(count, kind.replace("_", " ").removesuffix("s")) for kind, count in answer["critical_path"].items()
    )
    shown["compiled_for"] = program.ring or "any ring"
    shown["memory_words"] = ", ".join(f"{count:,} {how}" for how, count in answer["memory_words"].items() if count)
    shown["outputs"] = ", ".join(map(_output_text, program.outputs))
    shown["argmax"] = program.argmax or "none"
    for promise in ("linear", "reversible"):
        broken = answer[f"{promise}_break"]
        shown[promise] = f"no, {broken}" if broken else "yes"
    print_table(
        (args.program, ""),
        [(key.replace("_", " "), f"{value:,}" if isinstance(value, int) else value) for key, value in shown.items()],
        WIDEST,
    )
    print()
    speedup = answer["speedup"]
    print_table(
        ("speed-up", "at most"),
        [(f"by {key}", f"{speedup[key]:.2f}") for key in ("levels", "reads") if speedup[key] is not None]
        + [(f"by segments, {lanes} lanes", f"{limit:.2f}") for lanes, limit in speedup["segments"].items()],
    )
    print()
    _show_inputs(program, answer["inputs"])
    if program.weights:
        print()
        rows = zip(program.weight_names(), program.weights, answer["weight_reads"], strict=True)
        print_table(
            ("weight", "value", "reads", *(["is"] if program.named else [])),
            [
                (f"w[{k}]", str(value), count, *([name if name != f"w[{k}]" else ""] if program.named else []))
                for k, (name, value, count) in enumerate(rows)
            ],
        )
    if program.named:
        print()
        print_table(
            ("named weight", "value", "range"), [(w.name, str(w.value), f"{w.low}:{w.high}") for w in program.named]
        )


def _output_text(output: Output) -> str:
    scale = f"·2^{output.scale}" if output.scale else ""
    near = f", within {float(output.approximation):.3g} of the formula" if output.approximation else ""
    near += " as sampled, not proven" if output.sampled else ""
    return f"{output.name} = R{output.register}{scale} after {output.at:,}{', restart' if output.restart else ''}{near}"


def _show_inputs(program: Program, reads: dict[str, int]) -> None:
    """A row for each input; scale and box are shown where the program has them."""
    columns: dict[str, Sequence[object]] = {"input": program.inputs, "reads": list(reads.values())}
    if any(program.input_scales):
        columns["enters as"] = [
            f"{name}/2^{e}" if e > 0 else f"{name}·2^{-e}" if e else name
            for name, e in zip(program.inputs, program.input_scales, strict=True)
        ]
    if program.box:
        columns["box"] = [f"{low}:{high}" for low, high in program.box]
    print_table(tuple(columns), list(zip(*columns.values(), strict=True)))
