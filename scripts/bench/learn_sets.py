"""The data sets of ``skinny bench learn``."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["SETS", "DataSet", "Load", "cosines", "read_series", "split_rows"]

Rows = NDArray[Any]
Load = Callable[[], tuple[Rows, Rows]]


class DataSet(NamedTuple):
    """Where rows and targets come from, the budgets that are tried, the greatest first, what was promised at some of
    them, and units of the network that is the rival."""

    load: Load
    budgets: tuple[int, ...]
    promised: dict[int | None, float]
    rival_units: tuple[int, ...]
    image: tuple[int, int] | None = None
    numbers: bool = False


def _bundled(name: str) -> Load:
    def load() -> tuple[Rows, Rows]:
        from sklearn import datasets

        rows, targets = getattr(datasets, f"load_{name}")(return_X_y=True)
        return rows, targets

    return load


def read_series(text: str) -> tuple[Rows, Rows]:
    """The series of a ``.ts`` file, of shape ``(rows, channels, samples)``, and their classes: a line for each row, its
    channels and, last, its class parted by colons."""
    lines = [line for line in text.partition("@data")[2].split("\n") if line.strip()]
    series, classes = [], []
    for line in lines:
        *channels, label = line.strip().split(":")
        series.append([[float(value) for value in channel.split(",")] for channel in channels])
        classes.append(label)
    return np.array(series), np.array(classes)


def cosines(series: Rows, count: int) -> Rows:
    """The lowest ``count`` cosine coefficients of each channel: affine forms of the window."""
    samples = series.shape[2]
    waves = np.cos(np.pi * np.outer(np.arange(count), np.arange(samples) + 0.5) / samples) / samples
    return np.asarray((series @ waves.T).reshape(len(series), -1))


def _series(name: str, count: int) -> Load:
    def load() -> tuple[Rows, Rows]:
        spec = find_spec("sktime")
        if spec is None or spec.origin is None:
            raise FileNotFoundError(f"{name} comes with sktime, which is not installed (pip install --no-deps sktime)")
        folder = Path(spec.origin).parent / "datasets" / "data" / name
        parts = [read_series((folder / f"{name}_{part}.ts").read_text()) for part in ("TRAIN", "TEST")]
        return cosines(np.concatenate([series for series, _ in parts]), count), np.concatenate([c for _, c in parts])

    return load


#: Both sets of digits have the same rows.
_DIGITS = _bundled("digits")

SETS = {
    "digits (images)": DataSet(
        _DIGITS,
        (700, 400, 300, 160),
        {None: 0.986, 700: 0.986, 400: 0.982, 300: 0.979, 160: 0.959},
        (12, 16),
        image=(8, 8),
    ),
    "digits (table)": DataSet(
        _DIGITS, (700, 400, 300, 160), {700: 0.983, 400: 0.980, 300: 0.976, 160: 0.953}, (12, 16)
    ),
    "breast cancer": DataSet(_bundled("breast_cancer"), (70, 35, 20), {35: 0.965}, (2, 4)),
    "wine": DataSet(_bundled("wine"), (120, 60, 30), {60: 0.975}, (2, 4)),
    "iris": DataSet(_bundled("iris"), (50, 25, 15), {25: 0.96}, (2, 4)),
    "diabetes": DataSet(_bundled("diabetes"), (40, 20, 10), {}, (2, 4), numbers=True),
    "BasicMotions": DataSet(_series("BasicMotions", 8), (120, 60, 30), {}, (2, 4)),
    "GunPoint": DataSet(_series("GunPoint", 24), (120, 60, 30), {}, (2, 4)),
}


def split_rows(load: Load, numbers: bool, split: int) -> tuple[tuple[Rows, Rows], tuple[Rows, Rows]]:
    """Rows and targets to learn from, and those to test with."""
    from sklearn.model_selection import train_test_split

    rows, targets = load()
    inside, tested = train_test_split(
        np.arange(len(rows)), test_size=0.25, random_state=split, stratify=None if numbers else targets
    )
    return (rows[inside], targets[inside]), (rows[tested], targets[tested])
