"""``skinny sweep``: all combinations of settings, and the best of them."""

from __future__ import annotations

import argparse
import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from skinny.compiling import box_names
from skinny.model.errors import CheckError, InputError
from skinny.model.files import expect_folder, read_text, write_folder
from skinny.model.formula.parse import parse_definitions
from skinny.model.frontends.find import FORMULA_FILES, MODEL_FILES
from skinny.model.limits import FORMULA_BYTE
from skinny.sweeping import FIGURES, WORDS, WORKERS, sweep
from skinny.values import printable

from .boxes import add_box_option, parse_box
from .common import add_command, note, print_json, print_table
from .options import read_error
from .progress import working

__all__ = ["register"]

DETAILS = f"""\
Every combination of the settings is a point: a program, compiled from FORMULA or learned from the column --target of
DATA.csv, on a core, on a device. Lists have commas. What is made of a point: accuracy (of classes) or r2 (of numbers)
on a quarter of the rows that nothing was learned from, or the proven error of a formula on the --box, in your units;
cycles, LUTs, logic cells, MHz and inferences a second. A point that cannot be is a row with its reason.

The front has the points that no other point of the same device beats: none is better in accuracy or error, in area
(logic cells of iCE40, LUTs of ECP5) or in inferences a second, and as good in the others. Of settings that come to the
same core, such as more registers than the program needs, it has the first.
All points are estimated. Those of the front, and those that no estimate can tell about, are then synthesised, and the
front of what was synthesised is the answer. --synthesis none leaves it at estimates or, if there are none, at quality
and cycles. Figures are those of `skinny fpga --no-gate-level`, best of 3 seeds.

DIR gets points.csv (all), front.csv, front.png and points.jsonl, the record, to which each finished piece of work is
added at once. The same command goes on where it was interrupted, and repeats nothing; another sweep may share the
folder, and takes from the record what it has in common.

The work is spread over processes of this machine, or over a cluster: `dask scheduler` on one machine, `dask worker
ADDRESS --nthreads 1` on others with the same version of Skinny. Whoever reaches a scheduler can run code on its
workers, so it belongs into a network of your own.

settings of a formula: --rings (fixed:BITS[.FRAC] with a box), --widths, --keep, --error; of what is learned: --rings,
--widths (registers at most), --budgets (cycles), --effort; of both: --threads, --registers, --devices.

JSON keys: points and front, lists of: ring, width, budget (learned), threads, registers, device, format (the ring with
its point), accuracy, r2 or error, {", ".join(FIGURES)}, figures (estimate or synthesis), front, reason; files.

example:
  $ skinny sweep 'y = (a + 2*b)^3' --box -1:1 --rings fixed:12,fixed:16 --threads 1,2,4 --devices up5k -o cube
  $ skinny sweep flowers.csv --target species --budgets 15,20,40 --effort 0.2 -o flowers
  $ skinny sweep flowers.csv --target species --budgets 15,20,40 --scheduler tcp://127.0.0.1:8786 -o flowers
"""


def register(commands: Any) -> None:
    parser = add_command(commands, "sweep", execute, "all combinations of settings, and the best of them", DETAILS)
    parser.add_argument("source", metavar="FORMULA|DATA.csv", help="text, @FILE or, with --target, a table")
    parser.add_argument("--rings", metavar="RINGS", default="fixed:16", help="rings (default: fixed:16)")
    parser.add_argument("--widths", metavar="N,…", help="registers (default: 3, for what is learned 16)")
    parser.add_argument("--threads", metavar="N,…", default="4", help="inferences in flight (default: 4)")
    parser.add_argument(
        "--registers", metavar="PLACES", default="flipflops", help="flipflops, memory or both (default: flipflops)"
    )
    parser.add_argument("--devices", metavar="NAMES", default="up5k", help="as for `skinny fpga` (default: up5k)")
    parser.add_argument("--target", metavar="COLUMN", help="the column of the table that is to be learned")
    parser.add_argument("--budgets", metavar="N,…", help="cycles of what is learned, at most (default: 300)")
    parser.add_argument("--effort", metavar="X", type=float, help="times the usual training (default: 1)")
    add_box_option(parser, "none; errors are not proven")
    parser.add_argument("--error", metavar="E", help="the largest error of a formula that is allowed")
    parser.add_argument("--keep", metavar="PROMISES", help="promises of a formula, as for `skinny compile`")
    parser.add_argument(
        "--synthesis", choices=("front", "none"), default="front", help="what is synthesised (default: front)"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--workers", metavar="N", type=int, help=f"processes here (default: {WORKERS})")
    where.add_argument("--scheduler", metavar="ADDRESS", help="a scheduler of Dask, like tcp://127.0.0.1:8786")
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="the folder for tables and picture")


