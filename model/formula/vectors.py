"""Vectors and matrices of formulas, as long as a text is read: what is behind it sees single numbers alone.

A matrix is a vector of rows. Arithmetic is element by element, a single number going with every element; nothing else
is stretched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from skinny.model.errors import InputError

from .formula import Formula, constant, product, total

__all__ = [
    "Pick",
    "ShapeError",
    "Value",
    "Vector",
    "combined",
    "constants",
    "dot",
    "mapped",
    "picked",
    "shape",
    "shape_text",
    "size",
    "summed",
]


class ShapeError(InputError):
    """Vectors, matrices and numbers that do not go together."""


class Vector:
    """A vector of formulas, or of rows of them, all of one shape."""

    __slots__ = ("items",)

    def __init__(self, items: Sequence[Value]) -> None:
        self.items = tuple(items)
        first = shape(self.items[0])
        if len(first) > 1:
            raise ShapeError("a list of matrices is neither a vector nor a matrix")
        for number, item in enumerate(self.items):
            if shape(item) != first:
                raise ShapeError(
                    f"the elements of a list must be alike: the first is {shape_text(self.items[0])}, "
                    f"element {number} is {shape_text(item)}"
                )


Value = Formula | Vector
#: An index, or the first one and the one behind the last, None where it is left out.
Pick = int | tuple[int | None, int | None]


def shape(value: Value) -> tuple[int, ...]:
    """The numbers of elements: none for a single number, then rows before columns."""
    return (len(value.items), *shape(value.items[0])) if isinstance(value, Vector) else ()


def size(value: Value) -> int:
    """How many numbers ``value`` has."""
    return math.prod(shape(value))


def shape_text(value: Value) -> str:
    """What ``value`` is, for messages."""
    match shape(value):
        case ():
            return "a single number"
        case (count,):
            return f"a vector of {count:,}"
        case (rows, columns):
            return f"a matrix of {rows:,} rows and {columns:,} columns"
        case _:
            raise AssertionError


def constants(numbers: Any) -> Value:
    """Numbers, in lists or in lists of rows, as constants."""
    return Vector([constants(number) for number in numbers]) if isinstance(numbers, list) else constant(numbers)


def mapped(change: Callable[[Formula], Formula], value: Value) -> Value:
    """``change`` of every element."""
    if isinstance(value, Vector):
        return Vector([mapped(change, item) for item in value.items])
    return change(value)


def combined(join: Callable[[Sequence[Formula]], Formula], values: Sequence[Value]) -> Value:
    """``join`` of the elements that stand at one place each; a single number stands at all of them."""
    shapes = {shape(value): value for value in values if isinstance(value, Vector)}
    if not shapes:
        return join([value for value in values if isinstance(value, Formula)])
    if len(shapes) > 1:
        one, other = list(shapes.values())[:2]
        hint = ": dot(…) multiplies them" if len(shape(one)) != len(shape(other)) else ""
        raise ShapeError(f"{shape_text(one)} and {shape_text(other)} cannot be joined element by element{hint}")
    (count, *_) = next(iter(shapes))
    columns = [value.items if isinstance(value, Vector) else (value,) * count for value in values]
    return Vector([combined(join, at_place) for at_place in zip(*columns, strict=True)])


def summed(value: Value) -> Value:
    """The sum of all elements."""
    if isinstance(value, Formula):
        raise ShapeError("sum takes a vector, not a single number: sum(x[0:16]) or sum([a, b])")
    rows = [row for item in value.items for row in (item.items if isinstance(item, Vector) else (item,))]
    return total(row for row in rows if isinstance(row, Formula))


def dot(left: Value, right: Value) -> Value:
    """The product of vectors or matrices, as numpy's ``dot`` has it."""
    if isinstance(left, Formula) or isinstance(right, Formula):
        raise ShapeError("dot takes vectors and matrices, not a single number")
    inner, outer = shape(left)[-1], shape(right)[0]
    if inner != outer:
        raise ShapeError(f"dot of {shape_text(left)} and {shape_text(right)}: {inner:,} elements cannot meet {outer:,}")
    if isinstance(left.items[0], Vector):
        return Vector([dot(row, right) for row in left.items])
    if isinstance(right.items[0], Vector):
        columns = zip(*(row.items for row in right.items if isinstance(row, Vector)), strict=True)
        return Vector([dot(left, Vector(column)) for column in columns])
    return total(product(pair) for pair in zip(left.items, right.items, strict=True))  # type: ignore[arg-type]


def picked(value: Value, picks: Sequence[Pick]) -> Value:
    """The elements that ``picks`` choose, rows first."""
    if not picks:
        return value
    if isinstance(value, Formula):
        raise ShapeError("a single number has no elements")
    count = len(value.items)
    first = picks[0]
    if isinstance(first, int):
        if first >= count:
            raise ShapeError(f"there is no element {first:,}: {shape_text(value)} has 0 to {count - 1:,}")
        return picked(value.items[first], picks[1:])
    begin, end = first[0] or 0, count if first[1] is None else first[1]
    if not begin < end <= count:
        raise ShapeError(f"there are no elements {begin:,}:{end:,}: {shape_text(value)} has 0:{count:,}")
    return Vector([picked(item, picks[1:]) for item in value.items[begin:end]])
