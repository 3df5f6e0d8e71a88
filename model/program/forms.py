"""Scalars of a program: what an instruction multiplies with, and what it costs to build in the accumulator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Accumulator",
    "Form",
    "Input",
    "Linear",
    "Step",
    "Weight",
    "accumulator_cost",
    "attention_cost",
    "attention_steps",
    "read_inputs",
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


#: A step of the accumulator: the term ``w[k]·x[u]`` as ``(k, u)``, the bias as ``(k, -1)``, a register as in ``sums``.
Step = tuple[int, int] | tuple[Input | Weight, int]


class Linear(NamedTuple):
    """The scalar ``Σ w[k]·x[u] + Σ s·R[i] + w[bias]``, built in the attention accumulator, one step for each term.

    ``sums`` are the terms with a register: ``(Weight(k), i)`` for ``w[k]·R[i]``, ``(Input(u), i)`` for ``x[u]·R[i]``. A
    form with registers has the value that it has where it is applied.
    """

    terms: tuple[tuple[int, int], ...]
    bias: int | None = None
    sums: tuple[tuple[Input | Weight, int], ...] = ()

    @property
    def registers(self) -> frozenset[int]:
        """The registers that the form reads."""
        return frozenset(register for _, register in self.sums)

    def steps(self) -> Counter[Step]:
        """The accumulator steps; a term listed twice counts twice."""
        steps: tuple[Step, ...] = (*self.terms, *self.sums)
        return Counter(steps if self.bias is None else (*steps, (self.bias, -1)))

    def numbered_steps(self) -> frozenset[tuple[Step, int]]:
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


class Accumulator:
    """The form that the accumulator holds while a program runs; None when it holds none that is still valid."""

    def __init__(self) -> None:
        self.held: Linear | None = None

    def hold(self, wanted: Linear) -> int:
        """Make the accumulator hold ``wanted``; returns the steps that this takes."""
        cost = attention_cost(self.held, wanted)
        self.held = wanted
        return cost

    def write(self, register: int) -> None:
        """A ``register`` is written: a form that reads it is no longer what the accumulator holds."""
        if self.held is not None and self.held.sums and register in self.held.registers:
            self.held = None

    def restart(self) -> None:
        """All registers are written."""
        if self.held is not None and self.held.sums:
            self.held = None


def attention_steps(forms: Sequence[Form], used: NDArray[np.int32]) -> int:
    """The accumulator steps of a program that uses ``forms``, which read no registers, in the order ``used``."""
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


def read_inputs(form: Form) -> list[int]:
    """The inputs that a form reads."""
    match form:
        case Input(u):
            return [u]
        case Linear(terms, _, sums):
            return [u for _, u in terms] + [scalar.u for scalar, _ in sums if isinstance(scalar, Input)]
    return []


def _renumbered_scalar(scalar: Input | Weight, inputs: Sequence[int], weights: Sequence[int]) -> Input | Weight:
    return Input(inputs[scalar.u]) if isinstance(scalar, Input) else Weight(weights[scalar.k])


def renumbered(forms: Iterable[Form], inputs: Sequence[int], weights: Sequence[int]) -> Iterable[Form]:
    """The ``forms`` with other indices: input ``u`` becomes ``inputs[u]``, weight ``k`` becomes ``weights[k]``."""
    for form in forms:
        match form:
            case Input() | Weight():
                yield _renumbered_scalar(form, inputs, weights)
            case Linear(terms, bias, sums):
                moved = tuple((weights[k], inputs[u]) for k, u in terms)
                read = tuple((_renumbered_scalar(scalar, inputs, weights), i) for scalar, i in sums)
                yield Linear(moved, None if bias is None else weights[bias], read)
