"""What is known of the nodes of a value graph before they are looked at: sizes, and errors step by step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .enclosures import UNIT
from .graph import ZERO, Graph, Product

__all__ = ["MINOR", "Factor", "Measures"]

#: Positive sums beyond this are not followed.
_HOPELESS = 2.0**400
#: The error that a range includes is not sought more closely when it is below this part of the range.
MINOR = 1 / 64
#: Work that may be spent on the errors of ranges.
_LATER_WORK = 100_000_000


class Factor(NamedTuple):
    """A scalar: its coefficients by variable (0: the constant) with exact and with rounded weights, and the roundings
    of its own products by noise, with their sizes."""

    exact: dict[int, Fraction]
    used: dict[int, Fraction]
    noises: dict[int, float]


class Measures(ABC):
    """Bounds of one program in variables between -1 and 1, by node of its graph: ``low`` and ``high`` of the exact
    value, which a subclass finds, and ``error_sizes``. ``known`` is false when that was too much.

    ``tops`` are sums over the graph with all terms positive, and scalars that are one at least; what a sweep over the
    graph loses is a part of them. ``sizes`` and ``changes`` bound the scalars and what rounding makes of them."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def __init__(self, graph: Graph, factors: Sequence[Factor], half_step: float) -> None:
        self.graph, self.half = graph, half_step
        used = sorted({node.form for node in graph.nodes if isinstance(node, Product)})
        self.factors = {form: factors[form] for form in used}
        self.variables = sorted(
            {v for f in self.factors.values() for v, c in f.exact.items() if v and (c or f.used[v])}
        )
        #: The nodes whose error was sought, and whether it was found.
        self.sought: dict[int, bool] = {}
        self.later = 0
        self.known = self._measure()

    def _measure(self) -> bool:
        """Sizes of all nodes; false when one is hopeless."""
        self.sizes: dict[int, float] = {}
        self.changes: dict[int, float] = {}
        self.noises: dict[int, float] = {}
        self.touches: dict[int, list[int]] = {}
        self.ops: dict[int, int] = {}
        #: How much a product with the form counts as work.
        self.weights: dict[int, int] = {}
        for form, factor in self.factors.items():
            larger = max(sum(map(abs, part.values())) for part in (factor.exact, factor.used))
            self.sizes[form] = max(1.0, float(larger) * (1 + UNIT) + sum(factor.noises.values()))
            change = sum(abs(factor.used[v] - c) for v, c in factor.exact.items())
            self.changes[form] = (float(change) + sum(factor.noises.values())) * (1 + UNIT)
            self.noises[form] = sum(factor.noises.values()) * (1 + UNIT)
            self.touches[form] = [int(bool(factor.exact.get(v) or factor.used.get(v))) for v in self.variables]
            self.ops[form] = 2 * len(factor.exact) + 2
            self.weights[form] = 1 + len(factor.noises)
        self.tops: list[float] = []
        self.depths: list[int] = []
        self.error_sizes: list[float] = []
        self.edges = 0
        for number, node in enumerate(self.graph.nodes):
            if isinstance(node, Product):
                size, noise = self.sizes[node.form], self.changes[node.form]
                top = self.tops[node.source] * size
                depth = self.depths[node.source] + self.ops[node.form]
                error = self.error_sizes[node.source] * size + noise * self.tops[node.source]
                error += self.half if node.zeros < 0 else 0.0
                self.edges += self.ops[node.form]
            elif number <= ZERO:
                top, depth, error = 1.0, 0, 0.0
            else:
                top, depth, error = self.tops[node.parent], self.depths[node.parent], self.error_sizes[node.parent]
                for part, count in node.parts:
                    top += abs(count) * self.tops[part]
                    error += abs(count) * self.error_sizes[part]
                    depth = max(depth, self.depths[part])
                depth += 2 * len(node.parts)
                self.edges += 2 * len(node.parts)
            if not (top < _HOPELESS and error < _HOPELESS):
                return False
            self.tops.append(top)
            self.depths.append(depth)
            self.error_sizes.append(error)
        self.growth = 1 + 8 * self.edges * UNIT
        self.error_sizes = [error * self.growth for error in self.error_sizes]
        return True

    def range(self, number: int) -> tuple[float, float]:
        """The least and the greatest actual value of a node."""
        error = self.error_sizes[number]
        pad = error * (1 + UNIT) + UNIT * max(abs(self.low[number]), abs(self.high[number]))
        return float(self.low[number] - pad), float(self.high[number] + pad)

    def settle(self, numbers: Sequence[int]) -> bool:
        """Go over the errors of all nodes again, step by step, and seek those of ``numbers`` where they have grown
        beyond what matters for the ranges; false when that was too much work."""
        wanted = set(numbers)
        sizes = np.maximum(-self.low, self.high)
        limit = MINOR * max((float(sizes[number]) for number in wanted), default=0.0)
        if any(self.noises.values()):
            # The roundings of a form multiply the error of what is read.
            limit = min(limit, 8 * MINOR)
        if all(self.error_sizes[number] <= limit for number in wanted):
            return True
        for number, node in enumerate(self.graph.nodes[2:], 2):
            if isinstance(node, Product):
                error = self.error_sizes[node.source] * self.sizes[node.form]
                error += self.changes[node.form] * float(sizes[node.source]) + (self.half if node.zeros < 0 else 0.0)
            else:
                error = self.error_sizes[node.parent]
                error += sum(abs(count) * self.error_sizes[part] for part, count in node.parts)
                if number in self.graph.ways:
                    error = min(error, sum(self.error_sizes[part] for part in self.graph.ways[number][:2]))
            self.error_sizes[number] = min(self.error_sizes[number], error * self.growth)
            if number in wanted and self.error_sizes[number] > limit:
                if self.later > _LATER_WORK:
                    return False
                self.error(number, enough=limit)
        return True

    @abstractmethod
    def error(self, target: int, enough: float = 0.0) -> float:
        """Bound the error of node ``target`` more closely than step by step, until it is below ``enough`` or as close
        as it can be."""
