"""Bounds of a program with state, for every sample of a stream of any length.

The states ``s`` after a sample are an affine function of those before it, of the inputs and of the roundings
(``recurrence``); the ranges of all that is computed follow from the responses to these at all times (``steady``). For
the errors the differences ``e`` from the exact program are followed beside ``s``, as one recurrence. With a prime for
the forms of the exact program, whose states are ``s - e``, a state is after a sample

    s <- A·s + B·x + G·r + b        e <- A'·e + (A - A')·s + (B - B')·x + G·r + b - b'

so that what rounding makes of a weight is multiplied with what is there to be multiplied, and not with a worst case.
The words of a window count as if they had nothing in common with those of the samples before.

Where a sample is no affine function (products of states, relu, weights of any value), ranges are looked for that the
states do not leave: they hold the start, and from anywhere within them a sample, or several, lead into them again.
Errors are part of the ranges, where they do not grow: what an integral has lost to rounding it never gets back.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf, nextafter

import numpy as np
from skinny.model.program.program import Program

from .case import Case
from .layers import Followed, StateRange, follow_samples
from .recurrence import Affine, Value, find_recurrence
from .steady import System, find_ranges

__all__ = ["follow_stream"]

#: A value beyond this fits no word we have.
_HOPELESS = 2.0**64
#: The samples after which ranges are looked for where one sample loses too much.
_SAMPLES = 4
#: Ranges of states are tried so often at most, and fewer times in long programs: that many words together.
_MOST_ROUNDS = 400
_MOST_WORDS = 40_000
#: Ranges that do not hold are made larger by this part of them.
_WIDENING = 1 / 64
#: Ranges that hold are made smaller so often.
_NARROWINGS = 40


def follow_stream(case: Case) -> tuple[Followed, str | None]:
    """Bounds of the program of ``case`` at all times of a stream, and the reason why something has none."""
    program = case.program
    registers = [state.register for state in program.state]
    found = find_recurrence(case, registers)
    if isinstance(found, str):
        return _find_kept(case, found)
    unit, box, start = case.unit, case.box, case.start
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


def _find_kept(case: Case, reason: str) -> tuple[Followed, str | None]:
    """Bounds at samples whose states are anywhere in ranges that they never leave, if such ranges are found: with
    errors or, if they grow, of the words alone; after one sample or, as that may lose too much, after several.
    ``reason`` is why there is no recurrence."""
    kept = _kept(case, 1, exact=True)
    if kept is not None:
        return kept, None
    for samples in (1, _SAMPLES):
        kept = _kept(case, samples, exact=False)
        if kept is not None:
            return kept, f"the values fit for ever, but no bound of the error was proven: {reason}"
    advice = "a smaller box, narrower ranges of named weights, or a factor that lets the state fade may help"
    return _nothing(case.program), (
        f"no bound proven: {reason}, and no ranges were found that the states stay in; {advice}"
    )


def _kept(case: Case, samples: int, *, exact: bool) -> Followed | None:
    """The same after so many samples. Ranges are widened until they hold, then narrowed while they still do."""
    program, unit = case.program, 2.0**-case.frac
    begun = {register: _begun(case, register, exact) for _, register in program.state}
    kept: Followed | None = None
    ranges, narrowed = begun, 0
    for _ in range(min(_MOST_ROUNDS, _MOST_WORDS // max(program.words * samples, 1))):
        found, after = follow_samples(case, ranges, samples, exact=exact)
        if after is None or narrowed == _NARROWINGS:
            break
        if all(_holds(ranges[register], after[register]) for register in ranges):
            kept, narrowed = found, narrowed + 1
            ranges = {register: _joined(begun[register], after[register]) for register in ranges}
        elif kept is None:
            ranges = {register: _widened(ranges[register], after[register], unit) for register in ranges}
        else:
            break
    return kept


def _begun(case: Case, register: int, exact: bool) -> StateRange:
    """What a state begins with."""
    word = case.start[register] * case.unit
    value = Fraction(case.program.start[register]) if exact else word
    off = abs(word - value)
    return StateRange(
        nextafter(float(value), -inf), nextafter(float(value), inf), nextafter(float(off), inf) if off else 0.0
    )


def _holds(outer: StateRange, inner: StateRange) -> bool:
    return outer.low <= inner.low and inner.high <= outer.high and inner.error <= outer.error


def _joined(one: StateRange, other: StateRange) -> StateRange:
    return StateRange(min(one.low, other.low), max(one.high, other.high), max(one.error, other.error))


def _widened(old: StateRange, new: StateRange, unit: float) -> StateRange:
    """Both, and somewhat more where the new range goes beyond: what only comes nearer to its end gets there."""
    low, high, error = _joined(old, new)
    more = _WIDENING * max(-low, high) + unit
    return StateRange(
        low - more if new.low < old.low else low,
        high + more if new.high > old.high else high,
        error * (1 + _WIDENING) + unit / 64 if new.error > old.error else error,
    )


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
