"""Tables of data to learn from: rows of numbers, and what is to be learned of each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from skinny.model.errors import InputError
from skinny.model.tables import DECIMAL, parse_rows

from .values import several

__all__ = ["Table", "parse_table", "split"]

#: Different whole numbers of a target that are classes.
MOST_CLASSES = 20
#: The part of the rows that is touched once, at the end.
TESTED = 0.25


class Table(NamedTuple):
    """Rows of numbers with the names of their columns, and targets: texts of classes, or numbers."""

    names: tuple[str, ...]
    rows: NDArray[np.float64]
    targets: NDArray[Any]

    @property
    def classes(self) -> bool:
        return self.targets.dtype.kind == "U"


def parse_table(text: str, target: str, path: str) -> Table:
    """The table in the text of the CSV file ``path``; what cannot be learned from is named by row and column."""
    lines = parse_rows(text, path)
    names = [name.strip() for name in lines[0]]
    twice, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise InputError(f"{path}: the column {twice!r} is there twice")
    if target not in names:
        raise InputError(f"{path}: there is no column {target!r}, only {', '.join(names[:10])}")
    if len(names) < 2:
        raise InputError(f"{path}: there is no column beside the target")
    place = names.index(target)
    columns = (*names[:place], *names[place + 1 :])
    rows = np.empty((len(lines) - 1, len(names) - 1))
    texts = []
    for number, line in enumerate(lines[1:], 1):
        if len(line) != len(names):
            raise InputError(f"{path}: row {number} has {len(line)} values, the first line {len(names)} names")
        values = [value.strip() for value in line]
        texts.append(values.pop(place))
        rows[number - 1] = [_number(value, path, number, name) for name, value in zip(columns, values, strict=True)]
        if not texts[-1]:
            raise InputError(f"{path}: row {number}, column {target!r}: the value is missing")
    if len(rows) < 8:
        raise InputError(f"{path}: {several(len(rows), 'row')} to learn from, 8 are the least")
    targets = _targets(path, target, texts)
    return Table(columns, rows, targets)


def _number(text: str, path: str, row: int, column: str) -> float:
    if not text:
        raise InputError(f"{path}: row {row}, column {column!r}: the value is missing")
    if not DECIMAL.fullmatch(text):
        raise InputError(f"{path}: row {row}, column {column!r}: {text[:40]!r} is not a finite number")
    value = float(text)
    if not np.isfinite(value):
        raise InputError(f"{path}: row {row}, column {column!r}: {text[:40]!r} is too large")
    return value


def _targets(path: str, target: str, texts: Sequence[str]) -> NDArray[Any]:
    """Texts of classes, or numbers."""
    different = sorted(set(texts))
    if len(different) == 1:
        raise InputError(f"{path}: all rows have the same {target!r}, {different[0]}: there is nothing to learn")
    numbers = [DECIMAL.fullmatch(text) is not None for text in different]
    whole = all(re.fullmatch("[+-]?[0-9]{1,18}", text) for text in different)
    if all(numbers) and not (whole and len(different) <= MOST_CLASSES):
        return np.array([float(text) for text in texts])
    if any(numbers) and not all(numbers):
        row = next(row for row, text in enumerate(texts, 1) if not DECIMAL.fullmatch(text))
        raise InputError(f"{path}: the column {target!r} has numbers and, in row {row}, {texts[row - 1][:40]!r}")
    rare, count = Counter(texts).most_common()[-1]
    if count < 3:
        raise InputError(f"{path}: the class {rare!r} of {target!r} has fewer than 3 rows")
    return np.array(texts, dtype=str)


def split(table: Table, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows to learn from, and those that are touched once; each class has its share of both."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(table.rows))
    if table.classes:
        order = order[np.argsort(table.targets[order], kind="stable")]
    tested = np.sort(order[:: round(1 / TESTED)])
    return np.setdiff1d(np.arange(len(table.rows)), tested), tested
