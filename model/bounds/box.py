"""The box: the ranges of the inputs for which bounds hold."""

from __future__ import annotations

from collections.abc import Sequence

from skinny.model.errors import InputError
from skinny.model.program.program import Program
from skinny.model.rings import FixedPoint, Number

__all__ = ["Box", "encoded", "encoded_box", "window_box"]

#: The least and the greatest value of each input, in the order of ``program.inputs``.
Box = Sequence[tuple[Number, Number]]


def encoded_box(program: Program, ring: FixedPoint, box: Box) -> list[tuple[int, int]]:
    """The raw words at the ends of each input's range."""
    if len(box) != len(program.inputs):
        raise InputError(f"the box must have a range for each of the {len(program.inputs)} inputs, not {len(box)}")
    for name, (low, high) in zip(program.inputs, box, strict=True):
        if not low <= high:
            raise InputError(f"input {name}: the range {low} to {high} is empty")
    return [
        (encoded(f"input {name}", ring, low), encoded(f"input {name}", ring, high))
        for name, (low, high) in zip(program.inputs, box, strict=True)
    ]


def window_box(program: Program, ranges: Box) -> Box:
    """The box of all inputs, from the ``ranges`` of ``program.samples``: a word keeps its range while it is in the
    window. Words that pad a window count as inputs."""
    hop = len(ranges)
    return [ranges[hop - 1 - u % hop] for u in range(len(program.inputs))] if program.window else ranges


def encoded(what: str, ring: FixedPoint, value: Number) -> int:
    """The raw word of ``value``; the message of an error begins with ``what``."""
    try:
        return ring.encode(value)
    except InputError as error:
        raise InputError(f"{what}: {error}") from None
