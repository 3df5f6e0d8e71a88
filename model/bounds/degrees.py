"""Degrees of the values of a program, and of their derivatives, in each variable.

Programs take away what they have added, and what is left has often a lower degree than its parts. So the polynomials
themselves are followed, modulo a prime, in one variable while all others have random values: a coefficient that is
zero there is zero. Two random points are taken; a degree comes out too low with a probability below (degree / 2^31)².
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skinny.model.program.modular import random_point, residue

from .graph import ZERO, Graph, Product

__all__ = ["Degrees"]

_PRIME = (1 << 31) - 1
_POINTS = 2

Coefficients = NDArray[np.uint64]


class Degrees:
    """The polynomials of ``graph`` in ``variables``, up to degree ``most``. A scalar is given by its coefficients with
    exact and with rounded weights; values take the former and derivatives the latter."""

    def __init__(
        self,
        graph: Graph,
        factors: Mapping[int, tuple[Mapping[int, Fraction], Mapping[int, Fraction]]],
        variables: Sequence[int],
        most: int,
    ) -> None:
        self.graph, self.count, self.most = graph, len(variables), most
        chance = random.Random(2)
        points = [random_point(chance, self.count, _PRIME) for _ in range(_POINTS)]
        self.exact: dict[int, Any] = {}
        self.used: dict[int, Any] = {}
        for number, factor in factors.items():
            for known, polynomial in zip((self.exact, self.used), factor, strict=True):
                known[number] = self._lines(polynomial, variables, points)

    def _lines(
        self, polynomial: Mapping[int, Fraction], variables: Sequence[int], points: Sequence[Sequence[int]]
    ) -> tuple[Coefficients, Coefficients]:
        """A scalar as ``a + b·(variable - its random value)``, for each point and variable."""
        slopes = [residue(polynomial.get(variable, Fraction(0)), _PRIME) for variable in variables]
        constant = residue(polynomial.get(0, Fraction(0)), _PRIME)
        totals = [(constant + sum(s * x for s, x in zip(slopes, point, strict=True))) % _PRIME for point in points]
        shape = (_POINTS, self.count, 1)
        values = np.array([[total] * self.count for total in totals], np.uint64)
        return values.reshape(shape), np.array([slopes] * _POINTS, np.uint64).reshape(shape)

    def _times(self, line: tuple[Coefficients, Coefficients], other: Coefficients) -> Coefficients:
        constant, slope = line
        out = other * constant
        out[..., 1:] += other[..., :-1] * slope
        if self.count and (other[..., -1:] * slope).any():
            raise OverflowError
        out %= np.uint64(_PRIME)
        return out

    def _unit(self) -> Coefficients:
        out = np.zeros((_POINTS, self.count, self.most + 1), np.uint64)
        out[..., 0] = 1
        return out

    def values(self) -> list[list[int]]:
        """The degrees of all nodes; :exc:`OverflowError` when one exceeds ``most``."""
        one = self._unit()
        polynomials = [one, one * np.uint64(0)]
        for node in self.graph.nodes[2:]:
            if isinstance(node, Product):
                polynomials.append(self._times(self.exact[node.form], polynomials[node.source]))
            else:
                total = polynomials[node.parent]
                for part, count in node.parts:
                    total = total + polynomials[part] * np.uint64(count % _PRIME)
                    total %= np.uint64(_PRIME)
                polynomials.append(total)
        return self._degrees(polynomials)

    def derivatives(self, target: int, order: Sequence[int]) -> list[list[int]]:
        """The degrees of the derivatives of node ``target`` by the nodes of ``order``, which lists what it is made of,
        last first."""
        polynomials: dict[int, Coefficients] = {target: self._unit()}
        found = []

        def reach(node: int, change: Coefficients) -> None:
            old = polynomials.get(node)
            polynomials[node] = change if old is None else (old + change) % np.uint64(_PRIME)

        for number in order:
            node, polynomial = self.graph.nodes[number], polynomials.pop(number)
            found.append(polynomial)
            if isinstance(node, Product):
                if node.source > ZERO:
                    reach(node.source, self._times(self.used[node.form], polynomial))
            else:
                for part, count in ((node.parent, 1), *node.parts):
                    if part > ZERO:
                        reach(part, polynomial * np.uint64(count % _PRIME) % np.uint64(_PRIME))
        return self._degrees(found)

    def _degrees(self, polynomials: Sequence[Coefficients]) -> list[list[int]]:
        if not polynomials:
            return []
        present = np.array(polynomials).any(axis=1)
        degrees: list[list[int]] = (present * np.arange(self.most + 1)).max(axis=-1, initial=0).tolist()
        return degrees
