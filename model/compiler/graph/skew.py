"""Skew: products of values without sums of registers.

A machine that is linear in its registers computes ``f·g`` as *f with g in place of one*. The graph of ``f`` is
walked from its end: what is multiplied with a value is handed on, group by group, to the values it is made of, until
only forms of inputs are left. So the sum of many products ``Σ f·g`` walks the graph of all ``f`` once.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

from skinny.model.compiler.polynomial import Coefficient
from skinny.model.limits import check

from .grouping import grouped
from .values import CONSTANT, ONE, UNIT, Group, Key, Value

__all__ = ["transposed"]


def transposed(
    values: Sequence[Value], products: Sequence[tuple[int, int]], number: Callable[[Value], int]
) -> list[Group]:
    """The groups whose sum is ``Σ f·g`` over the pairs of values ``(f, g)``; ``number`` numbers a new value."""
    handed: dict[int, list[Group]] = {}
    heap: list[int] = []
    for f, g in products:
        if f not in handed:
            heapq.heappush(heap, -f)
        handed.setdefault(f, []).append(Group(UNIT, g))
    out: list[Group] = []
    while heap:
        check()
        value = -heapq.heappop(heap)
        groups = _merged(handed.pop(value))
        multiplier = groups[0].base if len(groups) == 1 and groups[0].form == UNIT else number(Value(tuple(groups)))
        for form, base in values[value].groups:
            if base == ONE:
                out.append(Group(form, multiplier))
                continue
            if base not in handed:
                heapq.heappush(heap, -base)
            handed.setdefault(base, []).append(Group(form, multiplier))
    return _merged(out)


def _merged(groups: Sequence[Group]) -> list[Group]:
    """The groups with those of one base merged where that is not longer."""
    if len({group.base for group in groups}) == len(groups):
        return list(groups)
    bases: dict[int, dict[Key, Coefficient]] = {}
    for form, base in groups:
        terms = bases.setdefault(base, {})
        for key, c in form:
            terms[key] = terms.get(key, 0) + c
    return list(grouped(bases)) or [Group(((CONSTANT, 0),), ONE)]
