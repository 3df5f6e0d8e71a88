"""``skinny learn``: from a table of data to a program, simulated on the core."""

from __future__ import annotations

import argparse
import re
import warnings
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skinny.model.errors import InputError
from skinny.model.files import expect_file, expect_folder, read_text, write_folder
from skinny.model.limits import INPUTS_BYTE
from skinny.model.program.storage import ending
from skinny.sim.fpga.devices import find_device
from skinny.table import Table, parse_table, split
from skinny.values import printable

from .common import add_command, note, print_json, print_table
from .progress import working

__all__ = ["register"]

DETAILS = """\
The table is a CSV file with a line of names. The column --target holds what is to be learned: classes, if it has texts
or at most 20 different whole numbers, else numbers. A quarter of the rows is kept back and touched once, at the end:
the accuracy (or R²) that is printed last is theirs, of the program on the simulated core, which is compared with the
model in every cycle. Family, units, noise and teacher of the program are chosen on a part of the other rows
(docs/learning.md). Constant columns are dropped and named. The ring is fixed:BITS or fixed:BITS.FRAC; nothing overflows
for inputs in the box of the training data.

--image HxW says that a row is an image, so that copies of it are turned and moved. --device measures the core on an
FPGA. --demo digits learns the 8×8 digits of scikit-learn and measures the core on UP5K. --pictures FOLDER draws
accuracy against cycles beside the rivals, the confusion matrix and, of images, what each form attends to and which
pixels make the difference between two of them.

JSON keys: task, rows, test_rows, classes, dropped, budget, cycles, setting, score (on rows kept back from training),
test (float, fixed, rtl: accuracy or R²), outside, curve (budget, cycles, setting, score, test), ring, registers,
inputs, simulation (match, cycles_per_inference), fpga (device, lut4, cells, mhz, microseconds, inferences_per_second),
explain (the two rows, where they part, the inputs with the largest shares), pictures, output, seconds.

example:
  $ skinny learn flowers.csv --target species --budget 40 -o flowers.skn
  $ skinny learn --demo digits --pictures digits
  $ skinny run flowers.skn --inputs petal_length=1.4,petal_width=0.2
"""
DEVICE = "up5k"


def register(commands: Any) -> None:
    parser = add_command(commands, "learn", execute, "learn a program from a table of data", DETAILS)
    given = parser.add_mutually_exclusive_group(required=True)
    given.add_argument("data", nargs="?", metavar="DATA.csv", help="a table with a line of names")
    given.add_argument("--demo", choices=("digits",), help="learn a data set that comes with scikit-learn")
    parser.add_argument("--target", metavar="COLUMN", help="the column to learn")
    parser.add_argument("--budget", metavar="N", type=int, default=300, help="cycles of an inference (default: 300)")
    parser.add_argument("--ring", metavar="RING", default="fixed:16", help="the word (default: fixed:16)")
    parser.add_argument("--width", metavar="W", type=int, default=16, help="registers, at most (default: 16)")
    parser.add_argument("--image", metavar="HxW", help="rows are images of this height and width")
    parser.add_argument("--patterns", choices=("fixed", "search"), default="fixed", help="search deep programs")
    parser.add_argument("--effort", metavar="X", type=float, default=1.0, help="times the usual training (default: 1)")
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="another seed, another program (default: 0)")
    parser.add_argument("--device", metavar="DEVICE", help="measure the core on this FPGA")
    parser.add_argument("--pictures", metavar="FOLDER", help="write pictures into this folder")
    parser.add_argument("-o", "--output", metavar="MODEL.skn", help="write the program")


def execute(args: argparse.Namespace) -> None:
    began = perf_counter()
    if args.output is not None:
        ending(args.output)
        expect_file(args.output)
    expect_folder(args.pictures)
    if args.seed < 0:
        raise InputError(f"the seed must not be negative, not {args.seed}")
    if args.device is not None:
        find_device(args.device)
    table, image = _given(args)
    inside, tested = split(table, args.seed)
    # Loaded here, because other commands need no scikit-learn.
    from skinny.estimators import SkinnyClassifier, SkinnyRegressor

    kind = SkinnyClassifier if table.classes else SkinnyRegressor
    options = {
        "patterns": args.patterns,
        "width": args.width,
        "images": image,
        "effort": args.effort,
        "random_state": args.seed,
    }
    estimator = kind(args.budget, args.ring, **options)
    with working("learning", 1.0) as work:

        def watch(what: str, done: float) -> None:
            work.at(done, what=what)

        estimator.fit(table.rows[inside], table.targets[inside], names=table.names, watch=watch)
    if estimator.dropped_:
        note(f"constant columns are dropped: {', '.join(estimator.dropped_)}")
    answer = _answer(args, table, estimator, inside, tested)
    if args.pictures is not None:
        answer["pictures"] = _draw(args, table, estimator, tested, answer, image)
    if args.output is not None:
        estimator.save(args.output)
        answer["output"] = args.output
    answer["seconds"] = perf_counter() - began
    if args.json:
        print_json(printable(answer))
    else:
        _report(answer)


