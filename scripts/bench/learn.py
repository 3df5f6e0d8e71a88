"""``skinny bench learn``: learned programs against their rivals, at equal cycles, on several splits."""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from skinny.model.errors import CheckError, InputError
from skinny.model.files import expect_file
from skinny.scripts.common import add_command, note, print_json, print_table
from skinny.scripts.progress import counted

from .learn_rivals import networks, rivals
from .learn_sets import SETS, DataSet, Load, split_rows

__all__ = ["measure", "register", "summary"]

DETAILS = f"""\
Fits {", ".join(SETS)} on splits of three quarters and one quarter of the rows, each class with its share. A row of the
table is a set and a budget of cycles: accuracy (R² of diabetes) on the test rows of our program in floats and in fixed
point, and of a network with relu that was trained and pruned in the same way to the same cycles. Below stand logistic
regression (of numbers: ridge) and its L1 form with their cycles, a decision tree and an RBF SVM, which are no programs,
and the differences of ours to all of them with their standard errors over the splits. Everything is chosen without the
test rows, and all test rows are simulated, argmax included, with the program of each budget: the core decides as the
model.

What is measured is kept in the file of -o, a line for each set and split, and not measured again. BasicMotions and
GunPoint come with sktime (pip install --no-deps sktime); without it they are left out.

JSON keys: rows (set, budget, splits, cycles, ours, ours_error, fixed, network, ahead (of each rival the mean difference
and its error), promised, met), rivals (set, rival, cycles, score, score_error), simulated (set, rows).

example:
  $ skinny bench learn --quick
  $ skinny bench learn -o learn.jsonl
"""
#: Splits, and the effort of training, in full and in short.
FULL, QUICK = (10, 1.0), (2, 0.25)

Found = dict[str, Any]


def register(benches: Any) -> None:
    parser = add_command(benches, "learn", execute, "learned programs against their rivals", DETAILS)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK[0]} splits and less training")
    parser.add_argument("--only", metavar="SET,…", help="some sets: those whose names begin like this")
    parser.add_argument("--splits", metavar="N", type=int, help=f"splits of the rows (default: {FULL[0]})")
    parser.add_argument("-o", "--output", metavar="FILE.jsonl", help="keep what is measured here, and go on from it")


def execute(args: argparse.Namespace) -> None:
    splits, effort = QUICK if args.quick else FULL
    splits = splits if args.splits is None else args.splits
    if splits < 1:
        raise InputError(f"--splits must be 1 or more, not {splits}")
    expect_file(args.output)
    chosen = _chosen(args.only)
    known = {} if args.output is None else _read(args.output)
    wanted = [(name, split) for split in range(splits) for name in chosen]
    for name, split in counted("sets and splits", [each for each in wanted if (*each, effort) not in known]):
        found = measure(name, SETS[name], split, effort)
        known[name, split, effort] = found
        if args.output is not None:
            with open(args.output, "a") as file:
                file.write(json.dumps(found) + "\n")
    answer = summary([known[name, split, effort] for name, split in wanted])
    if args.json:
        print_json(answer)
    else:
        _report(answer)


def _chosen(only: str | None) -> list[str]:
    """The sets that are asked for and that are there."""
    names = list(SETS)
    if only is not None:
        wanted = [name.strip().lower() for name in only.split(",")]
        for word in wanted:
            if not any(name.lower().startswith(word) for name in SETS):
                raise InputError(f"there is no set {word!r}; there are {', '.join(SETS)}")
        names = [name for name in SETS if name.lower().startswith(tuple(wanted))]
    out = []
    for name in names:
        try:
            SETS[name].load()
        except FileNotFoundError as error:
            note(str(error))
        else:
            out.append(name)
    return out


def _read(path: str) -> dict[tuple[str, int, float], Found]:
    """What was measured before."""
    if not Path(path).exists():
        return {}
    try:
        rows = [json.loads(line) for line in Path(path).read_text().splitlines()]
        return {(row["set"], row["split"], row["effort"]): row for row in rows}
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path}: this is no file of skinny bench learn") from None


def measure(name: str, data: DataSet, split: int, effort: float) -> Found:
    """All of one set and one split."""
    from skinny.estimators import SkinnyClassifier, SkinnyRegressor

    began = perf_counter()
    seen, truth = split_rows(data.load, data.numbers, split)
    kind = SkinnyRegressor if data.numbers else SkinnyClassifier
    first, *others = data.budgets
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # test rows may be outside the box, and inputs are rounded
        ours = kind(first, images=data.image, curve=tuple(others), effort=effort, random_state=split).fit(*seen)
        points = []
        for place, entry in enumerate(ours.curve_):
            at = ours.with_point(place)
            points.append(
                {
                    "budget": entry["budget"],
                    "cycles": entry["cycles"],
                    "setting": entry["setting"],
                    "ours": at.float_score(*truth),
                    "fixed": at.score(*truth),
                }
            )
        simulated = sum(_simulate(ours.with_point(place), truth[0]) for place in range(len(points)))
    return {
        "set": name,
        "split": split,
        "effort": effort,
        "points": points,
        "network": _networks(data, seen, truth, split, effort),
        "rivals": _rivals(data.load, data.numbers, split),
        "simulated": simulated,
        "seconds": perf_counter() - began,
    }


