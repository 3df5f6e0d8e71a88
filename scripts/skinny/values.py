"""Arguments from Python, checked: rings, numbers, the values of a program's inputs, boxes, paths.

Whatever cannot be used is an :exc:`InputError` of the line that the command prints for it; where the command names its
option (``--inputs``), the name of the argument stands.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from skinny.model.errors import InputError
from skinny.model.program.units import Encoded, Units
from skinny.model.rings import Array, Number, Ring, exact_number, parse_ring

__all__ = [
    "as_box",
    "as_elements",
    "as_list",
    "as_number",
    "as_path",
    "as_ring",
    "as_row",
    "as_samples",
    "as_start",
    "as_whole",
    "expect_choice",
    "listed",
    "printable",
    "readable",
    "several",
    "shown",
]


def several(count: int, noun: str) -> str:
    """``count`` things, for a message: ``1 word``, ``2,000 words``."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def as_ring(given: Any) -> Ring:
    """A ring by its name, or the ring itself."""
    if isinstance(given, Ring):
        return given
    if not isinstance(given, str):
        raise InputError(f"the ring must be a name such as 'fixed:16.8', not {shown(given)}")
    return parse_ring(given)


def as_whole(given: Any, what: str) -> int:
    """``given`` as an ``int``; what is no whole number is an :exc:`InputError` that names it ``what``."""
    if isinstance(given, np.integer):
        return int(given)
    if not isinstance(given, int):
        raise InputError(f"the {what} must be a whole number, not {shown(given)}")
    return given


def as_path(given: Any, what: str = "path") -> str:
    """The name of a file or a folder."""
    try:
        path = os.fsdecode(os.fspath(given))
        os.fsencode(path)
    except (TypeError, UnicodeError):
        raise InputError(f"the {what} must be the name of a file or folder, not {shown(given)}") from None
    if not path or "\0" in path:
        raise InputError(f"the {what} must be the name of a file or folder, not {path!r}")
    return path


def expect_choice(given: Any, choices: Sequence[str], what: str) -> None:
    """Refuse what is none of ``choices``."""
    if given not in choices:
        raise InputError(f"the {what} must be {' or '.join(choices)}, not {shown(given)}")


def shown(given: Any) -> str:
    """A short text for an argument, to be used in a message."""
    try:
        text = repr(given)
    except Exception:  # an argument of any type may fail to print itself, which is not what the message is about
        text = f"a value of type {type(given).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "…"


def listed(names: Sequence[str]) -> str:
    """The first names, for a message."""
    return ", ".join(names[:5]) + ", …" * (len(names) > 5)


def readable(value: Any, name: str) -> int | float | str:
    """A ring's number as JSON can hold it: an integer, a finite float, or a text like ``3/4`` or ``inf``."""
    if isinstance(value, Fraction):
        value = value.numerator if value.denominator == 1 else value
    try:
        text = str(value)
    except ValueError:  # the interpreter's guard against quadratic conversions
        raise InputError(f"{name}: a value has too many digits to be printed") from None
    if isinstance(value, int) or (isinstance(value, float) and value - value == 0):
        return value
    return text


def printable(answer: Any, name: str = "") -> Any:
    """``answer`` with all its numbers :func:`readable`."""
    if isinstance(answer, dict):
        return {key: printable(value, f"{name} {key}".lstrip()) for key, value in answer.items()}
    if isinstance(answer, list | tuple):
        return [printable(value, f"{name} {number}") for number, value in enumerate(answer)]
    return answer if answer is None or isinstance(answer, str) else readable(answer, name)


def as_elements(given: Any, units: Units, what: str = "inputs") -> tuple[Encoded, bool]:
    """The inputs as elements of shape ``(batch, inputs)``, and whether ``given`` is a single inference.

    A single inference is a list or an array of numbers in the order of the inputs, or a dict of numbers by name. A
    batch is a list of such lists, an array of shape ``(batch, inputs)``, a dict of columns or a DataFrame, whose other
    columns are not read.
    """
    names = units.inputs
    if given is None:
        if names:
            raise InputError(f"the program reads {listed(names)}: give {what}")
        return Encoded.exactly(np.empty((1, 0), dtype=units.ring.element_dtype)), True
    if isinstance(given, Mapping):
        for name in given:
            if name not in names:
                raise InputError(f"{what}: the program has no input {shown(name)}")
        columns, single = _named_columns(given, given, names, what)
    elif hasattr(given, "columns") and hasattr(given, "__getitem__"):  # a DataFrame, of pandas or of another library
        columns, single = _named_columns(given, list(given.columns), names, what)
    else:
        columns, single = _ordered_columns(given, names, what)
    batch = len(columns[0]) if columns else 1 if single else len(given)
    if not batch:
        raise InputError(f"{what}: there is no row of values")

    def place(name: str, row: int) -> str:
        return f"{what}, column {name!r}" if single else f"{what}: row {row}, column {name!r}"

    return units.encode_columns(columns, batch, _number, place), single


def as_row(given: Any, units: Units, what: str) -> Encoded:
    """The inputs of a single inference, as a batch of one."""
    inputs, single = as_elements(given, units, what)
    if not single:
        raise InputError(f"{what}: one inference is wanted, not a batch of {len(inputs.elements)}")
    return inputs


