"""Windows: what a gate sees of the signals before it, which says more than its own table.

The inputs of a gate need not take all values: where one is ``a·b`` and the other ``(a + b)·c``, both are never one. A
window goes back from the inputs of a gate to at most :data:`MOST_LEAVES` signals, its leaves, and finds which values
the inputs take, and whether the gate is a simpler function of a few signals further back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from .signals import Signals
from .truth import composed, monomials, normal_form, without_idle

__all__ = ["simplest"]

#: Leaves of a window, at most.
MOST_LEAVES = 10
#: Inputs of the gates that are looked at, and values together that may be freely chosen, at most.
SMALL, MOST_FREE = 4, 6


def simplest(signals: Signals, table: int, inputs: Sequence[int]) -> tuple[int, tuple[int, ...]]:
    """A function and its inputs that equal the ``table`` of the signals ``inputs`` and may be simpler."""
    if not 2 <= len(inputs) <= SMALL:
        return table, tuple(inputs)
    best = _completed(signals, table, inputs)
    effort = _effort(*best)
    for leaves in _windows(signals, inputs):
        if len(leaves) <= SMALL:
            found = _without_idle(composed(table, signals.truth(inputs, leaves), len(leaves)), leaves)
            if _effort(*found) <= effort:
                best, effort = found, _effort(*found)
    return best


def _effort(table: int, inputs: Sequence[int]) -> int:
    """The size of the normal form: its terms, and a factor more for each further input of them."""
    return sum(term.bit_count() for term in monomials(normal_form(table, len(inputs))))


def _windows(signals: Signals, inputs: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Sets of leaves through which each way from the ``inputs`` back goes, each a step further back: a signal gives way
    to what it reads, the one that makes the fewest more leaves, and of equals the one fewest steps back."""
    steps = {signal & ~1: 0 for signal in inputs}
    leaves = set(steps)
    while True:
        reads = {leaf: {signal & ~1 for signal in signals.reads(leaf)} for leaf in leaves}
        options = [(len(read - leaves), steps[leaf], leaf) for leaf, read in reads.items() if read]
        if not options:
            return
        more, step, leaf = min(options)
        if len(leaves) - 1 + more > MOST_LEAVES:
            return
        leaves = (leaves | reads[leaf]) - {leaf}
        steps.update((read, step + 1) for read in reads[leaf] if read not in steps)
        yield tuple(sorted(leaves))


def _without_idle(table: int, inputs: Sequence[int]) -> tuple[int, tuple[int, ...]]:
    found, used = without_idle(table, len(inputs))
    return found, tuple(inputs[place] for place in used)


def _completed(signals: Signals, table: int, inputs: Sequence[int]) -> tuple[int, tuple[int, ...]]:
    """The function with the smallest normal form that equals the ``table`` wherever the ``inputs`` can be."""
    last: tuple[int, ...] = ()
    for leaves in _windows(signals, inputs):
        last = leaves
    if not last:
        return table, tuple(inputs)
    values = signals.truth(inputs, last)
    seen = {sum((value >> row & 1) << place for place, value in enumerate(values)) for row in range(1 << len(last))}
    free = [row for row in range(1 << len(inputs)) if row not in seen]
    options = [table]
    if len(free) <= MOST_FREE:
        rows = [sum(1 << row for row in chosen) for n in range(len(free) + 1) for chosen in combinations(free, n)]
        options += [table ^ row for row in rows]
    return _without_idle(min(options, key=lambda option: (_effort(option, inputs), option)), inputs)