def _given(args: argparse.Namespace) -> tuple[Table, tuple[int, int] | None]:
    """The table, and the size of its images."""
    if args.demo is not None:
        if args.target is not None or args.image is not None:
            raise InputError("--demo brings its own data: it goes without --target and --image")
        from sklearn.datasets import load_digits

        digits = load_digits()
        names = tuple(f"p{row}{column}" for row in range(8) for column in range(8))
        return Table(names, digits.data, digits.target.astype(str)), (8, 8)
    if args.target is None:
        raise InputError("--target is missing: the column that is to be learned")
    name = "<stdin>" if args.data == "-" else args.data
    table = parse_table(read_text(args.data, INPUTS_BYTE), args.target, name)
    if args.image is None:
        return table, None
    if not (found := re.fullmatch("([0-9]{1,4})x([0-9]{1,4})", args.image)):
        raise InputError(f"--image must be like 8x8, not {args.image!r}")
    return table, (int(found[1]), int(found[2]))


def _answer(
    args: argparse.Namespace, table: Table, estimator: Any, inside: NDArray[np.int64], tested: NDArray[np.int64]
) -> dict[str, Any]:
    """What is known of the program, tests and simulation included."""
    rows, targets = table.rows[tested], table.targets[tested]
    with warnings.catch_warnings(), working("simulating the test rows"):
        warnings.simplefilter("ignore")  # rows outside the box are counted below
        found = estimator.simulate(rows)
        predicted = estimator.predict(rows)
        reached = estimator.score(rows, targets)
        curve = [
            {key: entry[key] for key in ("budget", "cycles", "setting", "score")}
            | {"test": estimator.with_point(place).score(rows, targets)}
            for place, entry in enumerate(estimator.curve_)
        ]
    sent = list(found["results"].values())
    decided = estimator.classes_[np.array(sent[0], int)] if table.classes else np.array(sent, float).T.reshape(-1)
    rtl = float((decided == targets).mean()) if table.classes else _r2(targets, decided)
    assert np.array_equal(decided, predicted), "the simulated core and the estimator differ"
    program = estimator.program_.model
    (point,) = (entry for entry in estimator.curve_ if entry["program"] is estimator.program_)
    first, second = _two_rows(table, tested)
    return {
        "task": "classes" if table.classes else "numbers",
        "rows": len(inside),
        "test_rows": len(tested),
        "classes": [str(label) for label in estimator.classes_] if table.classes else None,
        "dropped": estimator.dropped_,
        "budget": args.budget,
        "cycles": point["cycles"],
        "setting": point["setting"],
        "score": point["score"],
        "test": {"float": estimator.float_score(rows, targets), "fixed": reached, "rtl": rtl},
        "outside": estimator.outside(rows),
        "curve": curve,
        "ring": program.ring,
        "registers": program.width,
        "inputs": list(program.inputs),
        "simulation": {"match": found["match"], "cycles_per_inference": found["cycles_per_inference"]},
        "fpga": _fpga(args, estimator),
        "explain": _explained(estimator, table, first, second),
    }


def _r2(targets: NDArray[Any], predicted: NDArray[Any]) -> float:
    return float(1 - ((targets - predicted) ** 2).sum() / ((targets - targets.mean()) ** 2).sum())


def _fpga(args: argparse.Namespace, estimator: Any) -> dict[str, Any] | None:
    """Area and speed of the core, if they are asked for; a demo shows them always."""
    device = args.device or (DEVICE if args.demo else None)
    if device is None:
        return None
    with working(f"{device}: synthesis, place and route"):
        found = estimator.fpga(device, seeds=1)
    mhz = found["mhz"]["effective"]
    return {
        "device": found["device"],
        "lut4": found["core"]["lut4"],
        "cells": found["core"].get("cells"),
        "mhz": mhz,
        "microseconds": found["cycles_per_inference"] / mhz,
        "inferences_per_second": found["inferences_per_second"],
    }


def _two_rows(table: Table, tested: NDArray[np.int64]) -> tuple[int, int]:
    """The first test row, and the next of another class or, of numbers, the last."""
    others = np.flatnonzero(table.targets[tested] != table.targets[tested[0]])
    return int(tested[0]), int(tested[others[0] if len(others) else -1])


