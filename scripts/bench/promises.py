"""Cycles with and without promises: the second table of ``skinny bench lengths``, and ``skinny bench registers``.

A program that need not be reversible may assign, one that need not be linear may multiply registers with registers
(docs/compiler.md). The targets are those of the prototype; cycles are words of the program and one for each output.
"""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

from skinny.model.compiler.goal import parse_keep
from skinny.model.compiler.graph.shortest import shortest
from skinny.model.compiler.pipeline import compile_formula
from skinny.model.formula.formula import operations
from skinny.model.formula.parse import parse_formula
from skinny.model.limits import current
from skinny.model.program.program import Program
from skinny.scripts.common import add_command, note, print_json, print_table
from skinny.scripts.progress import counted
from skinny.trace import expect_png

from .lengths import product
from .networks import (
    adder,
    constituents,
    horner,
    layers,
    network,
    power_of_form,
    shared_determinant,
    sum_product,
)
from .registers_picture import draw_registers

__all__ = ["ROWS", "Promised", "bench_promises", "bench_registers", "cycles", "register"]

KEEPS = ("none", "linear", "reversible", "linear,reversible")
#: Registers at which the curves are measured.
WIDTHS = (3, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24, 32, 48, 64, 96, 128, 256, 512, 1024)

MLP = network(layers((8, 6, 6, 3)))
QUADRATIC = network(layers((64, 10, 10)))


class Promised(NamedTuple):
    """A formula, the promises that its program keeps, the registers it may use and the cycles to reach."""

    name: str
    formula: str
    keep: str
    width: int
    target: int


def _rows(name: str, formula: str, **targets: tuple[int, int]) -> list[Promised]:
    """A row for each choice of promises: ``(width, target)``."""
    named = {"none": "none", "linear": "linear", "reversible": "reversible", "pure": "linear,reversible"}
    return [Promised(name, formula, named[keep], *sizes) for keep, sizes in targets.items()]


#: All are met. A pure network 8-6-6-3 needs 20 registers for it, 4 more than the prototype had.
ROWS = [
    *_rows("product of 64", product(64), none=(3, 65), linear=(3, 65)),
    *_rows("Horner chain of 64", horner(64), none=(3, 130), linear=(3, 130)),
    *_rows("adder, 8 bits", adder(8), none=(4, 63), linear=(4, 63), reversible=(16, 79), pure=(16, 79)),
    *_rows("determinant 4", shared_determinant(4), none=(18, 33), linear=(18, 33), reversible=(18, 33), pure=(18, 33)),
    *_rows("determinant 5", shared_determinant(5), none=(18, 81), linear=(18, 81)),
    *_rows("tree of depth 3", constituents(3), none=(16, 44), linear=(16, 97), reversible=(16, 44), pure=(16, 97)),
    *_rows("tree of depth 4", constituents(4), none=(16, 92), linear=(16, 420), reversible=(16, 100)),
    *_rows("tree of depth 5", constituents(5), none=(16, 188), linear=(16, 1947)),
    *_rows("sum-product, 8", sum_product(8), none=(18, 133), linear=(18, 1940), reversible=(18, 133), pure=(18, 1947)),
    *_rows("sum-product, 16", sum_product(16), none=(24, 285), linear=(24, 23108), reversible=(24, 405)),
    *_rows("quadratic 64-10-10", QUADRATIC, none=(13, 790), linear=(13, 790), pure=(13, 820)),
    *_rows("network 8-6-6-3", MLP, none=(16, 144), linear=(16, 653), reversible=(16, 246), pure=(20, 726)),
    *_rows("form^16", power_of_form(8, 16), none=(3, 18), linear=(3, 51), reversible=(7, 18)),
]
#: The functions of the picture, each with the most registers for which blocks are compiled too, in seconds.
CURVES = {
    "network 8-6-6-3": (MLP, 3),
    "determinant 5": (shared_determinant(5), 6),
    "product of 64": (product(64), 16),
}


def cycles(program: Program) -> int:
    """The words of a program, those that send its outputs included."""
    return program.words + len(program.outputs)


def bench_promises() -> list[dict[str, Any]]:
    """A row for each target: what is asked, what is reached on how many registers, and the margin."""
    out = []
    for row in counted("lengths with and without promises", ROWS):
        program = compile_formula(parse_formula(row.formula), width=row.width, keep=parse_keep(row.keep)).program
        reached = cycles(program)
        out.append(
            {
                "formula": row.name,
                "keep": row.keep,
                "width": row.width,
                "target": row.target,
                "reached": reached,
                "registers": program.width,
                "margin": reached - row.target,
            }
        )
    return out


def bench_registers() -> list[dict[str, Any]]:
    """For each function and each choice of promises the cycles on at most so many registers: the fewest of blocks and
    of graphs of values on that many registers or fewer."""
    out = []
    for name, (text, widest) in counted("functions", list(CURVES.items())):
        outputs = parse_formula(text)
        written = operations(*outputs.values())
        pure = {w: cycles(compile_formula(outputs, width=w).program) for w in WIDTHS if w <= widest}
        for keep in KEEPS:
            best = pure[WIDTHS[0]]
            for width in WIDTHS:
                program = shortest(outputs, written, parse_keep(keep), width, frozenset(), current().length)
                best = min(best, pure.get(width, best), best if program is None else cycles(program))
                out.append({"formula": name, "keep": keep, "registers": width, "cycles": best})
    return out


def register(benches: Any) -> None:
    parser = add_command(benches, "registers", execute, "cycles against registers, 3 to 1024", "")
    parser.add_argument("-o", "--output", metavar="FILE", help="draw the curves: a PNG")


def execute(args: argparse.Namespace) -> None:
    if args.output is not None:
        expect_png(args.output)
    rows = bench_registers()
    if args.output is not None:
        draw_registers(rows, args.output)
        note(f"{args.output}: cycles against registers")
    if args.json:
        print_json({"registers": rows})
    elif args.output is None:
        heads = ("registers", *(f"{name}, {keep}" for name in CURVES for keep in KEEPS))
        found = {(row["formula"], row["keep"], row["registers"]): row["cycles"] for row in rows}
        print_table(heads, [(w, *(found[name, keep, w] for name in CURVES for keep in KEEPS)) for w in WIDTHS])
