"""Grouping: which terms of a sum become one group.

Precondition: terms by the register they are multiplied with, or products of two factors. Postcondition: groups, as few
and as cheap as a greedy choice finds. Cost: ``n·log n``.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence

from skinny.model.compiler.polynomial import Coefficient

from .expressions import Factor
from .values import NONE, Group, Key, form_of, is_simple

__all__ = ["grouped", "hubs"]


def grouped(bases: Mapping[int, Mapping[Key, Coefficient]]) -> Iterator[Group]:
    """The groups of terms, given by base. Inputs and weights by themselves are a group each and need no accumulator; as
    soon as a base needs it, all of its terms go there, which is not longer and reads the base once."""
    for base, terms in bases.items():
        form = form_of(terms)
        if all(is_simple((term,)) for term in form):
            for term in form:
                yield Group((term,), base)
            continue
        # A form has one constant; a further one is a group of its own.
        constants = [term for term in form if term[0][1] == term[0][2] == NONE]
        for term in constants[1:]:
            yield Group((term,), base)
        yield Group(tuple(term for term in form if term not in constants[1:]), base)


def hubs(
    pairs: Mapping[tuple[Factor, Factor], Coefficient], sizes: Sequence[int]
) -> Iterator[tuple[Factor, dict[Factor, Coefficient]]]:
    """The products ``Σ c·a·b`` as ``hub·Σ c·member``, the factor with most products first. Among equals, values come
    before forms and those that need few instructions before others."""
    members: dict[Factor, dict[Factor, Coefficient]] = {}
    for (a, b), c in pairs.items():
        members.setdefault(a, {})[b] = members.get(a, {}).get(b, 0) + c
        if a != b:
            members.setdefault(b, {})[a] = members[a][b]
    order = {factor: number for number, factor in enumerate(members)}

    def entry(factor: Factor) -> tuple[int, bool, int, int, Factor]:
        size = sizes[factor] if isinstance(factor, int) else 0
        return -len(members[factor]), not isinstance(factor, int), size, order[factor], factor

    heap = [entry(factor) for factor in members]
    heapq.heapify(heap)
    while heap:
        count, _, _, _, factor = heapq.heappop(heap)
        found = members[factor]
        if not found:
            continue
        if -count != len(found):
            heapq.heappush(heap, entry(factor))
            continue
        members[factor] = {}
        for other in found:
            if other != factor:
                del members[other][factor]
        yield factor, found
