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
    ``used`` where they mean something, which the shape decides, ``masks`` all bits of each."""

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
        runs = _runs(row, period, fixed)
        if runs is None:
            continue
        starts, ends, steps = runs
        kept = np.ones(len(starts), dtype=bool)
        for shorter, (begin, end) in found.items():
            if period % shorter == 0:
                at = np.searchsorted(begin, starts, side="right") - 1
                kept &= (at < 0) | (end[at] < ends)
        found[period] = starts, ends
        for start, stop, step in zip(starts[kept].tolist(), ends[kept].tolist(), steps[kept].tolist(), strict=True):
            yield from _placed(start, stop, period, tuple(step))


def _runs(row: Row, period: int, fixed: tuple[bool, ...]) -> tuple[Column, Column, Column] | None:
    """Where words repeat after ``period``: the beginnings and the ends of such runs, in order, and the steps of the
    fields. Runs overlap in words that mean nothing in the fields that move in another way."""
    where = _in_runs(row.shape[period:] == row.shape[:-period])
    deltas = [(field[where + period] - field[where]) & mask for field, mask in zip(row.fields, row.masks, strict=True)]
    uses = [used[where] for used in row.used]
    if any(fixed):
        good = np.ones(len(where), dtype=bool)
        for delta, use, still in zip(deltas, uses, fixed, strict=True):
            if still:
                good &= ~use | (delta == 0)
        deltas, uses, where = [delta[good] for delta in deltas], [use[good] for use in uses], where[good]
    if not len(where):
        return None
    # A run begins where the words before differ, or where a field moves in another way than it did.
    breaks = np.append(True, np.diff(where) != 1)
    block = np.cumsum(breaks, dtype=np.int32)
    begins = breaks.copy()
    earliest = np.where(breaks, where, -1)
    used_at = [np.flatnonzero(use) for use in uses]
    for delta, at in zip(deltas, used_at, strict=True):
        moved, blocks = delta[at], block[at]
        cut = np.flatnonzero((moved[1:] != moved[:-1]) & (blocks[1:] == blocks[:-1]))
        begins[at[cut + 1]] = True
        earliest[at[cut + 1]] = np.maximum(earliest[at[cut + 1]], where[at[cut]] + 1)
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(where)) - 1
    # A cut in one field may lie within words that another field was cut before.
    starts = np.where(breaks[first], where[first], np.maximum(earliest[first], np.append(0, where[first][:-1])))
    ends = where[last] + 1
    kept = ends - starts > LOOP_WORDS
    first, last, starts, ends = first[kept], last[kept], starts[kept], ends[kept]
    if not len(first):
        return None
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
    return starts, ends + period, steps


def _in_runs(equal: NDArray[np.bool_]) -> Column:
    """Where more than :data:`LOOP_WORDS` in a row are true."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], equal, [False]])))
    begins, ends = edges[::2], edges[1::2]
    kept = ends - begins > LOOP_WORDS
    lengths = (ends - begins)[kept]
    if not len(lengths):
        return np.zeros(0, dtype=np.int64)
    out: Column = np.arange(lengths.sum()) + np.repeat(begins[kept] - (np.cumsum(lengths) - lengths), lengths)
    return out


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
