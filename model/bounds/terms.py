"""Bounds of programs of many variables from the terms of their polynomials.

The values of a program that computes and uncomputes are polynomials of few terms, however long it is: the registers of
a product of 64 variables hold sums of at most 44 partial products. So they are written down, along the value graph
(``graph``), with rounded weights and without the rounding of products. A variable is an input divided by its largest
absolute value, so that a product of inputs is one term wherever the box lies.

The error of a node, the difference between its word and its exact value, is made by the products before it. Product
``k`` makes at most

    d_k = half a step + (what rounding changes in its scalar)·(what is read, at most),

and the error of a node is at most ``Σ_k |q_k|·d_k``, where ``q_k`` is the derivative of the node by the product, again
a polynomial of few terms. A sweep from the node backwards finds them. It can stop anywhere: nodes that have been
reached, but not left yet, count with their own error, ``|q|·error``. That forgets what they have in common, so a sweep
goes on as long as it may, and the least bound on the way is taken. Nodes that are in use for long may cost more work,
since their errors count in many others.

The same sum bounds the differences between the word, the exact value and the polynomial, each from each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from heapq import heappop, heappush
from typing import NamedTuple

from .enclosures import UNIT
from .graph import ONE as NODE_ONE
from .graph import ZERO, Graph, Product
from .polynomials import ONE, Monomials, Polynomial
from .structure import dyadic

__all__ = ["Factor", "Terms"]

#: Terms that are added for the values and for the errors; a million takes about half a second. An eighth of the former
#: may be spent ahead of the share of the nodes that are done.
_VALUE_WORK, _ERROR_WORK = 14_000_000, 12_000_000
_AHEAD = 1 / 8
#: No sweep is made for an error below this part of the largest value.
_MINOR = 1 / 256
#: Values beyond this fit no word.
_HOPELESS = 2.0**64
#: Work is given to a node by this power of the number of nodes for which it is in use; a third is added for outputs.
_LIFE_POWER = 1.5


class Factor(NamedTuple):
    """A scalar as it is used: its coefficients by variable (0: the constant), a bound of the absolute value, and one of
    what rounding changes in it."""

    used: Mapping[int, Fraction]
    size: float
    change: float


#: A node that another one is made of, what it is multiplied with, and how often that is added.
_Part = tuple[int, Polynomial, int]


class Terms:
    """The bounds of one program by node of its graph: ``low`` and ``high`` of the polynomials of the nodes that are no
    products, ``errors`` of all. ``known`` is false when the values were too much work.

    The variables of the factors lie between -1 and 1. ``inputs`` has the middle and the radius of the range of an input
    by its variable; other variables stand for themselves."""

    def __init__(
        self,
        graph: Graph,
        factors: Sequence[Factor],
        inputs: Mapping[int, tuple[Fraction, Fraction]],
        half_step: float,
    ) -> None:
        self.graph, self.factors, self.half = graph, factors, half_step
        self.monomials = Monomials()
        self.made = self._made(inputs)
        self.low, self.high = [0.0] * len(self.made), [0.0] * len(self.made)
        self.errors = [0.0] * len(self.made)
        self.known = self._evaluate()
        #: What the values took.
        self.work = self.monomials.work
        if self.known:
            self._seek()

    def range(self, number: int) -> tuple[float, float]:
        """The least and the greatest word of a node."""
        error = self.errors[number] * (1 + UNIT)
        return self.low[number] - error, self.high[number] + error

    def _forms(self, inputs: Mapping[int, tuple[Fraction, Fraction]]) -> list[Polynomial]:
        """The factors as polynomials of the inputs, each divided by its largest absolute value."""
        keys: dict[int, int] = {}
        out = []
        for factor in self.factors:
            terms = {0: factor.used.get(0, Fraction(0))}
            for variable, c in factor.used.items():
                if variable and c:
                    middle, radius = inputs.get(variable, (Fraction(0), Fraction(1)))
                    largest = abs(middle) + radius
                    if variable not in keys:
                        keys[variable] = self.monomials.variable(
                            (middle - radius) / largest, (middle + radius) / largest
                        )
                    terms[0] -= c * middle / radius
                    terms[keys[variable]] = c * largest / radius
            out.append(self.monomials.polynomial(*dyadic(terms)))
        return out

    def _made(self, inputs: Mapping[int, tuple[Fraction, Fraction]]) -> list[list[_Part]]:
        """What each node is made of. A sum that is written out in the graph is taken as an instruction made it."""
        forms = self._forms(inputs)
        out: list[list[_Part]] = [[], []]
        for number, node in enumerate(self.graph.nodes[2:], 2):
            if isinstance(node, Product):
                out.append([(node.source, forms[node.form], 1)])
            else:
                way = self.graph.ways.get(number)
                base, parts = (way[0], (way[1:],)) if way else (node.parent, node.parts)
                out.append([(base, ONE, 1), *((part, ONE, count) for part, count in parts)])
        return out

    def _evaluate(self) -> bool:
        """The ranges of all nodes but products; false when that was too much work."""
        nodes = self.graph.nodes
        sums = {}
        last = [0] * len(nodes)
        for number, ((base, *_), *parts) in enumerate(self.made[2:], 2):
            if not isinstance(nodes[number], Product):
                # A product is the factor and the node that it reads.
                direct = [
                    (*self.made[part][0][:2], count) if part > ZERO else (part, ONE, count) for part, _, count in parts
                ]
                sums[number] = base, direct
                for part in (base, *(part for part, _, _ in direct)):
                    last[part] = number
        last[NODE_ONE] = last[ZERO] = len(nodes)
        values = {NODE_ONE: ONE, ZERO: Polynomial()}
        self.low[NODE_ONE] = self.high[NODE_ONE] = 1.0
        for number, (base, direct) in sums.items():
            alone = last[base] == number and all(part != base for part, _, _ in direct)
            value = values[base] if alone else values[base].copy()
            for part, factor, count in direct:
                self.monomials.add(value, values[part], factor, count)
            if self.monomials.work > _VALUE_WORK * (_AHEAD + number / len(nodes)) or not value.size() < _HOPELESS:
                return False
            for part in {base, *(part for part, _, _ in direct)}:
                if last[part] == number:
                    del values[part]
            value.shorten()
            values[number] = value
            self.low[number], self.high[number] = value.range()
        return True

    def _seek(self) -> None:
        """The errors of all nodes but products that are read or sent."""
        nodes, sent = self.graph.nodes, {*self.graph.sent}
        last = [0] * len(nodes)
        for number, made in enumerate(self.made):
            for part, _, _ in made:
                last[part] = number
                if isinstance(nodes[part], Product):
                    last[self.made[part][0][0]] = number
        wanted = {number for number in (*self.graph.read, *sent) if number > ZERO}
        lives = {number: max(1, last[number] - number) ** _LIFE_POWER for number in wanted}
        left, spent = sum(lives.values()), self.monomials.work
        minor = _MINOR * max((max(-self.low[number], self.high[number]) for number in wanted), default=0.0)
        #: What each product adds to the error of its source, and what the others add to those of their parts: nothing.
        self.own = [0.0] * len(nodes)
        for number, node in enumerate(nodes[2:], 2):
            if isinstance(node, Product):
                factor, (low, high) = self.factors[node.form], self.range(node.source)
                own = _times(factor.change, max(-low, high)) + (self.half if node.zeros < 0 else 0.0)
                error = _times(factor.size, self.errors[node.source]) + own
                self.own[number] = own * (1 + UNIT)
            else:
                error = sum(self.errors[part] * abs(count) for part, _, count in self.made[number])
            self.errors[number] = error * (1 + 4 * len(self.made[number]) * UNIT)
            left -= lives.get(number, 0.0)
            if number in sent or (number in wanted and not error <= minor):
                share = (_ERROR_WORK - self.monomials.work + spent) * lives[number] / (left + lives[number])
                reserve = _ERROR_WORK / (3 * len(sent)) if number in sent else 0.0
                self.errors[number] = self._swept(number, max(share, 0.0) + reserve)

    def _swept(self, target: int, most: float) -> float:
        """The error of node ``target`` by a sweep of at most ``most`` work, or what is known if that is less."""
        pending: dict[int, Polynomial] = {target: ONE}
        heap = [-target]
        #: The parts that the pending nodes have in the error.
        parts = {target: self.errors[target]}
        total, best = 0.0, self.errors[target]
        most += self.monomials.work
        while heap and total < best and self.monomials.work <= most:
            number = -heappop(heap)
            derivative = pending.pop(number)
            del parts[number]
            derivative.shorten()
            total += _times(derivative.size(), self.own[number])
            for part, factor, count in self.made[number]:
                if part > ZERO and derivative.terms:
                    if part not in pending:
                        pending[part] = Polynomial()
                        heappush(heap, -part)
                    self.monomials.add(pending[part], derivative, factor, count)
                    parts[part] = _times(pending[part].size(), self.errors[part])
            best = min(best, (total + sum(parts.values())) * (1 + len(self.made) * UNIT))
        return best


def _times(size: float, error: float) -> float:
    """What becomes of an error: nothing times one that is infinite is nothing."""
    return size * error if size else 0.0
