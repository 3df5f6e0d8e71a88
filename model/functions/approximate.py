"""Approximate: formulas with functions to polynomials on a box, to an error.

Precondition: any formulas. Postcondition: the same outputs without functions, each with a bound of what that changes
over the whole box, at most the error that was asked for, and polynomials of the least degrees. Cost: some tens of
milliseconds for each part (:mod:`skinny.model.functions.split`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

import numpy as np
from skinny.model.errors import CheckError, InputError
from skinny.model.formula.formula import Formula, constant, postorder, product, total
from skinny.model.limits import check

from .interval import Interval, around_number
from .part import Polynomial, Search
from .prove import monomials
from .split import Box, split

__all__ = ["Approximation", "OutOfReachError", "approximate"]

#: A change of a part so small that only its first power counts.
SMALL = 2.0**-30
#: A refusal names an error that is so much larger than the one of the highest degree, so that asking for it succeeds.
SAFE = 1.03


class OutOfReachError(CheckError):
    """No polynomials give the error that was asked for. Those of the highest degree give ``reachable``, as ``why`` says
    in words. When ``whole``, the output is a function of one form."""

    def __init__(self, output: str, why: str, reachable: float, whole: bool) -> None:
        self.output, self.why, self.reachable, self.whole = output, why, reachable, whole
        super().__init__(f"output {output}: {why}")


@dataclass(frozen=True)
class Approximation:
    """An output without functions.

    ``error`` bounds the distance from the formula over the box when ``proven``, and is the largest that was seen
    otherwise. ``parts`` are the polynomials that stand for functions, and ``degree`` is the highest of theirs. When
    ``whole``, the output is a function of one form, and so one part and nothing else.
    """

    formula: Formula
    error: Fraction
    proven: bool
    degree: int
    parts: tuple[Polynomial, ...]
    whole: bool


def approximate(outputs: Mapping[str, Formula], box: Box, error: Fraction) -> dict[str, Approximation]:
    """Each output as a polynomial that is within ``error`` of it on ``box``, which has the range of every input (named
    weights have their own). Outputs without functions stay as they are. What is out of reach is refused with the
    :exc:`OutOfReachError` of the output that is furthest off."""
    if error <= 0:
        raise InputError(f"the error must be above zero, not {float(error):g}")
    out: dict[str, Approximation] = {}
    failed: list[OutOfReachError] = []
    for name, formula in outputs.items():
        nodes = list(postorder(formula))
        if any(node.kind == "function" for node in nodes):
            try:
                out[name] = _Output(name, formula, _ranges(nodes, box), error).solved()
            except OutOfReachError as unreachable:
                failed.append(unreachable)
        else:
            out[name] = Approximation(formula, Fraction(0), True, 0, (), False)
    if failed:
        raise max(failed, key=lambda unreachable: unreachable.reachable)
    return out


def _ranges(nodes: list[Formula], box: Box) -> Box:
    """The ranges of inputs and named weights."""
    out: dict[str, tuple[Fraction, Fraction]] = {}
    for node in nodes:
        if node.args or node.kind == "constant":
            continue
        name = node.value if isinstance(node.value, str) else node.value.name
        if name in box:
            out[name] = box[name]
        elif isinstance(node.value, str):
            raise InputError(f"functions need the range of every input: --box {name}=LOW:HIGH is missing")
        else:
            out[name] = node.value.low, node.value.high
        low, high = out[name]
        if low > high:
            raise InputError(f"the range of {name} ends before it begins: {float(low):g} to {float(high):g}")
    return out


class _Output:
    """One output on its way. ``weights`` say how many times the error of a part is in the output."""

    def __init__(self, name: str, formula: Formula, box: Box, error: Fraction) -> None:
        self.name = name
        self.error = error
        self.split = split(formula, box)
        self.searches = [Search(part) for part in self.split.parts]
        # The values of a part matter to what multiplies it only.
        self.values = [_between(*search.range()) for search in self.searches] if self.split.inner else []
        count = len(self.searches)
        self.weights = [
            float(self.change([Fraction(SMALL) * (index == part) for index in range(count)])) / SMALL
            for part in range(count)
        ]

    def solved(self) -> Approximation:
        """The polynomials of least degree whose proven errors make up for no more than the error that was asked for.
        Every part has the degree that it needs at least; then the part with the largest share gets more."""
        degrees = [self.raised(part, 0) for part in range(len(self.searches))]
        found: dict[tuple[int, int], Polynomial] = {}
        while True:
            check()
            shares = [
                weight * search.nearest(degree).error
                for weight, search, degree in zip(self.weights, self.searches, degrees, strict=True)
            ]
            if sum(shares) <= self.error:
                for part, degree in enumerate(degrees):
                    if (part, degree) not in found:
                        wanted = self.error / (Fraction(self.weights[part]) or 1)
                        found[part, degree] = self.searches[part].polynomial(degree, wanted)
                polynomials = [found[part, degree] for part, degree in enumerate(degrees)]
                reached = self.change([polynomial.error for polynomial in polynomials])
                if reached <= self.error:
                    break
            most = max(range(len(shares)), key=shares.__getitem__)
            degrees[most] = self.raised(most, degrees[most] + 1, self.searches[most].nearest(degrees[most]).error)
        return Approximation(
            formula=self.rebuilt(polynomials),
            error=reached,
            proven=all(polynomial.proven for polynomial in polynomials),
            degree=max(polynomial.degree for polynomial in polynomials),
            parts=tuple(polynomials),
            whole=not self.split.inner,
        )

    def raised(self, part: int, least: int, below: float = math.inf) -> int:
        """The least degree from ``least`` on that is nearer than ``below``, and near enough if there is no other
        part."""
        search, weight = self.searches[part], self.weights[part]
        near = min(float(self.error) / weight if weight else math.inf, math.nextafter(below, 0.0))
        degree = search.degree(near, least)
        return self.refuse(search) if degree is None else degree

    def refuse(self, search: Search) -> NoReturn:
        """Says what can be reached instead."""
        errors = [weight * s.reachable for weight, s in zip(self.weights, self.searches, strict=True)]
        reachable = SAFE * sum(errors)
        digit = 10.0 ** math.floor(math.log10(reachable) - 1)
        reachable = float(f"{math.ceil(reachable / digit) * digit:.2g}")
        which = f"the highest for the {len(search.points)} points of its table" if search.table else "the highest"
        why = f"{search.name} is out of reach on this box: a polynomial of degree {search.highest}, {which}, gives"
        raise OutOfReachError(self.name, f"{why} an error of {reachable:g}", reachable, not self.split.inner)

    def change(self, errors: list[Fraction]) -> Fraction:
        """A bound of what the output changes when each part changes by no more than its error."""
        if not self.split.inner:
            return errors[0]
        known: dict[int, tuple[Interval, Interval]] = {}  # the values of a node, and its changes
        for part, value, error in zip(self.split.parts, self.values, errors, strict=True):
            known[id(part.node)] = value, _between(-error, error)
        for node, (low, high) in self.split.ranges.items():
            known[node] = _between(low, high), _nothing()
        for inner in self.split.inner:
            args = [known[id(arg)] for arg in inner.args]
            value, change = args[0]
            for following in args[1:] if inner.kind != "power" else args * (inner.value - 1):
                if inner.kind == "sum":
                    value, change = value + following[0], change + following[1]
                else:
                    change = change * following[0] + value * following[1] + change * following[1]
                    value = value * following[0]
            known[id(inner)] = value, change
        largest = float(known[id(self.split.root)][1].magnitude()[0])
        if not math.isfinite(largest):
            raise InputError("a function is multiplied by what gets larger than any number on this box")
        return Fraction(largest)

    def rebuilt(self, polynomials: list[Polynomial]) -> Formula:
        """The output with polynomials for its parts."""
        known = {id(polynomial.source): _formula(polynomial) for polynomial in polynomials}
        for node in self.split.inner:
            known[id(node)] = Formula(node.kind, tuple(known.get(id(arg), arg) for arg in node.args), node.value)
        return known[id(self.split.root)]


def _between(low: Fraction, high: Fraction) -> Interval:
    return Interval(around_number(low).low, around_number(high).high)


def _nothing() -> Interval:
    return Interval(np.zeros(1), np.zeros(1))


def _formula(polynomial: Polynomial) -> Formula:
    """The sum of the powers of its form."""
    terms = []
    for power, coefficient in enumerate(monomials(polynomial.chebyshev)):
        if coefficient:
            factors = [polynomial.form**power if power > 1 else polynomial.form] if power else []
            unit = coefficient == 1 and factors
            terms.append(product(factors if unit else [constant(coefficient), *factors]))
    return total(terms)