@lru_cache(1)
def _rivals(load: Load, numbers: bool, split: int) -> dict[str, list[Any]]:
    """What the models of scikit-learn reach; the two sets of digits, one after the other, have the same."""
    seen, truth = split_rows(load, numbers, split)
    return {key: list(found) for key, found in rivals(*seen, *truth, split, numbers).items()}


def _simulate(estimator: Any, rows: Any) -> int:
    """The number of rows that the simulated core decided as the estimator does; :exc:`CheckError` if one differs."""
    (sent,) = estimator.simulate(rows)["results"].values()
    decided = np.array(sent) if not hasattr(estimator, "classes_") else estimator.classes_[np.array(sent, int)]
    if len(differ := np.flatnonzero(decided != estimator.predict(rows))):
        raise CheckError(f"test row {differ[0] + 1}: the simulated core and the estimator differ")
    return len(rows)


def _networks(
    data: DataSet, seen: tuple[Any, Any], truth: tuple[Any, Any], split: int, effort: float
) -> dict[str, float]:
    """What networks with relu reach at each budget."""
    found = networks(
        *seen, *truth, data.budgets, split, data.numbers, image=data.image, units=data.rival_units, effort=effort
    )
    return {str(point["budget"]): point["score"] for point in found}


def summary(found: list[Found]) -> dict[str, Any]:
    """The table: means over the splits, and standard errors of what is compared."""
    rows, others, simulated = [], [], []
    for name in dict.fromkeys(each["set"] for each in found):
        those = [each for each in found if each["set"] == name]
        for budget in [point["budget"] for point in those[0]["points"]]:
            points = [next(p for p in each["points"] if p["budget"] == budget) for each in those]
            ours = np.array([point["ours"] for point in points])
            promised = SETS[name].promised.get(budget)
            behind = {"network": [each["network"][str(budget)] for each in those]}
            behind |= {rival: [each["rivals"][rival][1] for each in those] for rival in those[0]["rivals"]}
            rows.append(
                {
                    "set": name,
                    "budget": budget,
                    "splits": len(those),
                    "cycles": float(np.mean([point["cycles"] for point in points])),
                    "ours": float(ours.mean()),
                    "ours_error": _error(ours),
                    "fixed": float(np.mean([point["fixed"] for point in points])),
                    "network": float(np.mean(behind["network"])),
                    "ahead": {
                        rival: [float((ours - scores).mean()), _error(ours - scores)]
                        for rival, scores in behind.items()
                    },
                    "promised": promised,
                    "met": None if promised is None else float(ours.mean()) >= promised,
                }
            )
        for rival in those[0]["rivals"]:
            entries = [each["rivals"][rival] for each in those]
            cycles = None if entries[0][0] is None else float(np.mean([entry[0] for entry in entries]))
            scores = [entry[1] for entry in entries]
            others.append(
                {
                    "set": name,
                    "rival": rival,
                    "cycles": cycles,
                    "score": float(np.mean(scores)),
                    "score_error": _error(scores),
                }
            )
        if checked := sum(each["simulated"] for each in those):
            simulated.append({"set": name, "rows": checked})
    return {"rows": rows, "rivals": others, "simulated": simulated}


def _error(values: Any) -> float | None:
    """The standard error of the mean."""
    return None if len(values) < 2 else float(np.std(values, ddof=1) / np.sqrt(len(values)))


def _report(answer: dict[str, Any]) -> None:
    def shown(value: float | None, name: str, sign: str = "") -> str:
        if value is None:
            return "-"
        return f"{value:{sign}.3f}" if SETS[name].numbers else f"{100 * value:{sign}.2f}"

    def both(pair: Sequence[float | None], name: str, sign: str = "") -> str:
        return f"{shown(pair[0], name, sign)} ± {shown(pair[1], name)}"

    names = {row["set"]: list(row["ahead"]) for row in answer["rows"]}
    print("accuracy in percent, or R², on test rows: means over the splits and their standard errors")
    print_table(
        ("set", "budget", "splits", "cycles", "ours", "fixed", "network", "promised"),
        [
            (
                row["set"],
                "-" if row["budget"] is None else str(row["budget"]),
                row["splits"],
                round(row["cycles"]),
                both((row["ours"], row["ours_error"]), row["set"]),
                *(shown(row[key], row["set"]) for key in ("fixed", "network", "promised")),
            )
            for row in answer["rows"]
        ],
    )
    print()
    print_table(
        ("set", "rival", "cycles", "score"),
        [
            (
                r["set"],
                r["rival"],
                "-" if r["cycles"] is None else f"{r['cycles']:.0f}",
                both((r["score"], r["score_error"]), r["set"]),
            )
            for r in answer["rivals"]
        ],
    )
    for numbers in (False, True):
        rows = [row for row in answer["rows"] if SETS[row["set"]].numbers == numbers]
        if not rows:
            continue
        print("\nours less the rival's, on the same splits")
        heads = names[rows[0]["set"]]
        print_table(
            ("set", "budget", *heads),
            [
                (
                    row["set"],
                    "-" if row["budget"] is None else str(row["budget"]),
                    *(both(row["ahead"][rival], row["set"], "+") for rival in heads),
                )
                for row in rows
            ],
        )
    for entry in answer["simulated"]:
        print(f"{entry['set']}: {entry['rows']} results on test rows simulated, the core gives what the model gives")
