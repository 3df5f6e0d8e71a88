"""Numbers that a person gives: the values of a program's inputs, start vectors, boxes.

Text is read exactly (a decimal is a fraction), then encoded in the ring, by the scales of the program; what does not
fit is named by file, row and column. Rows are counted from 1, the header not included.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import numpy as np
from skinny.model.errors import InputError
from skinny.model.limits import watched
from skinny.model.program.units import Encoded, Units
from skinny.model.rings import Array, Ring
from skinny.model.tables import parse_number

from .columns import assigned_columns, file_columns, read_value

__all__ = ["read_columns", "read_inputs", "read_pair", "read_start", "read_streams"]

#: ``1``, but not what else Python takes for a whole number: other scripts' digits, ``1_000``, any number of digits.
WHOLE = re.compile("[0-9]{1,18}")


def read_start(text: str | None, width: int, ring: Ring) -> Array | None:
    """``0,1,1`` as elements; None stays None."""
    if text is None:
        return None
    values = text.split(",")
    if len(values) != width:
        raise InputError(f"--start must have {width} values, not {len(values)}")
    out = np.empty(width, dtype=ring.element_dtype)
    for register, value in enumerate(values):
        try:
            out[register] = ring.encode(parse_number(value))
        except InputError as error:
            raise InputError(f"--start, R{register}: {error}") from None
    return out


def read_pair(options: dict[str, str], units: Units) -> Array:
    """Elements of shape ``(options, inputs)``, a row for each option: ``x=1,y=2``, ``FILE.csv:ROW``, or ``FILE.csv``
    for its first row. What two options name is read once."""
    tables: dict[str, Array] = {}
    out = []
    for option, given in options.items():
        path, colon, row = given.rpartition(":")
        if not colon or os.path.exists(given):
            path, row = given, "1"
        elif not WHOLE.fullmatch(row):
            raise InputError(f"{option}: the row must be a number, counted from 1, not {row!r}")
        if path not in tables:
            tables[path] = read_inputs(path, units, option).elements
        if not 1 <= int(row) <= len(tables[path]):
            raise InputError(f"{option}: {path} has no row {int(row)}, only 1 to {len(tables[path])}")
        out.append(tables[path][int(row) - 1])
    return np.stack(out)


def read_inputs(given: str | None, units: Units, option: str = "--inputs") -> Encoded:
    """Elements of shape ``(batch, inputs)`` from ``x=1,y=2``, the name of a CSV or ``.npy`` file, or ``-``; ``option``
    is what messages name."""
    names = units.inputs
    if given is None:
        if names:
            raise InputError(f"the program reads {', '.join(names[:5])}{', …' * (len(names) > 5)}: give --inputs")
        return Encoded.exactly(np.empty((1, 0), dtype=units.ring.element_dtype))
    if not given:
        raise InputError(f"{option}: expected x=1,y=2 or the name of a file, found nothing")
    if "=" in given and not os.path.exists(given):
        columns, path = assigned_columns(given, names, option), None
    else:
        path = "<stdin>" if given == "-" else given
        with watched(f"{path}: reading"):
            columns = file_columns(given, names)

    def place(name: str, row: int) -> str:
        return f"{option if path is None else f'{path}: row {row}'}, column {name!r}"

    return units.encode_columns(columns, len(columns[0]) if columns else 1, read_value, place)


def read_streams(given: Sequence[str], units: Units) -> Encoded:
    """The samples of streams, elements of shape ``(streams, samples, words)``: a CSV file for each of them or, for a
    program without inputs, the number of samples."""
    if not given:
        raise InputError("a run of the program is one sample of a stream: give its samples with --stream")
    if not units.inputs:
        if len(given) > 1 or not WHOLE.fullmatch(given[0]) or not int(given[0]):
            raise InputError("the program reads nothing: --stream takes the number of samples, once")
        return Encoded.exactly(np.empty((1, int(given[0]), 0), dtype=units.ring.element_dtype))
    parts = [read_inputs(path, units, "--stream") for path in given]
    counts = [len(part.elements) for part in parts]
    for path, count in zip(given, counts, strict=True):
        if count != counts[0]:
            raise InputError(f"--stream: {given[0]} has {counts[0]:,} samples, but {path} has {count:,}")
    return Encoded(np.stack([part.elements for part in parts]), np.stack([part.rounded for part in parts]))


def read_columns(path: str, names: Sequence[str]) -> dict[str, list[float]]:
    """The columns ``names`` of a CSV or ``.npy`` file, or of ``-``, as floats."""
    name = "<stdin>" if path == "-" else path
    with watched(f"{name}: reading"):
        columns = dict(zip(names, file_columns(path, names), strict=True))
    out: dict[str, list[float]] = {}
    for head, texts in columns.items():
        out[head] = []
        for row, text in enumerate(texts, 1):
            try:
                out[head].append(float(read_value(text)))
            except InputError as error:
                raise InputError(f"{name}: row {row}, column {head!r}: {error}") from None
    return out
