"""``skinny bench patterns``: does a learned pattern of influences beat fixed ones?"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from skinny.model.errors import InputError
from skinny.model.learn.fitting import Job, Setting, fit, settings_for
from skinny.model.learn.search import KINDS, search
from skinny.scripts.common import add_command, print_json, print_table

from .learn_sets import SETS, split_rows

__all__ = ["register", "rows_of"]

DETAILS = """\
Programs on three registers whose pattern of influences is searched (patterns="search", docs/learning.md), grown and
random patterns each by themselves, against the fixed families at the same cycles: R² on 4,000 new rows of targets that
are deep products, learned from 2,000 rows uniform between -1 and 1, and the accuracy on the test rows of two tables of
two classes; "both" is what patterns="search" does, which takes the better on rows that are kept back. On deep targets
the fixed families are products of up to 8 units. Means over the seeds.

JSON keys: rows (target, budget, seeds, grown, random, both, fixed, promised, met).

example:
  $ skinny bench patterns --seeds 1 --effort 0.25
"""
#: Products of many inputs: how many, and what is computed of them.
TARGETS: dict[str, tuple[int, Callable[[NDArray[Any]], NDArray[Any]]]] = {
    "abcde": (5, lambda x: x.prod(axis=1)),
    "abc + def": (6, lambda x: x[:, :3].prod(axis=1) + x[:, 3:].prod(axis=1)),
    "((a + bc)d + e)f": (6, lambda x: ((x[:, 0] + x[:, 1] * x[:, 2]) * x[:, 3] + x[:, 4]) * x[:, 5]),
}
#: Tables of two classes: the set, and what is told apart.
TABLES: dict[str, tuple[str, Callable[[NDArray[Any]], NDArray[Any]]]] = {
    "breast cancer": ("breast cancer", lambda classes: classes == 0),
    "digits, odd or even": ("digits (table)", lambda classes: classes % 2 == 1),
}
BUDGETS = (50, 36)
#: What is searched, as columns of the table.
SEARCHED = {"grown": ("grown",), "random": ("random",), "both": KINDS}
#: R² of both together at the greatest budget.
PROMISED = 0.98
#: Rows to learn from and rows to test with.
SEEN, NEW = 2000, 4000
#: The fixed families that are tried for deep targets, and their restarts.
FIXED, RESTARTS = tuple(Setting("products", units, 0.0, 0.02) for units in (4, 8)), 4

#: For each kind of programs, and each budget: accuracy or R² on new rows.
Scores = dict[str, dict[int, float]]


def register(benches: Any) -> None:
    parser = add_command(benches, "patterns", execute, "searched patterns of influences against fixed ones", DETAILS)
    parser.add_argument("--seeds", metavar="N", type=int, default=3, help="seeds, and splits of tables (default: 3)")
    parser.add_argument(
        "--effort", metavar="X", type=float, default=0.5, help="times the usual training (default: 0.5)"
    )


def execute(args: argparse.Namespace) -> None:
    if args.seeds < 1 or not args.effort > 0:
        raise InputError("--seeds and --effort must be above zero")
    wanted = [(name, seed) for seed in range(args.seeds) for name in (*TARGETS, *TABLES)]
    found: dict[str, list[Scores]] = {}
    for name, seed in track(wanted, "searching", console=Console(file=sys.stderr), disable=not sys.stderr.isatty()):
        measure = of_target if name in TARGETS else of_table
        found.setdefault(name, []).append(measure(name, seed, args.effort))
    rows = rows_of(found)
    if args.json:
        print_json({"rows": rows})
        return
    print("R² on new rows, or accuracy on test rows: means over the seeds")
    print_table(
        ("target", "budget", "seeds", *SEARCHED, "fixed families", "promised"),
        [
            (
                *(row[key] for key in ("target", "budget", "seeds")),
                *(f"{row[key]:.4f}" for key in (*SEARCHED, "fixed")),
                "-" if row["promised"] is None else str(row["promised"]),
            )
            for row in rows
        ],
    )


def of_target(name: str, seed: int, effort: float) -> Scores:
    """R² of programs for a target that is a deep product."""
    inputs, target = TARGETS[name]
    rng = np.random.default_rng(seed)
    rows, new = rng.uniform(-1, 1, (SEEN, inputs)), rng.uniform(-1, 1, (NEW, inputs))
    wanted, truth = target(rows), target(new)
    spread = float(((truth - truth.mean()) ** 2).sum())

    def scores(entries: Sequence[tuple[int, Any]]) -> dict[int, float]:
        return {
            budget: 1 - float(((program.values(new)[:, 0] - truth) ** 2).sum()) / spread for budget, program in entries
        }

    out = {}
    for kind, kinds in SEARCHED.items():
        searched = search(rows, wanted, "numbers", BUDGETS, seed, effort, kinds=kinds)
        out[kind] = scores([(entry.budget, entry) for entry in searched])
    curve = fit(Job(rows, wanted[:, None], "numbers", BUDGETS, FIXED, RESTARTS, effort, seed=seed)).curve
    return out | {"fixed": scores([(point.budget, point.program) for point in curve])}


def of_table(name: str, seed: int, effort: float) -> Scores:
    """The accuracy of programs for a table of two classes."""
    data, told_apart = TABLES[name]
    (rows, classes), (new, truth) = split_rows(SETS[data].load, False, seed)
    signs = told_apart(classes).astype(int)

    def scores(entries: Sequence[tuple[int, Any]]) -> dict[int, float]:
        return {
            budget: float(((program.values(new)[:, 0] > 0) == told_apart(truth)).mean()) for budget, program in entries
        }

    out = {}
    for kind, kinds in SEARCHED.items():
        searched = search(rows, signs, "sign", BUDGETS, seed, effort, kinds=kinds)
        out[kind] = scores([(entry.budget, entry) for entry in searched])
    settings = settings_for("sign", 1, 16, len(rows))
    curve = fit(Job(rows, signs, "sign", BUDGETS, settings, pace=effort, seed=seed)).curve
    return out | {"fixed": scores([(point.budget, point.program) for point in curve])}


def rows_of(found: dict[str, list[Scores]]) -> list[dict[str, Any]]:
    """The means over the seeds, for each target and budget."""
    rows = []
    for name, seeds in found.items():
        for budget in BUDGETS:
            means = {kind: float(np.mean([scores[kind][budget] for scores in seeds])) for kind in (*SEARCHED, "fixed")}
            promised = PROMISED if name in TARGETS and budget == BUDGETS[0] else None
            met = None if promised is None else means["both"] >= promised
            row = {"target": name, "budget": budget, "seeds": len(seeds), **means, "promised": promised, "met": met}
            rows.append(row)
    return rows
