"""``skinny picture``: registers over time, program lengths against their bounds, lanes, pins of a core, as PNG."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
from skinny.model.compiler.pipeline import compile_formula
from skinny.model.files import write_file
from skinny.model.formula.formula import facts
from skinny.model.formula.parse import parse_formula
from skinny.model.parallel.image import build_image
from skinny.model.program.units import Units
from skinny.model.run.golden import trace
from skinny.trace import COLOURS, draw_registers, expect_png, save_picture

from .bench.lengths import parity, product
from .common import add_command, note, print_json
from .inputs import read_inputs
from .options import add_core_options, add_program_options, image_options, load_program
from .progress import counted

__all__ = ["lengths_figure", "register"]

DETAILS = """\
'trace' draws the registers of one inference step by step; 'lengths' compiles products and parities of 2 to 64 inputs
and draws their lengths beside the textbook recursion and the bound 4^depth; 'parallel' draws what 'skinny bench
parallel' measures; 'pins' simulates a core and draws what is on its pins in each cycle (docs/ports.md).

example:
  $ skinny compile 'y = (a + 2*b)^3' -o cube.skn
  $ skinny picture trace cube.skn --ring exact --inputs a=1,b=2 -o trace.png
  $ skinny picture lengths -o lengths.png
  $ skinny picture parallel -o parallel.png
  $ skinny compile 'y = a*b' -o product.skn
  $ skinny picture pins product.skn --ring modular:16 --threads 2 --inputs pairs.csv -o pins.png
"""
SIZES = (2, 4, 8, 16, 32, 64)


def register(commands: Any) -> None:
    parser = commands.add_parser(
        "picture",
        help="draw traces, lengths, lanes and pins",
        epilog=DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    pictures = parser.add_subparsers(title="pictures", metavar="PICTURE", required=True, dest="picture")
    traced = add_command(pictures, "trace", draw_trace, "registers over time", DETAILS)
    add_program_options(traced)
    traced.add_argument("--inputs", required=True, metavar="INPUTS", help="FILE.csv or x=1,y=2; the first row is drawn")
    lengths = add_command(pictures, "lengths", draw_lengths, "lengths against bounds", DETAILS)
    parallel = add_command(pictures, "parallel", draw_parallel, "speed and cost of several lanes", DETAILS)
    pins = add_command(pictures, "pins", draw_pin_picture, "what is on the pins of a core", DETAILS)
    add_core_options(pins)
    pins.add_argument("--inputs", metavar="INPUTS", help="FILE.csv or x=1,y=2; all rows are run")
    for each in (traced, lengths, parallel, pins):
        each.add_argument("-o", "--output", required=True, metavar="FILE", help="a .png file")


def _new_figure(rows: int, height: float) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, height), layout="constrained")
    return figure, figure.subplots(rows, 1, squeeze=False)[:, 0]


def _save(figure: Any, args: argparse.Namespace) -> None:
    write_file(args.output, lambda file: save_picture(figure, file))
    if args.json:
        print_json({"file": args.output})
    else:
        note(f"{args.output}: written")


def draw_trace(args: argparse.Namespace) -> None:
    expect_png(args.output)
    program, ring = load_program(args)
    program.expect_no_stream("a picture needs")
    inputs = read_inputs(args.inputs, Units(program, ring)).elements[:1]
    with np.errstate(all="ignore"):  # floats may overflow; what is too large to be drawn is refused
        registers = trace(program, ring, inputs)[:, 0]
    figure = draw_registers(program, ring, registers)
    _save(figure, args)


def draw_pin_picture(args: argparse.Namespace) -> None:
    from .pin_picture import draw_pins, seen_pins

    expect_png(args.output)
    program, ring = load_program(args)
    program.expect_no_stream("a picture needs")
    (image,) = build_image(program, ring, image_options(args)).lanes
    elements = read_inputs(args.inputs, Units(program, ring)).elements
    vectors = image.config.pack(elements) if program.inputs else np.zeros((len(elements), 1), dtype=np.uint64)
    _save(draw_pins(seen_pins(image, vectors), image.vector), args)


def draw_lengths(args: argparse.Namespace) -> None:
    expect_png(args.output)
    _save(lengths_figure(SIZES), args)


def lengths_figure(sizes: Sequence[int]) -> Any:
    """Words of products and parities of so many inputs. The bound lies wide and pale below the textbook recursion,
    which it equals for products."""
    figure, axes = _new_figure(2, 8)
    for axis, name, formula in zip(axes, ("product", "parity"), (product, parity), strict=True):
        lines: dict[str, list[int]] = {}
        for size in counted(f"{name}: compiling sizes", sizes):
            outputs = parse_formula(formula(size))
            known = facts(*outputs.values())
            lines.setdefault("bound 4^depth", []).append(known.bound)
            lines.setdefault("textbook recursion", []).append(known.textbook)
            for contract in ("in-place", "clean"):
                compiled = compile_formula(outputs, contract=contract)
                lines.setdefault(f"Skinny, {contract}", []).append(compiled.program.words)
        for (label, values), colour, marker in zip(lines.items(), COLOURS, "oso^", strict=False):
            wide = {"linewidth": 7, "alpha": 0.35, "markersize": 12} if label.startswith("bound") else {}
            axis.loglog(sizes, values, marker=marker, color=colour, label=label, base=2, **wide)
        axis.set_xticks(sizes, [str(size) for size in sizes])
        axis.yaxis.set_major_formatter(lambda count, _: f"{count:,.0f}")
        axis.set_title(f"{name} of n inputs")
        axis.set_ylabel("program words")
        axis.grid(alpha=0.3)
        axis.legend(frameon=False)
    axes[-1].set_xlabel("n")
    return figure


def draw_parallel(args: argparse.Namespace) -> None:
    from .bench.parallel import bench_parallel

    expect_png(args.output)
    rows = bench_parallel()
    lanes = [row["lanes"] for row in rows]
    figure, (axis,) = _new_figure(1, 5)
    axis.loglog(lanes, lanes, color=COLOURS[5], linewidth=7, alpha=0.35, label="K", base=2)
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