def execute(args: argparse.Namespace) -> None:
    options = _learned(args) if args.target is not None else _formula(args)
    expect_folder(args.output)
    folder = Path(args.output)
    with working("starting the workers") as work:

        def watch(what: str, done: int, count: int) -> None:
            work.at(done, count, what)
            if done == count:
                note(f"{what}: {done} of {count}")

        rows = sweep(
            rings=_list(args.rings),
            widths=None if args.widths is None else _numbers(args.widths, "--widths"),
            threads=_numbers(args.threads, "--threads"),
            registers=_list(args.registers),
            devices=_list(args.devices),
            synthesis=args.synthesis,
            workers=WORKERS if args.workers is None else args.workers,
            scheduler=args.scheduler,
            record=str(folder / "points.jsonl"),
            watch=watch,
            **options,
        )
    best = [row for row in rows if row["front"]]
    # Loaded here, because nothing before it needs Matplotlib.
    from .sweep_picture import draw_front

    write_folder(folder, {"points.csv": _table(rows, rows), "front.csv": _table(best, rows)})
    if not best:
        reason = next(row["reason"] for row in rows if row["reason"])
        raise CheckError(f"no point of {len(rows)} could be ({folder / 'points.csv'}): {reason}")
    draw_front(rows, str(folder / "front.png"))
    names = ["points.csv", "front.csv", "front.png", "points.jsonl"]
    if args.json:
        print_json(printable({"points": rows, "front": best, "files": [str(folder / name) for name in names]}))
        return
    _show(rows, best)
    print(f"{args.output}: {', '.join(names)}")


def _formula(args: argparse.Namespace) -> dict[str, Any]:
    for option in ("budgets", "effort"):
        if getattr(args, option) is not None:
            raise InputError(f"--{option} is about what is learned from a table: give its column --target")
    given = args.source
    if given.endswith((".csv", *FORMULA_FILES, *MODEL_FILES)) and not given.startswith("@"):
        raise InputError(f"{given}: a sweep is of a formula or, with the column --target, of a CSV file to learn from")
    text = read_text(given.removeprefix("@"), FORMULA_BYTE) if given == "-" or given.startswith("@") else given
    names = box_names(parse_definitions(text))
    return {
        "source": text,
        "box": dict(zip(names, parse_box(args.box, names), strict=True)) if args.box else None,
        "error": read_error(args.error),
        **({} if args.keep is None else {"keep": args.keep}),
    }


def _learned(args: argparse.Namespace) -> dict[str, Any]:
    for option in ("box", "error", "keep"):
        if getattr(args, option):
            raise InputError(f"--{option} is about formulas: what is learned goes without it")
    return {
        "source": args.source,
        "target": args.target,
        **({} if args.budgets is None else {"budgets": _numbers(args.budgets, "--budgets")}),
        **({} if args.effort is None else {"effort": args.effort}),
    }


def _list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _numbers(text: str, option: str) -> list[int]:
    for part in _list(text):
        if not re.fullmatch("[0-9]{1,9}", part):
            raise InputError(f"{option}: expected whole numbers with commas, found {part!r}")
    return [int(part) for part in _list(text)]


def _table(rows: Sequence[dict[str, Any]], like: Sequence[dict[str, Any]]) -> bytes:
    """Rows as CSV, with the columns of the first one of ``like``; what is None is empty."""
    text = io.StringIO()
    table = csv.DictWriter(text, like[0], lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return text.getvalue().encode()


def _show(rows: Sequence[dict[str, Any]], best: Sequence[dict[str, Any]]) -> None:
    """The front, and what became of the others."""
    names = [name for name in rows[0] if name not in ("figures", "front", "reason")]
    shown = [[_shown(name, row[name]) for name in names] for row in best]
    kept = [place for place, name in enumerate(names) if any(row[name] is not None for row in best)]
    print_table(
        ("number", *(names[place].replace("_", " ") for place in kept)),
        [(number, *(row[place] for place in kept)) for number, row in enumerate(shown, 1)],
    )
    reasons: dict[str, int] = {}
    for row in rows:
        if row["reason"]:
            reasons[row["reason"]] = reasons.get(row["reason"], 0) + 1
    print()
    for reason, count in reasons.items():
        print(f"{count} point{'s' * (count > 1)} without figures: {reason}")
    by = WORDS.get(best[0]["figures"], "cycles alone")
    print(f"{len(best)} of {len(rows)} points are on the front, by {by}")


def _shown(name: str, value: Any) -> Any:
    """A figure with as many digits as are worth a look."""
    if not isinstance(value, float):
        return "-" if value is None else value
    if name in ("cycles", "inferences_per_second"):
        return round(value)
    return float(f"{value:.1f}" if name == "mhz" else f"{value:.3g}")
