"""Bounds of polynomials from their values at nodes, without ever writing the polynomials down.

Every value of a program is a polynomial of the inputs, and so is what each rounding contributes to it. With the inputs
as ``cos θ``, they are trigonometric polynomials on a torus. One of them that is largest at ``θ*``, ``|p(θ*)| = M``, is
at least ``M·cos(n·δ)`` at a distance of ``δ``, when its degree is ``n`` and ``n·δ`` is below a right angle (M. Riesz).
So the values at nodes that leave no gap wider than ``2δ`` bound it everywhere:

    |p| <= max over the nodes of |p| / cos(n·δ).

With several inputs the cosines of all are multiplied, one input after the other. An input of degree one needs its two
ends only.

The bound holds for sums of absolute values too, because ``Σ |p_k|`` is the largest of ``Σ ±p_k`` over the signs. Each
rounding is a noise between -1 and 1 of half a step, so that the error of an output is

    Σ_k |q_k(x)|·half a step + |what rounded weights change|,

where ``q_k`` is the derivative of the output by the product ``k``: one sweep forwards for the values, one backwards for
the derivatives, at all nodes at once. Nodes in whose neighbourhood the sum cannot be largest are left out, and the gaps
between the others halved, until the cosine is near one.

The sweeps follow the value graph (``graph``), in floats or in whole numbers of steps of 2^-640. What they lose is at
most a sum over the graph with all its terms positive; where that is too much in floats, whole numbers are taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import cos, pi, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .degrees import Degrees
from .enclosures import UNIT
from .graph import ONE, ZERO, Graph, Product, Sum
from .measures import MINOR, Factor, Measures

__all__ = ["Nodes"]

Floats = NDArray[np.float64]

#: Nodes of the graph times points at which they are evaluated: in the first sweep, and in all later ones of an output.
#: A millisecond takes some 10^5 of them.
_FIRST_WORK, _LATER_WORK = 2_000_000, 4_000_000
#: The same for whole numbers, which are some fifty times slower than floats.
_WHOLE_WORK, _WHOLE_COST = 5_000_000, 20
#: Work on the errors of all outputs and ranges together, after which no error is sought.
_MOST_WORK = 400_000_000
#: Points for each degree of an input in the first sweep, if the work allows: the more, the tighter the ranges.
_DENSITIES = ((8, 1 / 16), (4, 1.0), (3, 1.0), (2, 4.0))
#: An error is not sought more closely than by the first factor; beyond the second one it counts as not found.
_CLOSE, _TIGHT = 1.02, 1.25
#: Points that are evaluated together at least, as far as there are gaps to be halved.
_TOGETHER = 100_000
#: Polynomials of a higher degree are not followed, nor are more variables.
_MOST_DEGREE, _MOST_VARIABLES = 512, 16
#: Multiplications for the coefficients of the ranges.
_COEFFICIENT_WORK = 20_000_000
#: Nodes are rounded to so many bits, which moves them by less than the slack on the circle.
_NODE_BITS, _SLACK = 48, 1e-6
_SHIFT = 640
#: What one operation loses, relative to the sum of absolute values.
_FLOAT_LOSS, _WHOLE_LOSS = UNIT, 2.0**-634


class _Form(NamedTuple):
    """A scalar at all points: exact, used, and their difference (None: nothing)."""

    exact: Any
    used: Any
    change: Floats | None


class _Values(NamedTuple):
    """The first sweep: the points, the scalars and the nodes there; ``floats`` are the nodes as floats."""

    forms: dict[int, _Form]
    nodes: dict[int, Any]
    whole: bool
    points: int

    def floats(self, node: int) -> Floats:
        value: Floats = self.nodes[node]
        return value.astype(np.float64) * 2.0**-_SHIFT if self.whole else value


class Nodes(Measures):
    """The bounds of one program in variables between -1 and 1. ``ranges`` and ``errors`` are by node of the graph;
    ``known`` is false when the variables are too many to evaluate all their combinations."""

    def __init__(self, graph: Graph, factors: Sequence[Factor], half_step: float) -> None:
        super().__init__(graph, factors, half_step)
        few = self.known and len(self.variables) <= _MOST_VARIABLES
        self.known = few and self._follow() and self._sweep()

    def _follow(self) -> bool:
        """The degrees of all nodes; false when they are too high."""
        products: list[int] = [0, 0]
        for node in self.graph.nodes[2:]:
            if isinstance(node, Product):
                products.append(products[node.source] + 1)
            else:
                products.append(max(products[node.parent], *(products[part] for part, _ in node.parts)))
        # No degree exceeds the number of products one after the other.
        most = min(
            max(products), _MOST_DEGREE, _COEFFICIENT_WORK // (4 * max(1, len(self.variables)) * len(self.graph.nodes))
        )
        try:
            scalars = {form: factor[:2] for form, factor in self.factors.items()}
            self.followed = Degrees(self.graph, scalars, self.variables, max(1, most))
            self.degrees = self.followed.values()
        except (OverflowError, ValueError):  # the degree, or a denominator that is zero modulo the prime
            return False
        return True

    def work(self, numbers: Sequence[int]) -> int:
        """What the evaluation of these nodes at one point counts."""
        products = [node.form for node in map(self.graph.nodes.__getitem__, numbers) if isinstance(node, Product)]
        forms = sum(self.ops[form] for form in set(products))
        return len(numbers) + sum(self.weights[form] for form in products) + forms

    @staticmethod
    def _pieces(degrees: Sequence[int], count: int, coarse: bool = False) -> list[int] | None:
        """How many gaps the nodes of each variable leave, for polynomials of these degrees in ``count`` nodes of the
        graph; None when there would be too many."""
        for density, share in _DENSITIES[-1:] if coarse else _DENSITIES:
            pieces = [degree if degree <= 1 else density * degree for degree in degrees]
            if prod(number + 1 for number in pieces) * count <= _FIRST_WORK * share:
                return pieces
        return None

    @staticmethod
    def _angles(pieces: Sequence[int]) -> tuple[Floats, list[float]]:
        """All combinations of the nodes, and half of the gaps between them."""
        lines = [np.linspace(0, pi, number + 1) if number else np.full(1, pi / 2) for number in pieces]
        angles = np.array([axis.ravel() for axis in np.meshgrid(*lines, indexing="ij")]) if lines else np.zeros((0, 1))
        return angles, [pi / (2 * number) + _SLACK if number > 1 else 0.0 for number in pieces]

    def _cosine(self, degrees: Sequence[int], gaps: Sequence[float]) -> float:
        """A lower bound of |p| at the nearest node over its maximum, for polynomials of these degrees."""
        return prod(max(0.0, cos(min(pi / 2, degree * gap))) for degree, gap in zip(degrees, gaps, strict=True))

    # Evaluation at points, given as one row of angles for each variable.

    def _values(self, angles: Floats, whole: bool, needed: Sequence[int]) -> _Values:
        """The nodes ``needed``, which are in their order and with all that they are made of."""
        x = np.rint(np.cos(angles) * 2.0**_NODE_BITS) / 2.0**_NODE_BITS
        count = x.shape[1]
        rows: Any = [[int(v) << _SHIFT - _NODE_BITS for v in row * 2.0**_NODE_BITS] for row in x] if whole else x
        place = dict(zip(self.variables, rows, strict=True))
        one: Any = np.full(count, 1 << _SHIFT if whole else 1.0, dtype=object if whole else np.float64)

        def evaluated(polynomial: dict[int, Fraction]) -> Any:
            out = one * 0
            for variable, c in polynomial.items():
                if c and whole:
                    row = place[variable] if variable else one
                    out = out + (np.asarray(row, dtype=object) * int(c * (1 << _SHIFT)) >> _SHIFT)
                elif c:
                    out = out + float(c) * (place[variable] if variable else one)
            return out

        forms: dict[int, _Form] = {}
        for form, factor in self.factors.items():
            exact = used = evaluated(factor.exact)
            change = None
            if factor.used != factor.exact:
                used = evaluated(factor.used)
                change = evaluated({v: factor.used[v] - c for v, c in factor.exact.items()})
                change = change.astype(np.float64) * 2.0**-_SHIFT if whole else change
            forms[form] = _Form(exact, used, change)
        nodes: dict[int, Any] = {ONE: one, ZERO: one * 0}
        for number in needed:
            node = self.graph.nodes[number]
            if isinstance(node, Product):
                product = forms[node.form].exact * nodes[node.source]
                nodes[number] = product >> _SHIFT if whole else product
            else:
                nodes[number] = self._added(nodes[node.parent], node, nodes)
        return _Values(forms, nodes, whole, count)

    @staticmethod
    def _added(total: Any, node: Sum, nodes: dict[int, Any]) -> Any:
        for part, count in node.parts:
            if count == 1:
                total = total + nodes[part]
            elif count == -1:
                total = total - nodes[part]
            else:
                total = total + count * nodes[part]
        return total

    def _sweep(self) -> bool:
        """The ranges of all nodes; false when there would be too many points."""
        nodes = self.graph.nodes
        count = self.work(range(len(nodes)))
        pieces = self._pieces([max(degrees) for degrees in zip(*self.degrees, strict=True)], count)
        if pieces is None:
            return False
        angles, self.gaps = self._angles(pieces)
        self.pieces = pieces
        read = sorted({*self.graph.read, *self.graph.sent})
        for whole in (False, True):
            found = self._values(angles, whole, range(2, len(nodes)))
            values = np.array([found.floats(number) for number in range(len(nodes))])
            low, high = values.min(axis=1), values.max(axis=1)
            sizes = np.maximum(-low, high)
            lost = _WHOLE_LOSS * np.array(self.depths) * np.array(self.tops) if whole else self._lost(sizes)
            pads = UNIT * sizes + lost
            if pads[read].max() <= max(MINOR * sizes[read].max() / 8, self.half):
                break
            if whole or angles.shape[1] * count > _WHOLE_WORK:
                return False
        self.cosines = np.array([max(1e-300, self._cosine(degree, self.gaps)) for degree in self.degrees])
        radius = (high - low) / 2 / self.cosines
        middle = (low + high) / 2
        self.low, self.high = middle - radius - pads, middle + radius + pads
        if values.size * max((number + 1 for number in pieces), default=1) <= _COEFFICIENT_WORK:
            self._narrow(values, low, high, pads)
        return True

    def _lost(self, sizes: Floats) -> Floats:
        """What floats lose in each node, step by step, when the values are at most ``sizes``."""
        out = [0.0, 0.0]
        for number, node in enumerate(self.graph.nodes[2:], 2):
            if isinstance(node, Product):
                lost = self.sizes[node.form] * (
                    out[node.source] + self.ops[node.form] * UNIT * float(sizes[node.source])
                )
            else:
                lost = out[node.parent] + len(node.parts) * UNIT * float(sizes[node.parent] + sizes[number])
                for part, count in node.parts:
                    lost += abs(count) * (out[part] + len(node.parts) * UNIT * float(sizes[part]))
            out.append(lost * (1 + UNIT))
        return np.array(out)

    def _narrow(self, values: Floats, low: Floats, high: Floats, pads: Floats) -> None:
        """Narrow the ranges by the coefficients of Chebyshev polynomials, ``cos kθ``: by the sum of their absolute
        values, and by the largest value at the nodes and what the second derivative allows between them."""
        shape = [pieces + 1 for pieces in self.pieces]
        coefficients = values.reshape(len(values), *shape)
        bend = np.zeros(())
        for axis, (pieces, gap) in enumerate(zip(self.pieces, self.gaps, strict=True)):
            k = np.arange(pieces + 1)
            ends = np.where((k == 0) | (k == pieces), 1.0, 2.0)
            if pieces:
                matrix = np.cos(np.outer(k, k) * pi / pieces) * ends / (2 * pieces) * ends[:, None]
                matrix = matrix if pieces > 1 else np.array([[0.5, 0.5], [0.5, -0.5]])
                coefficients = np.moveaxis(np.tensordot(coefficients, matrix, axes=(axis + 1, 1)), -1, axis + 1)
            bend = bend[..., None] + k * gap
        sizes = np.abs(coefficients.reshape(len(values), -1))
        # Nodes and values are rounded, and so is the transform.
        slack = sum((degree + 1) ** 2 for degree in self.pieces) * UNIT * sizes.shape[1]
        extra = pads + slack * np.maximum(-low, high) / self.cosines
        constant, rest = coefficients.reshape(len(values), -1)[:, 0], sizes[:, 1:].sum(axis=1)
        curved = (sizes * (bend.ravel() ** 2 / 2)).sum(axis=1)
        self.low = np.maximum(self.low, np.maximum(constant - rest, low - curved) - extra)
        self.high = np.minimum(self.high, np.minimum(constant + rest, high + curved) + extra)

    # Errors, from the derivatives of one node by all others.

    def error(self, target: int, enough: float = 0.0) -> float:
        self.sought[target] = False
        if self.later > _MOST_WORK:
            return self.error_sizes[target]
        try:
            derivatives = _Derivatives(self, target)
        except OverflowError:
            return self.error_sizes[target]
        pieces = self._pieces(derivatives.degrees, derivatives.count, coarse=enough > 0)
        if pieces is None:
            return self.error_sizes[target]
        angles, gaps = self._angles(pieces)
        whole, pad = False, derivatives.lost * _FLOAT_LOSS
        largest, best = 0.0, self.error_sizes[target]
        first, spent = True, 0
        while True:
            rounding, change = derivatives.totals(self._values(angles, whole, derivatives.order[::-1]))
            spent += angles.shape[1] * derivatives.count
            total = rounding + change
            largest = max(largest, float(total.max(initial=0.0)))
            feasible = not whole and angles.shape[1] * derivatives.count <= _WHOLE_WORK
            if feasible and pad > max(MINOR * largest, enough / 8):
                whole, pad, largest = True, derivatives.lost * _WHOLE_LOSS, 0.0
                continue
            cosine = self._cosine(derivatives.degrees, gaps)
            apart = self._cosine(derivatives.rounding_degrees, gaps)
            best = min(best, largest / cosine + pad)
            if first:
                best = min(best, float(rounding.max()) / apart + float(change.max()) / cosine + pad)
            if best <= max(enough, largest * _CLOSE + 2 * pad) or not any(gaps):
                break
            angles = angles[:, total >= largest * cosine * (1 - 1e-9)]
            while True:
                widest = max(range(len(gaps)), key=lambda v: gaps[v] * derivatives.degrees[v])
                angles = np.concatenate([angles, angles], axis=1)
                half = angles.shape[1] // 2
                angles[widest, :half] -= gaps[widest] / 2
                angles[widest, half:] += gaps[widest] / 2
                angles = angles[:, (angles[widest] >= 0) & (angles[widest] <= pi)]
                gaps = [gap / 2 + _SLACK if v == widest else gap for v, gap in enumerate(gaps)]
                enough = self._cosine(derivatives.degrees, gaps) * _CLOSE >= 1
                if enough or angles.shape[1] * derivatives.count > _TOGETHER:
                    break
            if spent + angles.shape[1] * derivatives.count > (_WHOLE_WORK if whole else _LATER_WORK):
                break
            first = False
        self.later += spent * (_WHOLE_COST if whole else 1)
        self.sought[target] = best <= max(enough, largest * _TIGHT + 2 * pad)
        best *= self.growth
        self.error_sizes[target] = min(best, self.error_sizes[target])
        return self.error_sizes[target]


class _Derivatives:
    """The derivatives of the node ``target`` by all that it is made of, and what they make of roundings and changes.
    ``degrees`` are those of the whole error, ``rounding_degrees`` those of the roundings of products alone; ``lost``
    is the sum of what the sweeps lose, in units of what one operation loses."""

    def __init__(self, bounds: Nodes, target: int) -> None:
        self.bounds, self.target = bounds, target
        nodes = bounds.graph.nodes
        sizes = {target: 1.0}
        #: The products and sums on the way, last first; the size of the error that each product makes.
        self.order: list[int] = []
        self.rounding: dict[int, float] = {}
        changed: list[int] = []
        lost = 0.0
        for number in range(target, ZERO, -1):
            size = sizes.get(number)
            if size is None:
                continue
            self.order.append(number)
            node = nodes[number]
            if isinstance(node, Sum):
                for part, count in ((node.parent, 1), *node.parts):
                    if part > ZERO:
                        sizes[part] = sizes.get(part, 0.0) + abs(count) * size
                continue
            error = bounds.half if node.zeros < 0 else 0.0
            error += bounds.noises[node.form] * bounds.error_sizes[node.source]
            if error:
                self.rounding[number] = error
            if bounds.changes[node.form]:
                changed.append(number)
            lost += size * (error + bounds.changes[node.form] * bounds.tops[node.source])
            if node.source > ZERO:
                sizes[node.source] = sizes.get(node.source, 0.0) + size * bounds.sizes[node.form]
        found = dict(zip(self.order, bounds.followed.derivatives(target, self.order), strict=True))
        none = [0] * len(bounds.variables)
        self.rounding_degrees = [max(column) for column in zip(none, *(found[n] for n in self.rounding), strict=True)]
        whole = [self.rounding_degrees]
        for number in changed:
            node = nodes[number]
            assert isinstance(node, Product)
            ways = (found[number], bounds.degrees[node.source], bounds.touches[node.form])
            whole.append([sum(column) for column in zip(*ways, strict=True)])
        self.degrees = [max(column) for column in zip(*whole, strict=True)]
        self.lost = 4 * bounds.edges * lost
        self.count = bounds.work(self.order)

    def totals(self, values: _Values) -> tuple[Floats, Floats]:
        """At each point, what the roundings of products and what everything else can make of the error."""
        graph, whole = self.bounds.graph.nodes, values.whole
        derivatives: dict[int, Any] = {self.target: values.nodes[ONE]}
        rounding, exact = np.zeros(values.points), np.zeros(values.points)
        noises: dict[int, Floats] = {}

        def reach(node: int, change: Any) -> None:
            old = derivatives.get(node)
            derivatives[node] = change if old is None else old + change

        for number in self.order:
            node, derivative = graph[number], derivatives.pop(number)
            if isinstance(node, Sum):
                for part, count in ((node.parent, 1), *node.parts):
                    if part > ZERO:
                        reach(part, derivative if count == 1 else count * derivative)
                continue
            form, factor = values.forms[node.form], self.bounds.factors[node.form]
            if node.source > ZERO:
                product = form.used * derivative
                reach(node.source, product >> _SHIFT if whole else product)
            floats = derivative.astype(np.float64) * 2.0**-_SHIFT if whole else derivative
            error = self.rounding.get(number)
            if error:
                rounding += error * np.abs(floats)
            if form.change is not None or factor.noises:
                reached = floats * values.floats(node.source)
                if form.change is not None:
                    exact += form.change * reached
                for noise, size in factor.noises.items():
                    noises[noise] = noises.get(noise, 0.0) + size * reached
        return rounding, np.abs(exact) + sum((np.abs(noise) for noise in noises.values()), np.zeros(values.points))
