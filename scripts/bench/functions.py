"""``skinny bench functions``: usual functions on usual boxes, from the formula to words of the simulated core."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from skinny.model.compiler.pipeline import Precision, compile_formula
from skinny.model.errors import CheckError, InputError
from skinny.model.formula.parse import parse_formula
from skinny.model.machine.assemble import assemble
from skinny.model.machine.isa import CoreConfig
from skinny.model.program.program import Program
from skinny.model.rings import FixedPoint
from skinny.scripts.common import add_command, print_json, print_table, rounded_outwards
from skinny.scripts.progress import counted

from .functions_usual import FUNCTIONS, Usual, least_degree

if TYPE_CHECKING:
    from skinny.sim.simulators.bulk import BulkCore

__all__ = ["bench_function", "chosen_functions", "missed", "register"]

#: For each error the formats that are tried. There are three in all, each a core that holds every program.
SMALL, MIDDLE, LARGE = FixedPoint(16, 13), FixedPoint(24, 20), FixedPoint(32, 26)
ERRORS = {"1e-3": (SMALL, MIDDLE, LARGE), "1e-4": (MIDDLE, LARGE)}
#: Inferences of each program: 10^6 in all, and some more.
WORDS = 25_000
DETAILS = f"""\
Compiles {len(FUNCTIONS)} functions on their usual boxes to {" and ".join(ERRORS)}, loads each program into a simulated
core and runs it on {WORDS:,} random input words from its box. The format is the first of {SMALL.name} (for 1e-3),
{MIDDLE.name} and {LARGE.name} in which the promises are met. 'minimax' is the least degree of any polynomial that is
within the error, found by a method of its own (de la Vallée-Poussin); 'proven' is the bound of the total error, 'seen'
the largest in the results of the core. The exit code is 1 when a promise is missed:

  - every function is compiled;
  - the degree is at most one above the minimax degree;
  - the error that was asked for is proven;
  - no result of the core exceeds what is proven.

JSON keys: rows (function, low, high, error, minimax, degree, ring, cycles, proven, seen, words, missed), words (results
of the core in all).

example:
  $ skinny bench functions --only sin,tanh
"""

Row = dict[str, Any]


def register(benches: Any) -> None:
    parser = add_command(benches, "functions", execute, "functions on a box, down to words of the core", DETAILS)
    parser.add_argument("--only", metavar="NAME,…", help="some functions: those whose formulas begin like this")


def execute(args: argparse.Namespace) -> None:
    chosen = chosen_functions(args.only)
    rows: list[Row] = []
    for usual, error in counted("functions", [(usual, error) for usual in chosen for error in ERRORS]):
        rows.append(bench_function(usual, error))
    words = sum(row["words"] for row in rows)
    if args.json:
        print_json({"rows": rows, "words": words})
    else:
        print_table(list(COLUMNS), [[cell(row) for cell in COLUMNS.values()] for row in rows])
        print()
        print(f"{words:,} results of the core")
    if broken := [row for row in rows if row["missed"]]:
        named = "; ".join(f"{row['function']} to {row['error']}: {', '.join(row['missed'])}" for row in broken)
        raise CheckError(f"{len(broken)} of {len(rows)} rows miss a promise: {named}")


def chosen_functions(only: str | None) -> list[Usual]:
    """The functions that ``--only`` names."""
    if only is None:
        return FUNCTIONS
    wanted = [text.strip() for text in only.split(",")]
    for text in wanted:
        if not any(usual.text.startswith(text) for usual in FUNCTIONS):
            known = "; ".join(dict.fromkeys(usual.text for usual in FUNCTIONS))
            raise InputError(f"there is no function that begins with {text!r}; there are {known}")
    return [usual for usual in FUNCTIONS if usual.text.startswith(tuple(wanted))]


def bench_function(usual: Usual, error: str, words: int = WORDS) -> Row:
    """One function to one error, on ``words`` random input words."""
    row: Row = {
        **{"function": usual.text, "low": usual.low, "high": usual.high, "error": error},
        "minimax": least_degree(usual, float(error)),
        **dict.fromkeys(("degree", "ring", "cycles", "proven", "seen")),
        **{"words": 0, "missed": ["compiled"]},
    }
    box = {"x": (Fraction(usual.low), Fraction(usual.high))}
    for ring in ERRORS[error]:
        asked = Precision(ring.bits, ring.frac, box, Fraction(error), scale=True)
        try:
            compiled = compile_formula(parse_formula(f"y = {usual.text}"), precision=asked)
        except CheckError:
            continue
        row |= {"degree": compiled.facts.degree, "ring": ring.name, "cycles": compiled.program.words}
        row |= {"proven": compiled.errors["y"], "seen": _seen(usual, compiled.program, ring, words), "words": words}
        row["missed"] = missed(row)
        if row["missed"] != ["degree"]:  # a larger word leaves more of the error to the polynomial
            break
    return row


def missed(row: Row) -> list[str]:
    """The promises that a row misses."""
    met = {
        "degree": row["degree"] <= row["minimax"] + 1,
        "error": row["proven"] <= float(row["error"]),
        "exceeded": row["seen"] <= row["proven"],
    }
    return [promise for promise, held in met.items() if not held]


@cache
def _core(ring: FixedPoint) -> BulkCore:
    """The core of a format, which holds every program that is made here."""
    # Loaded here, because it needs the extra sim.
    from skinny.sim.simulators.bulk import BulkCore

    return BulkCore(CoreConfig(ring, depth=64, inputs=1, weights=64))


def _seen(usual: Usual, program: Program, ring: FixedPoint, words: int) -> float:
    """The largest error in the results of the core, for the ends of the box and random input words between them."""
    from skinny.sim.check.record import outputs
    from skinny.sim.check.stimulus import Stimulus

    unit = Fraction(2) ** (program.input_scales[0] - ring.frac)
    ends = [math.ceil(Fraction(usual.low) / unit), math.floor(Fraction(usual.high) / unit)]
    drawn = np.random.default_rng(len(program)).integers(ends[0], ends[1], words - len(ends), endpoint=True)
    raw = np.concatenate([ends, drawn])
    core = _core(ring)
    image = assemble(program, core.config.core)
    core.load(image)
    stimulus = Stimulus.steady(image, image.config.pack(raw[:, None]))
    found = image.config.unpack(outputs(stimulus, core.run(stimulus, trace=False)), words)[:, 0]
    values = found * 2.0 ** (program.outputs[0].scale - ring.frac)
    return float(np.max(np.abs(values - usual.reference(raw * float(unit)))))


#: Heads of columns, and what stands in them.
COLUMNS: dict[str, Callable[[Row], object]] = {
    "function": lambda row: row["function"],
    "box": lambda row: f"{row['low']}:{row['high']}",
    "error": lambda row: row["error"],
    "minimax": lambda row: row["minimax"],
    "degree": lambda row: "-" if row["degree"] is None else row["degree"],
    "format": lambda row: row["ring"] or "-",
    "words": lambda row: row["cycles"] or "-",
    "proven": lambda row: "-" if row["proven"] is None else rounded_outwards(row["proven"], up=True),
    "seen": lambda row: "-" if row["seen"] is None else f"{row['seen']:.3g}",
    "missed": lambda row: ", ".join(row["missed"]),
}
