"""``skinny bench learn``: learned programs against their rivals, at equal cycles, on several splits."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from skinny.model.errors import InputError
from skinny.model.learn.fitting import MANY, Job, Setting, fit, settings_for
from skinny.scripts.common import add_command, note, print_json, print_table

from .learn_rivals import rivals
from .learn_sets import SETS, DataSet, Load

__all__ = ["measure", "register", "summary"]

DETAILS = f"""\
Fits {", ".join(SETS)} on splits of three quarters and one quarter of the rows, each class with its share. A row of the
table is a set and a budget of cycles: accuracy (R² of diabetes) on the test rows of our program in floats and in fixed
point, of a network with relu that was trained and pruned in the same way to the same cycles, and the difference of the
two with its standard error over the splits. Below stand logistic regression (of numbers: ridge) and its L1 form with
their cycles, a decision tree and an RBF SVM, which are no programs. Everything is chosen without the test rows. Of the
first split the test rows of each set are simulated: the core decides as the model.

What is measured is kept in the file of -o, a line for each set and split, and not measured again. BasicMotions and
GunPoint come with sktime (pip install --no-deps sktime); without it they are left out.

JSON keys: rows (set, budget, splits, cycles, ours, ours_error, fixed, network, difference, difference_error, promised,
met), rivals (set, rival, cycles, score), simulated (set, rows).

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
    chosen = _chosen(args.only)
    known = {} if args.output is None else _read(args.output)
    wanted = [(name, split) for split in range(splits) for name in chosen]
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=sys.stderr), disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("", total=len(wanted))
        for name, split in wanted:
            progress.update(task, description=f"{name}, split {split + 1} of {splits}")
            if (name, split, effort) not in known:
                found = measure(name, SETS[name], split, effort)
                known[name, split, effort] = found
                if args.output is not None:
                    with open(args.output, "a") as file:
                        file.write(json.dumps(found) + "\n")
            progress.advance(task)
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
    seen, truth = _split(data.load, data.numbers, split)
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
        simulated = 0
        if split == 0:
            simulated = sum(_simulate(ours.with_point(place), truth[0]) for place in range(len(points)))
    return {
        "set": name,
        "split": split,
        "effort": effort,
        "points": points,
        "network": _network(data, seen, truth, split, effort),
        "rivals": _rivals(data.load, data.numbers, split),
        "simulated": simulated,
        "seconds": perf_counter() - began,
    }


