"""``skinny picture``: a program's registers over time, program lengths against their bounds, lanes, as PNG."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from skinny.model.compiler.pipeline import compile_formula
from skinny.model.errors import InputError
from skinny.model.files import write_file
from skinny.model.formula.formula import facts
from skinny.model.formula.parse import parse_formula
from skinny.model.program.storage import load
from skinny.model.rings import parse_ring
from skinny.model.run.golden import trace

from .bench.lengths import parity, product
from .common import add_command, note, print_json
from .inputs import read_inputs

__all__ = ["register"]

DETAILS = """\
'trace' draws the registers of one inference step by step; 'lengths' compiles products and parities of 2 to 64 inputs
and draws their lengths beside the textbook recursion and the bound 4^depth; 'parallel' draws what 'skinny bench
parallel' measures.

example:
  $ skinny compile 'y = (a + 2*b)^3' -o cube.skn
  $ skinny picture trace cube.skn --ring exact --inputs a=1,b=2 -o trace.png
  $ skinny picture lengths -o lengths.png
  $ skinny picture parallel -o parallel.png
"""
SIZES = (2, 4, 8, 16, 32, 64)
#: Colours that differ in lightness as well, so that they print.
COLOURS = ("#0b6e99", "#d9730d", "#5b3a8c", "#2f7d4f", "#a8324a", "#7a7a7a")


def register(commands: Any) -> None:
    parser = commands.add_parser(
        "picture",
        help="draw traces and lengths",
        epilog=DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    pictures = parser.add_subparsers(title="pictures", metavar="PICTURE", required=True, dest="picture")
    traced = add_command(pictures, "trace", draw_trace, "registers over time", DETAILS)
    traced.add_argument("program", metavar="PROGRAM", help="a .skn or .npz file")
    traced.add_argument("--ring", required=True, metavar="RING", help="as for skinny run")
    traced.add_argument("--inputs", required=True, metavar="INPUTS", help="FILE.csv or x=1,y=2; the first row is drawn")
    lengths = add_command(pictures, "lengths", draw_lengths, "lengths against bounds", DETAILS)
    parallel = add_command(pictures, "parallel", draw_parallel, "speed and cost of several lanes", DETAILS)
    for each in (traced, lengths, parallel):
        each.add_argument("-o", "--output", required=True, metavar="FILE", help="a .png file")


def _new_figure(rows: int, height: float) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, height), layout="constrained")
    return figure, figure.subplots(rows, 1, squeeze=False)[:, 0]


def _check_name(output: str) -> None:
    if Path(output).suffix != ".png":
        raise InputError(f"{output}: the name of a picture must end in .png")


def _save(figure: Any, args: argparse.Namespace) -> None:
    write_file(args.output, lambda file: figure.savefig(file, format="png", dpi=110))
    if args.json:
        print_json({"file": args.output})
    else:
        note(f"{args.output}: written")


def draw_trace(args: argparse.Namespace) -> None:
    _check_name(args.output)
    program = load(args.program)
    ring = parse_ring(args.ring)
    values = trace(program, ring, read_inputs(args.inputs, program.inputs, ring)[:1])[:, 0]
    figure, axes = _new_figure(program.width, 1.3 * program.width + 1.2)
    for number, axis in enumerate(axes):
        decoded = [float(ring.decode(value)) for value in values[:, number]]
        axis.step(range(len(decoded)), decoded, where="post", color=COLOURS[number % len(COLOURS)], linewidth=1.2)
        axis.set_ylabel(f"R{number}", rotation=0, labelpad=14)
        axis.margins(x=0.01)
        axis.grid(alpha=0.3)
        axis.tick_params(labelbottom=number == program.width - 1)
    axes[0].set_title(f"registers of one inference in {ring.name}: {len(program)} instructions")
    axes[-1].set_xlabel("instruction")
    _save(figure, args)


def draw_lengths(args: argparse.Namespace) -> None:
    _check_name(args.output)
    figure, axes = _new_figure(2, 8)
    for axis, name, formula in zip(axes, ("product", "parity"), (product, parity), strict=True):
        lines: dict[str, list[int]] = {}
        for size in SIZES:
            outputs = parse_formula(formula(size))
            known = facts(*outputs.values())
            lines.setdefault("bound 4^depth", []).append(known.bound)
            lines.setdefault("textbook recursion", []).append(known.textbook)
            for contract in ("in-place", "clean"):
                compiled = compile_formula(outputs, contract=contract)
                lines.setdefault(f"{contract}, words", []).append(compiled.program.words)
        for (label, values), colour, marker in zip(lines.items(), COLOURS, "xso^", strict=False):
            axis.loglog(SIZES, values, marker=marker, color=colour, label=label, base=2)
        axis.set_xticks(SIZES, [str(size) for size in SIZES])
        axis.set_title(f"{name} of n inputs")
        axis.set_ylabel("instructions")
        axis.grid(alpha=0.3)
        axis.legend(frameon=False)
    axes[-1].set_xlabel("n")
    _save(figure, args)


def draw_parallel(args: argparse.Namespace) -> None:
    from .bench.parallel import bench_parallel

    _check_name(args.output)
    rows = bench_parallel()
    lanes = [row["lanes"] for row in rows]
    figure, (axis,) = _new_figure(1, 5)
    axis.loglog(lanes, lanes, color=COLOURS[5], linestyle="--", label="K", base=2)
    for key, label, colour, marker, below in (
        ("speed_up", "speed-up of one inference", COLOURS[0], "o", True),
        ("times_luts", "LUTs, ECP5", COLOURS[1], "s", False),
    ):
        values = [row[key] for row in rows]
        axis.loglog(lanes, values, marker=marker, color=colour, label=label, base=2)
        for x, y in zip(lanes[1:], values[1:], strict=True):
            place = {"xytext": (6, -14), "ha": "left"} if below else {"xytext": (-6, 8), "ha": "right"}
            axis.annotate(f"{y:.2f}", (x, y), textcoords="offset points", color=colour, **place)
    axis.margins(x=0.08)
    axis.set_xticks(lanes, [str(k) for k in lanes])
    axis.set_yticks([1, 2, 4, 8, 16], ["1", "2", "4", "8", "16"])
    axis.set_title(f"one inference of 20,000 steps on K lanes: {rows[0]['cycles']:,} cycles on one")
    axis.set_xlabel("lanes K")
    axis.set_ylabel("times one core")
    axis.grid(alpha=0.3)
    axis.legend(frameon=False)
    _save(figure, args)