def _shares(estimator: Any, table: Table, first: int, second: int) -> tuple[str, dict[str, Any], dict[str, float]]:
    """The output that differs most between two rows, the whole explanation, and the share of each input in that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = estimator.explain(table.rows[first], table.rows[second])
    name, part = max(found["outputs"].items(), key=lambda item: abs(float(item[1]["difference"])))
    return name, found, {key: float(value) for key, value in part["shares"].items()}


def _explained(estimator: Any, table: Table, first: int, second: int) -> dict[str, Any]:
    name, found, every = _shares(estimator, table, first, second)
    shares = sorted(every.items(), key=lambda item: -abs(item[1]))[:5]
    return {
        "rows": [first + 1, second + 1],
        "targets": [table.targets[first].item(), table.targets[second].item()],
        "parts": found["parts"],
        "output": name,
        "difference": float(found["outputs"][name]["difference"]),
        "shares": dict(shares),
    }


def _draw(
    args: argparse.Namespace,
    table: Table,
    estimator: Any,
    tested: NDArray[np.int64],
    answer: dict[str, Any],
    image: tuple[int, int] | None,
) -> list[str]:
    """The pictures, as names of files."""
    from .learn_picture import draw_attention, draw_confusion, draw_curve, draw_explanation

    folder = Path(args.pictures)
    write_folder(folder, {})
    written = [folder / "curve.png"]
    from .bench.learn_rivals import networks, rivals

    inside = np.setdiff1d(np.arange(len(table.rows)), tested)
    given = (table.rows[inside], table.targets[inside], table.rows[tested], table.targets[tested])
    budgets = [entry["budget"] for entry in answer["curve"] if entry["budget"] is not None]
    units = (12, 16) if image else (2, 4)
    with working("fitting the rivals"):
        others = rivals(*given, args.seed, not table.classes)
        nets = networks(*given, budgets, args.seed, not table.classes, units=units, image=image, effort=args.effort)
    draw_curve(
        answer["curve"], nets, [(name, *entry) for name, entry in others.items()], table.classes, str(written[0])
    )
    if table.classes:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            predicted = estimator.predict(table.rows[tested])
        written.append(folder / "confusion.png")
        draw_confusion(estimator.classes_, table.targets[tested], predicted, str(written[-1]))
    if image is not None:
        written.append(folder / "attention.png")
        draw_attention(estimator.program_.model, estimator.columns_, image, str(written[-1]))
        written.append(folder / "explain.png")
        pair = _two_rows(table, tested)
        name, _, shares = _shares(estimator, table, *pair)
        pixels = np.zeros(table.rows.shape[1])
        pixels[estimator.columns_] = [shares[each] for each in estimator.program_.inputs]
        labels = [f"row {row + 1}: {table.targets[row]}" for row in pair]
        images = (table.rows[pair[0]], table.rows[pair[1]])
        draw_explanation(images, labels, name, pixels, image, str(written[-1]))
    return [str(path) for path in written]


def _report(answer: dict[str, Any]) -> None:
    what = "accuracy" if answer["task"] == "classes" else "R²"

    def shown(value: float) -> str:
        return f"{100 * value:.1f} %" if answer["task"] == "classes" else f"{value:.3f}"

    heads = ("budget", "cycles", f"{what}, kept back", f"{what}, test", "program")
    print_table(
        heads,
        [
            (
                "-" if e["budget"] is None else str(e["budget"]),
                e["cycles"],
                shown(e["score"]),
                shown(e["test"]),
                e["setting"],
            )
            for e in answer["curve"]
        ],
    )
    test, fpga = answer["test"], answer["fpga"]
    print(
        f"\n{answer['cycles']} cycles on {answer['registers']} registers in {answer['ring']}: {what} on "
        f"{answer['test_rows']:,} test rows {shown(test['float'])} in floats, {shown(test['fixed'])} in fixed point, "
        f"{shown(test['rtl'])} on the simulated core, all cycles match"
    )
    if answer["outside"]:
        print(f"{answer['outside']:,} of {answer['test_rows']:,} test rows are outside the box of the training data")
    if fpga is not None:
        print(
            f"{fpga['device']}: {fpga['lut4']:,} LUT, {fpga['cells'] or 0:,} logic cells, {fpga['mhz']:.1f} MHz, "
            f"{fpga['microseconds']:.1f} µs an inference, {fpga['inferences_per_second']:,.0f} inferences a second"
        )
    found = answer["explain"]
    shares = ", ".join(f"{name} {share:+.3g}" for name, share in found["shares"].items())
    print(
        f"rows {found['rows'][0]} ({found['targets'][0]}) and {found['rows'][1]} ({found['targets'][1]}): "
        f"{found['output']} changes by {found['difference']:+.3g}, most by {shares}"
    )
    for name in [*answer.get("pictures", ()), *([answer["output"]] if "output" in answer else [])]:
        note(f"{name} written")