def _split(load: Load, numbers: bool, split: int) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Rows and targets to learn from, and those to test with."""
    from sklearn.model_selection import train_test_split

    rows, targets = load()
    inside, tested = train_test_split(
        np.arange(len(rows)), test_size=0.25, random_state=split, stratify=None if numbers else targets
    )
    return (rows[inside], targets[inside]), (rows[tested], targets[tested])


@lru_cache(1)
def _rivals(load: Load, numbers: bool, split: int) -> dict[str, list[Any]]:
    """What the models of scikit-learn reach; the two sets of digits, one after the other, have the same."""
    seen, truth = _split(load, numbers, split)
    return {key: list(found) for key, found in rivals(*seen, *truth, split, numbers).items()}


def _simulate(estimator: Any, rows: Any) -> int:
    """The number of rows that the simulated core decided as the estimator does; :exc:`CheckError` if one differs."""
    found = estimator.simulate(rows)
    assert found["match"]
    (sent,) = found["results"].values()
    decided = np.array(sent) if not hasattr(estimator, "classes_") else estimator.classes_[np.array(sent, int)]
    assert np.array_equal(decided, estimator.predict(rows))
    return len(rows)


def _network(data: DataSet, seen: Any, truth: Any, split: int, effort: float) -> dict[str, float]:
    """What a network with relu reaches at each budget, trained, pruned and chosen as ours."""
    rows, targets = seen
    if data.numbers:
        task, wanted, count, classes = "numbers", targets[:, None].astype(float), 1, None
    else:
        classes, wanted = np.unique(targets, return_inverse=True)
        task, count = ("sign", 1) if len(classes) == 2 else ("classes", len(classes))
    ours = settings_for(task, count, 16, len(rows))
    kinds = sorted({(each.taught, each.noise) for each in ours if each.units})
    kinds = [kinds[0], kinds[-1]] if task == "classes" and len(rows) >= MANY else kinds
    settings = tuple(Setting("relu", units, *kind) for kind in kinds for units in data.rival_units)
    job = Job(rows, wanted, task, (1 << 40, *data.budgets), settings, 8, effort, data.image, split)
    out = {}
    for point in fit(job).curve:
        outputs = point.program.values(truth[0])
        if classes is None:
            score = 1 - ((truth[1] - outputs[:, 0]) ** 2).sum() / ((truth[1] - truth[1].mean()) ** 2).sum()
        else:
            decided = (outputs[:, 0] > 0).astype(int) if count == 1 else outputs.argmax(axis=1)
            score = (classes[decided] == truth[1]).mean()
        out[str(point.budget if point.budget < 1 << 40 else None)] = float(score)
    return out


def summary(found: list[Found]) -> dict[str, Any]:
    """The table: means over the splits, and standard errors of what is compared."""
    rows, others, simulated = [], [], []
    for name in dict.fromkeys(each["set"] for each in found):
        those = [each for each in found if each["set"] == name]
        for budget in [point["budget"] for point in those[0]["points"]]:
            points = [next(p for p in each["points"] if p["budget"] == budget) for each in those]
            ours = np.array([point["ours"] for point in points])
            network = np.array([each["network"][str(budget)] for each in those])
            promised = SETS[name].promised.get(budget)
            mean = float(ours.mean())
            rows.append(
                {
                    "set": name,
                    "budget": budget,
                    "splits": len(those),
                    "cycles": float(np.mean([point["cycles"] for point in points])),
                    "ours": mean,
                    "ours_error": _error(ours),
                    "fixed": float(np.mean([point["fixed"] for point in points])),
                    "network": float(network.mean()),
                    "difference": float((ours - network).mean()),
                    "difference_error": _error(ours - network),
                    "promised": promised,
                    "met": None if promised is None else mean >= promised,
                }
            )
        for rival in those[0]["rivals"]:
            entries = [each["rivals"][rival] for each in those]
            cycles = None if entries[0][0] is None else float(np.mean([entry[0] for entry in entries]))
            score = float(np.mean([entry[1] for entry in entries]))
            others.append({"set": name, "rival": rival, "cycles": cycles, "score": score})
        if checked := sum(each["simulated"] for each in those):
            simulated.append({"set": name, "rows": checked})
    return {"rows": rows, "rivals": others, "simulated": simulated}


def _error(values: Any) -> float | None:
    """The standard error of the mean."""
    return None if len(values) < 2 else float(np.std(values, ddof=1) / np.sqrt(len(values)))


def _report(answer: dict[str, Any]) -> None:
    def shown(value: float | None, name: str) -> str:
        if value is None:
            return "-"
        return f"{value:.3f}" if SETS[name].numbers else f"{100 * value:.2f}"

    heads = ("set", "budget", "cycles", "ours", "±", "fixed", "network", "difference", "±", "promised")
    print_table(
        heads,
        [
            (
                row["set"],
                "-" if row["budget"] is None else str(row["budget"]),
                round(row["cycles"]),
                *(shown(row[key], row["set"]) for key in ("ours", "ours_error", "fixed", "network")),
                *(shown(row[key], row["set"]) for key in ("difference", "difference_error", "promised")),
            )
            for row in answer["rows"]
        ],
    )
    print()
    cells = ((r["set"], r["rival"], "-" if r["cycles"] is None else f"{r['cycles']:.0f}", r) for r in answer["rivals"])
    print_table(("set", "rival", "cycles", "score"), [(*left, shown(r["score"], r["set"])) for *left, r in cells])
    for entry in answer["simulated"]:
        print(f"{entry['set']}: {entry['rows']} test rows simulated, the core decides as the model")
