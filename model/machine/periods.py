"""Periodic stretches of a sequence of program words, and the best choice among them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .repeat import MOST_BODY, MOST_ROUNDS

__all__ = ["LOOP_WORDS", "Row", "Stretch", "choose_stretches", "find_stretches"]

Column = NDArray[np.int64]
#: A loop costs its body and the words step and repeat.
LOOP_WORDS = 2
#: Places of a loop that are tried from the first possible one on, where words at its ends move as others do.
PLACES = 8


class Row(NamedTuple):
    """Words as columns. ``shape`` says all that must be equal from round to round; ``fields`` are the index fields,
    ``used`` where they mean something, ``masks`` all bits of each."""

    shape: Column
    fields: tuple[Column, ...]
    used: tuple[NDArray[np.bool_], ...]
    masks: tuple[int, ...]


class Stretch(NamedTuple):
    """``rounds`` rounds of ``period`` words from ``start`` on, each field being ``steps`` more in each round."""

    start: int
    period: int
    rounds: int
    steps: tuple[int, ...]

    @property
    def end(self) -> int:
        return self.start + self.period * self.rounds

    @property
    def gain(self) -> int:
        return self.period * (self.rounds - 1) - LOOP_WORDS


def find_stretches(row: Row, fixed: tuple[bool, ...]) -> Iterator[Stretch]:
    """All longest stretches of all periods that save words; fields that are ``fixed`` have a step of zero. Those that
    repeat with a part of their period are left out. Cost: linear in the length of the row."""
    found: dict[int, tuple[Column, Column]] = {}
    for period in range(1, MOST_BODY + 1):
        starts, ends, steps = _runs(row, period, fixed)
        kept = ends - starts > LOOP_WORDS
        for shorter in range(1, period // 2 + 1):
            if period % shorter == 0 and shorter in found and len(found[shorter][0]):
                begin, end = found[shorter]
                at = np.searchsorted(begin, starts, side="right") - 1
                kept &= (at < 0) | (end[at] + shorter < ends + period)
        found[period] = starts, ends
        columns = (starts[kept].tolist(), (ends[kept] + period).tolist(), steps[kept].tolist())
        for start, end, step in zip(*columns, strict=True):
            yield from _placed(start, end, period, tuple(step))


def _runs(row: Row, period: int, fixed: tuple[bool, ...]) -> tuple[Column, Column, Column]:
    """Where words are like those ``period`` later: the first and the last such word and one, and the steps of the
    fields between them. Runs overlap in words that mean nothing in the fields that move in another way."""
    empty = np.zeros(0, dtype=np.int64)
    nothing = empty, empty, np.zeros((0, len(row.fields)), dtype=np.int64)
    count = len(row.shape) - period
    if count <= 0:
        return nothing
    equal = row.shape[period:] == row.shape[:-period]
    where = np.flatnonzero(equal)
    deltas = [
        (field[period:][where] - field[:-period][where]) & mask
        for field, mask in zip(row.fields, row.masks, strict=True)
    ]
    uses = [used[:-period][where] for used in row.used]
    good = np.ones(len(where), dtype=bool)
    for delta, use, still in zip(deltas, uses, fixed, strict=True):
        if still:
            good &= ~use | (delta == 0)
    if not good.all():
        deltas, uses = [delta[good] for delta in deltas], [use[good] for use in uses]
        where = where[good]
    if len(where) <= LOOP_WORDS:
        return nothing
    # A run begins where the words before differ, or where a field moves in another way than it did.
    block = np.cumsum(np.append(True, np.diff(where) != 1))
    begins = np.append(True, np.diff(block) != 0)
    earliest = where.copy()
    earliest[~begins] = -1
    used_at = [np.flatnonzero(use) for use in uses]
    for delta, at in zip(deltas, used_at, strict=True):
        changed = (np.diff(delta[at]) != 0) & (np.diff(block[at]) == 0)
        cut = at[1:][changed]
        begins[cut] = True
        earliest[cut] = np.maximum(earliest[cut], where[at[:-1][changed]] + 1)
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(where)) - 1
    ends = where[last] + 1
    starts = np.where(np.append(True, np.diff(block[first]) != 0), where[first], earliest[first])
    # A cut in one field may lie within words that another field was cut before.
    before = np.append(0, where[first][:-1])
    starts = np.where(np.append(True, np.diff(block[first]) != 0), starts, np.maximum(starts, before))
    steps = np.zeros((len(first), len(deltas)), dtype=np.int64)
    for column, (delta, at) in enumerate(zip(deltas, used_at, strict=True)):
        if not len(at):
            continue
        # All that is used within the run moves alike: the next use from the cut on, or the last one before it.
        later = np.searchsorted(at, first)
        following, preceding = np.minimum(later, len(at) - 1), np.maximum(later - 1, 0)
        ahead = (later < len(at)) & (at[following] <= last)
        behind = ~ahead & (later > 0) & (where[at[preceding]] >= starts)
        steps[:, column] = np.where(ahead, delta[at[following]], np.where(behind, delta[at[preceding]], 0))
    return starts, ends, steps


def _placed(start: int, end: int, period: int, steps: tuple[int, ...]) -> Iterator[Stretch]:
    """The places of a loop in the words from ``start`` to ``end``: at their beginning and at their end."""
    while end - start >= 2 * period:
        rounds = min((end - start) // period, MOST_ROUNDS)
        rest = min((end - start) - rounds * period, period - 1)
        for at in sorted({*range(min(rest, PLACES)), rest}):
            found = Stretch(start + at, period, rounds, steps)
            if found.gain > 0:
                yield found
        start += rounds * period


def choose_stretches(intervals: Sequence[tuple[int, int, int]]) -> list[int]:
    """The numbers of the intervals ``(start, end, gain)`` without overlap that gain most together, from left to right;
    those that end first among equals. Cost: n log n."""
    ordered = sorted(range(len(intervals)), key=lambda number: intervals[number][1])
    ends, saved, picks = [0], [0], [(-1, -1)]
    for number in ordered:
        start, end, own = intervals[number]
        before = bisect_right(ends, start) - 1
        gain = saved[before] + own
        if gain > saved[-1]:
            ends.append(end)
            saved.append(gain)
            picks.append((number, before))
    chosen, at = [], len(picks) - 1
    while at:
        number, at = picks[at]
        chosen.append(number)
    return chosen[::-1]
