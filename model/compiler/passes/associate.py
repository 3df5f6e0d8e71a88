"""Associate: in which order and grouping the factors of a product are multiplied.

Precondition: expressions with their costs. Postcondition: one expression for their product whose shapes are cheap under
every contract. Up to :data:`INTERVALS` factors by dynamic programming over intervals of the factors sorted by cost;
many factors of equal cost by the same programming over counts; more, and unequal, by grouping first: equal ones, in
pieces or whole, if there are few kinds, or else neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from skinny.model.compiler.contracts import CEILING, MIXED, Expression, Pair
from skinny.model.limits import check

__all__ = ["associate"]

INTERVALS = 40
COUNTS = 8192


def associate(factors: Sequence[Expression]) -> Expression:
    """The product of ``factors``."""
    ordered = _sorted(factors)
    equals: dict[tuple[object, ...], list[Expression]] = {}
    for factor in ordered:
        equals.setdefault((factor.strict_cost, factor.loose_cost, factor.scalar_form), []).append(factor)
    if len(equals) == 1:
        return _of_equals(ordered)
    if len(ordered) <= INTERVALS:
        return _by_intervals(ordered)
    if len(equals) <= INTERVALS // 2:
        size = -(-len(ordered) // (INTERVALS - len(equals)))
        pieces = [_of_equals(group[a : a + size]) for group in equals.values() for a in range(0, len(group), size)]
        groups = [_of_equals(group) for group in equals.values()]
        return Pair([shape for parts in (pieces, groups) for shape in _by_intervals(_sorted(parts)).shapes])
    size = -(-len(ordered) // INTERVALS)
    return associate([associate(ordered[a : a + size]) for a in range(0, len(ordered), size)])


def _sorted(factors: Sequence[Expression]) -> list[Expression]:
    return sorted(factors, key=lambda factor: (factor.loose_cost, factor.strict_cost))


def _by_intervals(factors: Sequence[Expression]) -> Pair:
    """The product of two factors or more."""
    made: dict[tuple[int, int], Expression] = {(a, a + 1): factor for a, factor in enumerate(factors)}
    for size in range(2, len(factors) + 1):
        check()
        for a in range(len(factors) - size + 1):
            b = a + size
            shapes = [(made[a, m], made[m, b]) for m in range(a + 1, b)]
            whole = made[a, b] = Pair(_worth_keeping(shapes))
    return whole


def _worth_keeping(shapes: list[tuple[Expression, Expression]]) -> list[tuple[Expression, Expression]]:
    """The splits that are best under some contract; all of them while they are few."""
    if len(shapes) <= 8:
        return shapes
    rules = [
        [2 * f.loose_cost + 2 * g.loose_cost for f, g in shapes],
        [2 * f.loose_cost + g.strict_cost for f, g in shapes],
        [f.strict_cost + 2 * g.loose_cost for f, g in shapes],
    ]
    chosen = {costs.index(min(costs)) for costs in rules}
    return [shapes[s] for s in sorted(chosen | {0, len(shapes) - 1})]


@cache
def _count_splits(strict: int, loose: int, most: int) -> tuple[list[int], list[int]]:
    """For each count of factors that cost ``(strict, loose)`` the best split when everything is to
    be restored and the best under a loose contract; halves where all are hopeless."""
    strict_cost = np.full(most + 1, strict, dtype=np.int64)
    loose_cost = np.full(most + 1, loose, dtype=np.int64)
    strict_split, loose_split = [0, 0], [0, 0]
    for count in range(2, most + 1):
        check()
        strict_ways = 2 * loose_cost[1:count] + 2 * loose_cost[count - 1 : 0 : -1]
        loose_ways = 2 * loose_cost[1:count] + strict_cost[count - 1 : 0 : -1]
        strict_split.append(int(strict_ways.argmin()) + 1 if strict_ways.min() < CEILING else count // 2)
        loose_split.append(int(loose_ways.argmin()) + 1 if loose_ways.min() < CEILING else count // 2)
        strict_cost[count] = min(int(strict_ways[strict_split[-1] - 1]), CEILING)
        loose_cost[count] = min(int(loose_ways[loose_split[-1] - 1]), CEILING)
    return strict_split, loose_split


def _of_equals(factors: Sequence[Expression]) -> Expression:
    count = len(factors)
    if count == 1:
        return factors[0]
    if count <= 12:
        return _by_intervals(factors)
    base = factors[0]
    same = all(factor is base for factor in factors)
    if count > COUNTS and not same:
        half = count // 2
        return Pair([(_of_equals(factors[:half]), _of_equals(factors[half:]))])
    build = 0 if same else base.build
    extra = build if base.scalar_form is not MIXED else 0
    # A power of two, because the splits of fewer are the same and need not be found again.
    strict_split, loose_split = _count_splits(
        base.strict_cost + extra, base.loose_cost + extra, min(COUNTS, 1 << (count - 1).bit_length())
    )
    if same:
        return _power(base, count, strict_split, loose_split)
    made: dict[tuple[int, int], Expression] = {(a, a + 1): factor for a, factor in enumerate(factors)}

    def part(a: int, b: int) -> Expression:
        found = made.get((a, b))
        if found is None:
            cuts = {strict_split[b - a], loose_split[b - a]}
            found = made[a, b] = Pair([(part(a, a + cut), part(a + cut, b)) for cut in sorted(cuts)])
        return found

    return part(0, count)


def _power(base: Expression, count: int, strict_split: list[int], loose_split: list[int]) -> Expression:
    """``base^count``: parts of one size are one expression."""
    made: dict[int, Expression] = {1: base}

    def part(size: int) -> Expression:
        if size not in made:
            cuts = {strict_split[size], loose_split[size]} if size <= COUNTS else {size // 2}
            made[size] = Pair([(part(cut), part(size - cut)) for cut in sorted(cuts)])
        return made[size]

    return part(count)
