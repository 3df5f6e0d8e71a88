"""Periodic stretches of a sequence of program words, and the best choice among them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .repeat import MOST_ROUNDS

__all__ = ["Row", "Stretch", "choose_stretches", "find_stretches"]

Column = NDArray[np.int64]
#: A loop costs its body and the words step and repeat.
LOOP_WORDS = 2


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


def find_stretches(row: Row, period: int, fixed: tuple[bool, ...]) -> Iterator[Stretch]:
    """All longest stretches of ``period`` that save words; fields that are ``fixed`` have a step of zero. Cost: linear
    in the length of the row."""
    count = len(row.shape) - period
    if count <= 0:
        return
    equal = row.shape[period:] == row.shape[:-period]
    where = np.flatnonzero(equal)
    if len(where) <= LOOP_WORDS:
        return
    block = np.cumsum(~equal)
    deltas = [
        (field[period:][where] - field[:-period][where]) & mask
        for field, mask in zip(row.fields, row.masks, strict=True)
    ]
    uses = [used[period:][where] for used in row.used]
    good = np.ones(len(where), dtype=bool)
    for delta, use, still in zip(deltas, uses, fixed, strict=True):
        if still:
            good &= ~use | (delta == 0)
    if not good.all():
        equal = equal.copy()
        equal[where[~good]] = False
        deltas, uses = [delta[good] for delta in deltas], [use[good] for use in uses]
        where = where[good]
        block = np.cumsum(~equal)
        if not len(where):
            return
    # A stretch begins where the words before differ, or where a field moves in another way than it did.
    begins = np.append(True, np.diff(where) != 1)
    earliest = where.copy()
    earliest[~begins] = -1
    for delta, use in zip(deltas, uses, strict=True):
        at = np.flatnonzero(use)
        changed = (np.diff(delta[at]) != 0) & (np.diff(block[where[at]]) == 0)
        cut = at[1:][changed]
        begins[cut] = True
        earliest[cut] = np.maximum(earliest[cut], where[at[:-1][changed]] + 1)
    first = np.flatnonzero(begins)
    ends = where[np.append(first[1:], len(where)) - 1] + 1
    starts = np.maximum(earliest[first], np.append(0, where[first][:-1]))
    starts = np.where(np.append(True, block[where[first]][1:] != block[where[first]][:-1]), where[first], starts)
    kept = np.flatnonzero(ends - starts > LOOP_WORDS)
    used_at = [np.flatnonzero(use) for use in uses]
    for start, end, index in zip(starts[kept].tolist(), ends[kept].tolist(), first[kept].tolist(), strict=True):
        steps = []
        for delta, at in zip(deltas, used_at, strict=True):
            # From the cut on, or before it: all that is used within the stretch moves alike.
            nth = int(np.searchsorted(at, index))
            if nth < len(at) and where[at[nth]] < end:
                steps.append(int(delta[at[nth]]))
            elif nth and where[at[nth - 1]] >= start:
                steps.append(int(delta[at[nth - 1]]))
            else:
                steps.append(0)
        yield from _placed(start, end + period, period, tuple(steps))


def _placed(start: int, end: int, period: int, steps: tuple[int, ...]) -> Iterator[Stretch]:
    """The places of a loop in the words from ``start`` to ``end``: at their beginning and at their end."""
    while end - start >= 2 * period:
        rounds = min((end - start) // period, MOST_ROUNDS)
        rest = (end - start) - rounds * period
        for at in sorted({start, start + min(rest, period - 1)}):
            found = Stretch(at, period, rounds, steps)
            if found.gain > 0:
                yield found
        start += rounds * period


def choose_stretches(stretches: list[Stretch]) -> list[Stretch]:
    """The stretches without overlap that save most words together, from left to right; the shortest bodies among
    equals. Cost: n log n."""
    ordered = sorted(stretches, key=lambda stretch: (stretch.end, stretch.period))
    ends, saved, picks = [0], [0], [(-1, -1)]
    for number, stretch in enumerate(ordered):
        before = bisect_right(ends, stretch.start) - 1
        gain = saved[before] + stretch.gain
        if gain > saved[-1]:
            ends.append(stretch.end)
            saved.append(gain)
            picks.append((number, before))
    chosen, at = [], len(picks) - 1
    while at:
        number, at = picks[at]
        chosen.append(ordered[number])
    return chosen[::-1]
