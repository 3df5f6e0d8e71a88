"""Ranges of affine rows of a linear recurrence at all times of a stream.

States are followed as differences from their start, which begin at zero. A state that nothing moves stays a constant,
and a state that no row depends on is left out; so neither needs a pole inside of the unit circle. The others fall apart
into blocks. What depends on a block with a pole on or outside of the circle has no proven range; all else has one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from .poles import blocks, is_growing, is_stable, outermost_pole, polynomial
from .recurrence import ONE, Affine
from .responses import Responses, respond

__all__ = ["Steady", "System", "find_ranges"]

#: The most states that may depend on each other in circles: the poles of more take too long.
_MOST_BLOCK = 24
#: What a sum of four floats may lose, with room.
_LOSS = 2.0**-48
_UNBOUNDED = (-float("inf"), float("inf"))


class System(NamedTuple):
    """By symbol: what each state is ``after`` a sample and at the ``start``, and of each input and rounding, which may
    have other values in each sample, the ``middle`` and the ``radius``."""

    after: Mapping[int, Affine]
    start: Mapping[int, Fraction]
    middle: Mapping[int, Fraction]
    radius: Mapping[int, Fraction]

    def at_start(self, form: Affine) -> Fraction:
        """The value of ``form`` in the first sample, with inputs and roundings at their middle."""
        total = form.get(ONE, Fraction(0))
        for symbol, weight in form.items():
            if symbol != ONE:
                total += weight * (self.start[symbol] if symbol in self.start else self.middle[symbol])
        return total

    def changes(self, form: Affine) -> bool:
        """Whether an input or a rounding changes ``form``."""
        return any(self.radius.get(symbol) for symbol in form)


class Steady(NamedTuple):
    """The range of each row at all times, and the reason why some have none."""

    ranges: list[tuple[float, float]]
    reason: str | None


def find_ranges(system: System, rows: Sequence[Affine]) -> Steady:
    """The ranges of ``rows`` at all times."""
    impulse = {state: system.at_start(form) - system.start[state] for state, form in system.after.items()}
    feeds: dict[int, list[int]] = {state: [] for state in system.after}
    for state, form in system.after.items():
        for source in form.keys() & feeds.keys():
            feeds[source].append(state)
    moved = _reached((s for s, form in system.after.items() if impulse[s] or system.changes(form)), feeds)
    needs = {state: [s for s in form if s in moved] for state, form in system.after.items()}
    live = sorted(_reached((s for row in rows for s in row if s in moved), needs))
    matrix = _matrix([system.after[state] for state in live], live)
    loose, reason = [], None
    for group in blocks(matrix):
        problem = _problem([[matrix[i][j] for j in group] for i in group])
        if problem is not None:
            loose += [live[i] for i in group]
            reason = problem if reason is None or problem.startswith("grows") else reason
    lost = _reached(loose, feeds)
    kept = [state for state in live if state not in lost]
    bounded = [row for row in rows if lost.isdisjoint(row)]
    found = _responses(system, kept, impulse, bounded)
    if found is None:
        return Steady([_UNBOUNDED] * len(rows), reason or "no bound proven: its responses fade too slowly")
    ends = iter(zip(found.size.tolist(), found.low.tolist(), found.high.tolist(), strict=True))
    return Steady([_range(system, row, next(ends)) if lost.isdisjoint(row) else _UNBOUNDED for row in rows], reason)


def _reached(first: Iterable[int], feeds: Mapping[int, Sequence[int]]) -> set[int]:
    """The states that are reached from ``first``."""
    waiting = list(first)
    out = set(waiting)
    while waiting:
        for state in feeds[waiting.pop()]:
            if state not in out:
                out.add(state)
                waiting.append(state)
    return out


def _matrix(forms: Sequence[Affine], symbols: Sequence[int]) -> list[list[Fraction]]:
    return [[form.get(symbol, Fraction(0)) for symbol in symbols] for form in forms]


def _problem(block: list[list[Fraction]]) -> str | None:
    """Why the states of a block have no proven range; None if all of its poles are inside of the unit circle."""
    if len(block) > _MOST_BLOCK:
        return f"no bound proven: {len(block)} states depend on each other, {_MOST_BLOCK} are the most"
    coefficients = polynomial(block)
    if is_stable(coefficients):
        return None
    if is_growing(coefficients):
        return f"grows without bound: pole at {outermost_pole(coefficients)}"
    return f"no bound proven: pole on the unit circle at {outermost_pole(coefficients)}"


def _responses(
    system: System, states: Sequence[int], impulse: Mapping[int, Fraction], rows: Sequence[Affine]
) -> Responses | None:
    """The responses of ``rows`` to all inputs and roundings, each as large as its radius."""
    forms = [system.after[state] for state in states]
    changing = sorted({symbol for form in forms for symbol in form if system.radius.get(symbol)})
    inputs = [[form.get(symbol, Fraction(0)) * system.radius[symbol] for symbol in changing] for form in forms]
    try:
        return respond(_matrix(forms, states), inputs, [impulse[state] for state in states], _matrix(rows, states))
    except OverflowError:  # A weight that is no float.
        return None


def _range(system: System, row: Affine, response: tuple[float, float, float]) -> tuple[float, float]:
    """The range of ``row``, which has this sum of absolute responses and these responses to the first impulse."""
    size, low, high = response
    try:
        centre = float(system.at_start(row))
        radius = float(sum((abs(c) * system.radius.get(symbol, 0) for symbol, c in row.items()), Fraction(0)))
    except OverflowError:
        return _UNBOUNDED
    pad = _LOSS * (abs(centre) + radius + size - low + high)
    least, most = centre + low - size - radius - pad, centre + high + size + radius + pad
    return (least, most) if np.isfinite(pad) else _UNBOUNDED
