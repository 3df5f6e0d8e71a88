"""Affine maps and quadratic forms of values, as formulas: terms in the order of the values, the bias last.

Zero coefficients make no term, so that what cannot matter costs nothing. A zero that is to stay, because a model that
is trained again may have another number there, is a tiny number in arrays (:func:`kept`), so that arithmetic on arrays
does not lose it, and zero again where it becomes a constant (:func:`number`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray
from skinny.model.formula.formula import Formula, constant, product, total

__all__ = ["Features", "Floats", "Products", "affine", "kept", "number", "rows"]

Floats = NDArray[np.float64]
#: What stands for a zero that stays, and what is smaller than any weight, but larger than that times any weight.
KEPT, SMALLEST = 2.0**-600, 2.0**-300


def kept(values: Floats, zeros: bool) -> Floats:
    """Weights of a model, of which with ``zeros`` also those stay that are zero."""
    return np.where(values == 0, KEPT, values) if zeros else values


def number(value: float) -> Formula:
    """A coefficient as a constant."""
    return constant(value if abs(value) > SMALLEST else 0)


def affine(values: Sequence[Formula], coefficients: Sequence[float], bias: float) -> Formula:
    """``Σ coefficients·values + bias``. Zero coefficients are left out, and a factor of one is not written."""
    terms = [
        value if coefficient == 1 else product([number(coefficient), value])
        for value, coefficient in zip(values, coefficients, strict=True)
        if coefficient
    ]
    if bias or not terms:
        terms.append(number(bias))
    return terms[0] if len(terms) == 1 else total(terms)


def rows(values: Sequence[Formula], matrix: Floats, bias: Floats) -> tuple[Formula, ...]:
    """A formula for each row of ``matrix·values + bias``."""
    return tuple(affine(values, row, end) for row, end in zip(matrix.tolist(), bias.tolist(), strict=True))


class Products:
    """The products of two of ``values``, each of which is one node, however often it is used."""

    def __init__(self, values: Sequence[Formula]) -> None:
        self.values = values
        self.pairs = list(combinations_with_replacement(range(len(values)), 2))
        self.nodes = [values[i] ** 2 if i == j else product([values[i], values[j]]) for i, j in self.pairs]

    def form(self, square: Floats, linear: Floats, bias: float) -> Formula:
        """``Σ square[i, j]·values[i]·values[j] + Σ linear·values + bias``."""
        both = square + square.T
        squares = [float(square[i, i] if i == j else both[i, j]) for i, j in self.pairs]
        return affine([*self.nodes, *self.values], [*squares, *linear.tolist()], bias)


@dataclass(frozen=True)
class Features:
    """What a step of a pipeline gives: ``matrix·values + offset``, which the next step may fold into its own."""

    values: tuple[Formula, ...]
    matrix: Floats
    offset: Floats

    @classmethod
    def of(cls, values: Sequence[Formula]) -> Features:
        """The values themselves."""
        return cls(tuple(values), np.eye(len(values)), np.zeros(len(values)))

    @property
    def separate(self) -> bool:
        """Whether every feature has one value of its own, at most."""
        used = self.matrix != 0
        return bool((used.sum(axis=0) <= 1).all() and (used.sum(axis=1) <= 1).all())

    def mapped(self, matrix: Floats, bias: Floats) -> Features:
        """``matrix·features + bias``: folded into one map where that has no more terms."""
        folded = Features(self.values, matrix @ self.matrix, matrix @ self.offset + bias)
        if self.separate or np.count_nonzero(folded.matrix) <= np.count_nonzero(matrix) + self.terms:
            return folded
        return Features(self.formulas, matrix, bias)

    def part(self, chosen: slice) -> Features:
        """Some of the features."""
        return Features(self.values, self.matrix[chosen], self.offset[chosen])

    @property
    def terms(self) -> int:
        """Terms that the features take when they become values."""
        plain = (np.count_nonzero(self.matrix, axis=1) == 1) & (self.matrix.max(axis=1) == 1) & (self.offset == 0)
        return int(np.count_nonzero(self.matrix[~plain]) + np.count_nonzero(self.offset))

    @cached_property
    def formulas(self) -> tuple[Formula, ...]:
        """The features as values, the same nodes each time."""
        return rows(self.values, self.matrix, self.offset)