def as_samples(given: Any, units: Units) -> tuple[Encoded, bool]:
    """The samples of streams as elements of shape ``(streams, samples, words)``, and whether ``given`` is one stream.

    One stream is a batch, as :func:`as_elements` takes it, in the order of time; several are an array of shape
    ``(streams, samples, words)``. A program without inputs takes the number of samples.
    """
    if not units.inputs:
        count = as_whole(given, "number of samples")
        if count < 1:
            raise InputError(f"the number of samples must be at least 1, not {count}")
        return Encoded.exactly(np.empty((1, count, 0), dtype=units.ring.element_dtype)), True
    if not (isinstance(given, np.ndarray) and given.ndim == 3):
        found, single = as_elements([] if given is None else given, units, "samples")
        if single:
            raise InputError("samples: a stream is wanted, not the words of one sample")
        return Encoded(*(part[None] for part in found)), True
    if not (given.shape[0] and given.shape[1]):
        raise InputError("samples: there is no row of values")
    parts = [as_elements(stream, units, f"samples of stream {n}")[0] for n, stream in enumerate(given, 1)]
    return Encoded(*(np.stack(part) for part in zip(*parts, strict=True))), False


def as_start(given: Any, width: int, ring: Ring) -> Array | None:
    """A start vector as elements; None stays None."""
    if given is None:
        return None
    values = as_list(given, "start")
    if len(values) != width:
        raise InputError(f"start must have {width} values, not {len(values)}")
    out = np.empty(width, dtype=ring.element_dtype)
    for register, value in enumerate(values):
        try:
            out[register] = ring.encode(_number(value))
        except InputError as error:
            raise InputError(f"start, R{register}: {error}") from None
    return out


def as_box(given: Any, names: Sequence[str], what: str = "box") -> list[tuple[Fraction, Fraction]]:
    """The least and the greatest value of each input: from one pair for all, or a dict of pairs by name."""
    if not isinstance(given, Mapping):
        return [_pair(given, what)] * len(names)
    for name in given:
        if name not in names:
            raise InputError(f"{what}: the program has no input {shown(name)}")
    for name in names:
        if name not in given:
            raise InputError(f"{what}: the input {name!r} has no box")
    return [_pair(given[name], f"{what} {name}") for name in names]


def as_number(given: Any, what: str) -> Fraction:
    """The finite number ``given``, exactly; anything else is an :exc:`InputError` that begins with ``what``."""
    try:
        return exact_number(given)
    except InputError as error:
        raise InputError(f"{what}: {error}") from None


def _pair(given: Any, what: str) -> tuple[Fraction, Fraction]:
    values = as_list(given, what)
    if len(values) != 2:
        raise InputError(f"{what}: expected (LO, HI), found {shown(given)}")
    low, high = (as_number(value, what) for value in values)
    if low > high:
        raise InputError(f"{what}: the least value is above the greatest")
    return low, high


def _number(value: Any) -> Number:
    """``value``, if it is a finite number."""
    try:
        hash(value)
    except TypeError:
        raise InputError(f"{shown(value)} is not a number") from None
    exact_number(value)
    number: Number = value
    return number


def _is_column(given: Any) -> bool:
    """Whether ``given`` holds several values, as lists, arrays, ranges and the columns of a DataFrame do."""
    return hasattr(given, "__len__") and hasattr(given, "__iter__") and not isinstance(given, str | bytes | Mapping)


def as_list(given: Any, what: str) -> list[Any]:
    """The values of a list, an array of one dimension or a column of a DataFrame."""
    if isinstance(given, np.ndarray) and given.ndim != 1:
        raise InputError(f"{what}: expected one row of numbers, found an array of shape {given.shape}")
    if not _is_column(given):
        raise InputError(f"{what}: expected a list of numbers, found {shown(given)}")
    return list(given.tolist() if hasattr(given, "tolist") else given)


def _named_columns(given: Any, known: Iterable[Any], names: Sequence[str], what: str) -> tuple[list[list[Any]], bool]:
    held = set(known)
    for name in names:
        if name not in held:
            raise InputError(f"{what}: the input {name!r} is missing")
    values = [given[name] for name in names]
    several = [_is_column(value) for value in values]
    if not any(several):
        return [[value] for value in values], True
    columns = [
        as_list(value, f"{what}, column {name!r}") if many else [value]
        for name, value, many in zip(names, values, several, strict=True)
    ]
    for name, column, many in zip(names, columns, several, strict=True):
        if not many or len(column) != len(columns[0]):
            count = f"{len(column)} values" if many else "one value"
            raise InputError(
                f"{what}: the columns differ in length: {names[0]!r} has {len(columns[0])}, {name!r} {count}"
            )
    return columns, False


def _ordered_columns(given: Any, names: Sequence[str], what: str) -> tuple[list[list[Any]], bool]:
    if isinstance(given, np.ndarray):
        if given.ndim not in (1, 2) or given.shape[-1] != len(names):
            raise InputError(_shape_message(names, what, given.shape))
        rows: list[Any] = given.tolist()
        single = given.ndim == 1
    else:
        if not _is_column(given):
            raise InputError(f"{what} must be a list, a dict, an array or a DataFrame of numbers, not {shown(given)}")
        rows = as_list(given, what)
        single = not any(_is_column(row) for row in rows)
    if single:
        rows = [rows]
    for number, row in enumerate(rows, 1):
        if not _is_column(row):
            raise InputError(f"{what}: row {number}: expected a list of numbers, found {shown(row)}")
        if len(row) != len(names):
            if single:
                raise InputError(_shape_message(names, what, (len(row),)))
            raise InputError(f"{what}: row {number} has {len(row)} values, the program {len(names)} inputs")
    return [list(column) for column in zip(*map(list, rows), strict=True)], single


def _shape_message(names: Sequence[str], what: str, shape: tuple[int, ...]) -> str:
    return f"the {what} must have the shape ({len(names)},) or (batch, {len(names)}), not {shape}"
