"""Columns of values for named inputs: from text like ``x=1,y=2``, CSV files and ``.npy`` files.

A value is a text, which :func:`read_value` reads exactly, or a number of numpy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skinny.model.errors import InputError
from skinny.model.limits import check
from skinny.model.names import column_names, elements, vector_of
from skinny.model.rings import Number
from skinny.model.tables import parse_number, read_npy, read_numbers, read_rows
from skinny.values import listed

from .common import note

__all__ = ["Column", "assigned_columns", "file_columns", "read_value"]

#: A list or an array.
Column = Any


def read_value(value: str | Number) -> Number:
    """The number that a value of a column is."""
    return parse_number(value) if isinstance(value, str) else value


def assigned_columns(given: str, names: Sequence[str], option: str) -> list[Column]:
    """The columns that a text gives: ``x=1,y=2``, ``x[0:16]=0`` and ``v=0.5`` for elements of vectors, ``v=@rows.npy``
    for the values of a file. What is given once holds for every row."""
    found: dict[str, Column] = {}
    for part in given.split(","):
        name, equals, value = (text.strip() for text in part.partition("="))
        if not equals or not name:
            raise InputError(f"{option}: expected NAME=VALUE, found {part!r}")
        meant = elements(name, names)
        if not meant:
            raise InputError(f"{option}: the program has no input {name!r}, only {listed(names)}")
        columns: list[Column] = [[value]] * len(meant)
        if value.startswith("@"):
            columns = _placed(_matrix(value[1:], len(meant) == 1), meant, value[1:])
        for each, column in zip(meant, columns, strict=True):
            if each in found:
                raise InputError(f"{option}: {each!r} is given twice")
            found[each] = column
    for name in names:
        if name not in found:
            raise InputError(f"{option}: the input {name!r} is missing")
    batch = max((len(column) for column in found.values()), default=1)
    for name, column in found.items():
        if len(column) not in (1, batch):
            raise InputError(f"{option}: {name!r} has {len(column):,} rows, others have {batch:,}")
    return [np.repeat(column, batch) if len(column) < batch else column for column in map(found.__getitem__, names)]


def file_columns(path: str, names: Sequence[str]) -> list[Column]:
    """The columns ``names`` of a CSV file with a header, of ``-``, or of a ``.npy`` file, which has a column for each
    of them, in order."""
    if path.endswith(".npy"):
        return _placed(read_npy(path), names, path)
    rows = read_rows(path)
    path = "<stdin>" if path == "-" else path
    header = [head.strip() for head in rows.pop(0)]
    known = column_names(header)
    places = []
    for name in names:
        at = known.get(name, [])
        if len(at) > 1:
            raise InputError(f"{path}: the column {name!r} is there twice")
        if not at:
            raise InputError(f"{path}: the column {name!r} is missing{_present(header)}")
        places += at
    if not rows:
        raise InputError(f"{path}: there is a header, but no row of values")
    for number, row in enumerate(rows, 1):
        check()
        if len(row) != len(header):
            raise InputError(f"{path}: row {number} has {len(row)} values, the header {len(header)}")
    extra = [head for place, head in enumerate(header) if place not in set(places)]
    if extra:
        note(f"{path}: columns the program does not read: {listed(extra)}")
    return [[row[place] for row in rows] for place in places]


def _present(header: Sequence[str]) -> str:
    """What a header has in place of a column."""
    try:
        for head in header:
            parse_number(head)
    except InputError:
        return f"; there are {listed(header)}"
    return ": the first line must name the inputs (rows without names are read from .npy files, or by x=@FILE.csv)"


def _matrix(path: str, scalar: bool) -> NDArray[Any]:
    """The numbers of a file; those of one input are a column."""
    if path.endswith(".npy"):
        found = read_npy(path)
    elif path.endswith(".csv"):
        found = np.array(read_numbers(path), dtype=object)
    else:
        raise InputError(f"{path or '@'}: values are read from .npy and .csv files, as in x=@rows.npy")
    return found.reshape(-1, 1) if scalar and found.ndim < 2 else found


def _placed(found: NDArray[Any], names: Sequence[str], path: str) -> list[Column]:
    """The columns of a matrix for ``names``, in order, or by their index, where these are elements of one vector of
    which some are left out. A single row is a batch of one."""
    table = np.atleast_1d(found)
    table = table if table.ndim != 1 else table.reshape((-1, 1) if len(names) == 1 else (1, -1))
    parts = [part for name in names if (part := vector_of(name))]
    places = list(range(len(names)))
    if len(parts) == len(names) and len({vector for vector, _ in parts}) == 1 and table.shape[-1:] != (len(names),):
        places = [index for _, index in parts]
    fits = table.shape[-1] == len(names) or (len(names) <= max(places, default=-1) < table.shape[-1])
    if table.ndim != 2 or not fits:
        wanted = f"{len(names)} numbers ({listed(names)})"
        raise InputError(f"{path}: must have a row of {wanted} for each inference, not the shape {found.shape}")
    if not len(table):
        raise InputError(f"{path}: there is no row of values")
    return [table[:, place] for place in places]
