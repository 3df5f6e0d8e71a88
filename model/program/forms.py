"""Scalars of a program: what an instruction multiplies with, and what it costs to build in the accumulator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Form",
    "Input",
    "Linear",
    "Weight",
    "accumulator_cost",
    "attention_cost",
    "attention_steps",
    "renumbered",
]


# Not tuples: ``Input(0)`` and ``Weight(0)`` must differ as keys and in comparisons.
@dataclass(frozen=True, slots=True)
class Input:
    """The scalar ``x[u]``."""

    u: int


@dataclass(frozen=True, slots=True)
class Weight:
    """The scalar ``w[k]``."""

    k: int


class Linear(NamedTuple):
    """The scalar ``Σ w[k]·x[u] + w[bias]``, built in the attention accumulator, one step for each term."""

    terms: tuple[tuple[int, int], ...]
    bias: int | None = None

    def steps(self) -> Counter[tuple[int, int]]:
        """The accumulator steps as ``(k, u)``, the bias as ``(k, -1)``; a term listed twice counts twice."""
        return Counter(self.terms if self.bias is None else (*self.terms, (self.bias, -1)))

    def numbered_steps(self) -> frozenset[tuple[tuple[int, int], int]]:
        """The steps as a set: a step is there with each of the numbers from 0 to one less than its count."""
        return frozenset((step, number) for step, count in self.steps().items() for number in range(count))


Form = Input | Weight | Linear


def accumulator_cost(held: Set[Hashable], wanted: Set[Hashable]) -> int:
    """Steps that make the accumulator hold the terms ``wanted`` when it holds the terms ``held``: built anew, or single
    terms added and taken away, which is bit-exact in every ring because a term's rounded product is always the same."""
    return min(len(wanted), len(held ^ wanted))


def attention_cost(held: Linear | None, wanted: Linear) -> int:
    """Steps that make the accumulator hold ``wanted`` when it holds ``held`` (None: nothing)."""
    return accumulator_cost(frozenset() if held is None else held.numbered_steps(), wanted.numbered_steps())


def attention_steps(forms: Sequence[Form], used: NDArray[np.int32]) -> int:
    """The accumulator steps of a program that uses ``forms`` in the order ``used``."""
    linear = np.array([isinstance(form, Linear) for form in forms], dtype=bool)
    if not linear.any():
        return 0
    order = used[linear[used]]
    if not len(order):
        return 0
    steps = 0
    before = np.concatenate([[-1], order[:-1]])
    pairs, counts = np.unique(np.stack([before, order]), axis=1, return_counts=True)
    for (held, wanted), count in zip(pairs.T.tolist(), counts.tolist(), strict=True):
        if held != wanted:
            earlier, later = forms[held] if held >= 0 else None, forms[wanted]
            assert isinstance(later, Linear)
            assert not isinstance(earlier, Input | Weight)
            steps += count * attention_cost(earlier, later)
    return steps


def renumbered(forms: Iterable[Form], inputs: Sequence[int], weights: Sequence[int]) -> Iterable[Form]:
    """The ``forms`` with other indices: input ``u`` becomes ``inputs[u]``, weight ``k`` becomes ``weights[k]``."""
    for form in forms:
        match form:
            case Input(u):
                yield Input(inputs[u])
            case Weight(k):
                yield Weight(weights[k])
            case Linear(terms, bias):
                moved = tuple((weights[k], inputs[u]) for k, u in terms)
                yield Linear(moved, None if bias is None else weights[bias])
