"""Numbers in text and in files: decimals and fractions, CSV, and numpy's ``.npy``.

Files are read within the limits, without pickles; what cannot be used is refused by file, row and column.
"""

from __future__ import annotations

import csv
import io
import re
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from .errors import InputError
from .files import read_bytes, read_text
from .limits import INPUTS_BYTE, MOST_DIGITS, check

__all__ = ["DECIMAL", "Rows", "parse_number", "parse_rows", "read_npy", "read_numbers", "read_rows"]

DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
FRACTION = re.compile(r"[+-]?[0-9]+/0*[1-9][0-9]*")
#: What separates the columns of a table, where it is not the comma.
SEPARATORS = ",;\t"

#: A row of texts and its number, counted from 1.
Rows = list[list[str]]


def parse_number(text: str) -> Fraction:
    """The number that ``text`` writes as a decimal or a fraction, exactly."""
    text = text.strip()
    if len(text) > MOST_DIGITS or not (DECIMAL.fullmatch(text) or FRACTION.fullmatch(text)):
        raise InputError(f"{text if len(text) <= 40 else text[:37] + '…'!r} is not a finite number")
    return Fraction(text)


def read_rows(path: str) -> Rows:
    """The rows of a table as texts, as :func:`parse_rows` has them; ``-`` is the standard input."""
    return parse_rows(read_text(path, INPUTS_BYTE), "<stdin>" if path == "-" else path)


def parse_rows(text: str, name: str) -> Rows:
    """The rows of the table in the ``text`` of the file ``name``: CSV with commas, semicolons or tabs, whichever the
    first line has most of. Blank lines mean nothing."""
    first = next((line for line in text.split("\n", 1000) if line.strip()), "")
    if not first:
        raise InputError(f"{name}: the file is empty")
    bare = re.sub('"[^"]*"', "", first)
    rows: Rows = []
    try:
        for row in csv.reader(
            io.StringIO(text, newline=""), strict=True, delimiter=max(SEPARATORS, key=bare.count), skipinitialspace=True
        ):
            check()
            if row and (len(row) > 1 or row[0].strip()):
                rows.append(row)
    except csv.Error as error:
        raise InputError(f"{name}: not a CSV file ({error})") from None
    return rows


def read_npy(path: str) -> NDArray[Any]:
    """The real numbers of a file of numpy, of any shape."""
    content = read_bytes(path, INPUTS_BYTE)
    stream = io.BytesIO(content)
    try:
        version = npy.read_magic(stream)
        read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
        shape, by_columns, kind = read(stream)
    except Exception:  # numpy has several ways to say that bytes are no array
        raise InputError(f"{path}: not a file of numpy (.npy), or damaged") from None
    if kind.kind not in "fiub":
        raise InputError(f"{path}: must hold real numbers, not {kind}")
    start, count = stream.tell(), int(np.prod(shape, dtype=object))
    if len(content) - start != count * kind.itemsize:
        raise InputError(f"{path}: the file is cut off, or damaged")
    found = np.frombuffer(content, kind, count, start).reshape(shape, order="F" if by_columns else "C")
    if kind.kind == "f":
        wrong = np.argwhere(~np.isfinite(found))
        if len(wrong):
            place = ", ".join(map(str, wrong[0]))
            raise InputError(f"{path}: the value at [{place}] is not a finite number")
        return found.astype(np.float64)
    return found.astype(np.int64) if kind.kind == "b" or kind.itemsize < 8 else found


def read_numbers(path: str) -> Any:
    """The vector or the matrix of a ``.npy`` or ``.csv`` file, as a number, a list or a list of rows. A CSV file of one
    row or one column is a vector; a first line in which nothing is a number names the columns."""
    if path.endswith(".npy"):
        found = read_npy(path)
        if found.ndim > 2:
            raise InputError(f"{path}: must be a vector or a matrix, not an array of shape {found.shape}")
        if not found.size:
            raise InputError(f"{path}: there are no numbers")
        return _exact(found.tolist())
    texts = read_rows(path)
    if len(texts[0]) == 1 and len(texts[0][0].split()) > 1:  # as numpy.savetxt writes
        texts = [row[0].split() for row in texts]
    named = not any(_is_number(text) for text in texts[0])
    rows = []
    for number, row in enumerate(texts[named:], 1):
        check()
        if len(row) != len(texts[0]):
            raise InputError(f"{path}: row {number} has {len(row)} values, the first one {len(texts[0])}")
        try:
            rows.append([parse_number(text) for text in row])
        except InputError as error:
            raise InputError(f"{path}: row {number}: {error}") from None
    if not rows:
        raise InputError(f"{path}: there are no numbers")
    if len(rows[0]) == 1:
        return [row[0] for row in rows]
    return rows[0] if len(rows) == 1 else rows


def _is_number(text: str) -> bool:
    return bool(DECIMAL.fullmatch(text.strip()) or FRACTION.fullmatch(text.strip()))


def _exact(found: Any) -> Any:
    return [_exact(value) for value in found] if isinstance(found, list) else Fraction(found)
