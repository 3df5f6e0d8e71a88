"""Synthesis: truth tables of the same inputs to signals, as few cycles as are found.

Each function is split by its first inputs, ``f = f(0) + x·(f(0) + f(1))``, functions that meet again are one, and what
is left of the other inputs is a sum of products (the algebraic normal form), in which pairs of terms that several sums
have are summed once. Orders of the inputs and places of the border are tried; the cheapest wins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

from skinny.model.limits import check

from .inverse import find_inverse, inverse_signals
from .signals import ONE, Signals
from .truth import cofactors, monomials, normal_form, ones

__all__ = ["synthesise"]

#: All orders of so many inputs are tried.
ALL_ORDERS = 4
#: Inputs behind the border, at most.
MOST_NORMAL = 5


def synthesise(signals: Signals, tables: Sequence[int], inputs: Sequence[int]) -> list[int]:
    """The functions ``tables`` of the signals ``inputs``, which are not complemented, as signals."""
    count = len(inputs)
    inverse = find_inverse(tables, count)
    if inverse is not None:
        return inverse_signals(signals, inverse, inputs, synthesise)
    best: tuple[int, tuple[int, ...], int] | None = None
    for order in _orders(count):
        for border in range(max(0, count - MOST_NORMAL), count + 1):
            check()
            trial = Signals()
            leaves = [trial.input(str(place)) for place in range(count)]
            cycles = trial.cycles(_Split(trial, leaves, order, border).functions(tables))
            if best is None or cycles < best[0]:
                best = cycles, order, border
    assert best is not None
    return _Split(signals, inputs, *best[1:]).functions(tables)


def _orders(count: int) -> Iterator[tuple[int, ...]]:
    """Orders in which functions are split by their inputs."""
    if count <= ALL_ORDERS:
        yield from permutations(range(count))
        return
    for turn in range(count):
        yield (*range(turn, count), *range(turn))
    yield tuple(reversed(range(count)))


class _Split:
    """Functions split by the inputs ``order[:border]``; the rest is a sum of products of the other inputs."""

    def __init__(self, signals: Signals, inputs: Sequence[int], order: Sequence[int], border: int) -> None:
        self.signals = signals
        self.inputs = inputs
        self.order = order
        self.border = border
        self.count = len(inputs)

    def functions(self, tables: Sequence[int]) -> list[int]:
        """The functions as signals."""
        layers: list[dict[int, None]] = [dict.fromkeys(self.normal(table)[0] for table in tables)]
        for place in self.order[: self.border]:
            below: dict[int, None] = {}
            for table in layers[-1]:
                below.update(dict.fromkeys(self.normal(part)[0] for part in self.parts(table, place)))
            layers.append(below)
        known = self.sums(list(layers.pop()))
        for place, layer in zip(reversed(self.order[: self.border]), reversed(layers), strict=True):
            known = {table: self.joined(table, place, known) for table in layer}
        return [known[table] ^ complement for table, complement in map(self.normal, tables)]

    def normal(self, table: int) -> tuple[int, int]:
        """The function or its complement, whichever is zero where all inputs are, and whether it is the complement."""
        return (ones(self.count) ^ table, 1) if table & 1 else (table, 0)

    def parts(self, table: int, place: int) -> tuple[int, ...]:
        """The functions that :meth:`joined` needs."""
        low, high = cofactors(table, place, self.count)
        if low == high or high in (0, ones(self.count)):
            return (low,)
        return (low, low ^ high) if low else (high,)

    def joined(self, table: int, place: int, known: dict[int, int]) -> int:
        low, high = cofactors(table, place, self.count)
        x = self.inputs[place]

        def signal(part: int) -> int:
            found, complement = self.normal(part)
            return known[found] ^ complement

        if low == high:
            return signal(low)
        if high in (0, ones(self.count)):  # low·(1 + x), or its counterpart for the complement
            complement = high & 1
            return self.signals.both((x ^ 1, signal(low) ^ complement)) ^ complement
        if not low:
            return self.signals.both((x, signal(high)))
        return self.signals.xor((signal(low), self.signals.both((x, signal(low ^ high)))))

    def sums(self, tables: Sequence[int]) -> dict[int, int]:
        """Functions as sums of products."""
        rows = [set(monomials(normal_form(table, self.count))) for table in tables]
        terms = {term: self.term(term) for row in rows for term in row}
        made = self.signals.sums([{terms[term] for term in row} for row in rows])
        return dict(zip(tables, made, strict=True))

    def term(self, term: int) -> int:
        """The product of the inputs that are the bits of ``term``, in the order of the inputs."""
        found = ONE
        for place in reversed(self.order):
            if term >> place & 1:
                found = self.signals.both((self.inputs[place], found))
        return found
