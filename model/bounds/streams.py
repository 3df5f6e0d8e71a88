"""Bounds of a program with state, for every sample of a stream of any length.

The states ``s`` after a sample are an affine function of those before it, of the inputs and of the roundings
(``recurrence``); the ranges of all that is computed follow from the responses to these at all times (``steady``). For
the errors the differences ``e`` from the exact program are followed beside ``s``, as one recurrence. With a prime for
the forms of the exact program, whose states are ``s - e``, a state is after a sample

    s <- A·s + B·x + G·r + b        e <- A'·e + (A - A')·s + (B - B')·x + G·r + b - b'

so that what rounding makes of a weight is multiplied with what is there to be multiplied, and not with a worst case.
The words of a window count as if they had nothing in common with those of the samples before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from skinny.model.program.program import Program

from .layers import Followed
from .recurrence import Affine, Value, find_recurrence
from .steady import System, find_ranges

__all__ = ["follow_stream"]

#: A value beyond this fits no word we have.
_HOPELESS = 2.0**64


def follow_stream(
    program: Program,
    frac: int,
    box: Sequence[tuple[int, int]],
    weights: Sequence[int],
    start: Sequence[int],
    named: Mapping[int, tuple[int, int]],
) -> tuple[Followed, str | None]:
    """Bounds of ``program`` at all times of a stream, and the reason why something has none. ``box``, ``weights``,
    ``start`` and the ranges of the weights that are ``named`` are raw words of ``frac`` fraction bits."""
    registers = [state.register for state in program.state]
    found = find_recurrence(program, registers, frac, weights, start, named)
    if isinstance(found, str):
        return _nothing(program), f"no bound proven: {found}"
    unit = Fraction(1, 1 << frac)
    inputs = range(1 + len(registers), 1 + len(registers) + len(box))
    middle = {symbol: (low + high) * unit / 2 for symbol, (low, high) in zip(inputs, box, strict=True)}
    radius = {symbol: (high - low) * unit / 2 for symbol, (low, high) in zip(inputs, box, strict=True)}
    middle |= dict.fromkeys(found.roundings, Fraction(0))
    radius |= dict.fromkeys(found.roundings, unit / 2)

    actual = {symbol: value.actual for symbol, value in enumerate(found.after, 1)}
    begun = {symbol: start[register] * unit for symbol, register in enumerate(registers, 1)}
    system = System(actual, begun, middle, radius)
    needed = [*(read.value for read in found.reads), *(value.actual for value in found.sent)]
    ranges, reason = find_ranges(system, needed)
    written, _ = find_ranges(system, found.written)

    errors = {-symbol: _error(value, len(registers)) for symbol, value in enumerate(found.after, 1)}
    wrong = {-symbol: begun[symbol] - Fraction(program.start[r]) for symbol, r in enumerate(registers, 1)}
    joint = System(actual | errors, begun | wrong, middle, radius)
    sizes, error_reason = find_ranges(joint, [_error(value, len(registers)) for value in found.sent])

    out = _nothing(program)
    out.scalar_low[:], out.scalar_high[:] = 0, 0
    out.read_low[:], out.read_high[:] = 0, 0
    out.low[:], out.high[:] = np.array(written, dtype=np.float64).reshape(-1, 2).T
    for read, (low, high) in zip(found.reads, ranges, strict=False):
        if read.register is None:
            out.scalar_low[read.at], out.scalar_high[read.at] = low, high
        elif not max(-low, high) < max(-out.read_low[read.at], out.read_high[read.at]):
            out.read_low[read.at], out.read_high[read.at] = low, high
            out.read_register[read.at] = read.register
    out.sent[:] = ranges[len(found.reads) :]
    for output, (low, high) in zip(program.outputs, sizes, strict=True):
        error = max(abs(low), abs(high))
        out.errors[output.name] = error if error < _HOPELESS else float("inf")
    return out, reason or error_reason


def _error(value: Value, states: int) -> Affine:
    """The actual less the exact value; the exact states are the actual ones less their errors."""
    out = dict(value.actual)
    for symbol, weight in value.exact.items():
        out[symbol] = out.get(symbol, Fraction(0)) - weight
        if 1 <= symbol <= states:
            out[-symbol] = weight
    return {symbol: weight for symbol, weight in out.items() if weight}


def _nothing(program: Program) -> Followed:
    """No bounds at all."""
    low, high = np.full((3, len(program)), -np.inf), np.full((3, len(program)), np.inf)
    return Followed(
        low[0],
        high[0],
        low[1],
        high[1],
        low[2],
        high[2],
        program.code.src.astype(np.int64),
        [(-float("inf"), float("inf"))] * len(program.outputs),
        {output.name: float("inf") for output in program.outputs},
    )
