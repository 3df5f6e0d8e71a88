"""Candidates: the ways to compute a polynomial that the passes find, with their costs, before any code is compared.

Precondition: a polynomial over a table of atoms. Postcondition: expressions with their exact lengths, or code. For
fixed point, where another program may be more precise, more ways are given than for the shortest program alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ParamSpec, TypeVar

from skinny.model.limits import DigitsError, current

from .code import Affine, Code
from .contracts import CEILING, Expression
from .emit import predict
from .goal import Ends, Goal
from .passes.chain import chain
from .passes.factor import bisect, expand, horner
from .passes.ladder import ladder
from .passes.rebalance import rebalance
from .passes.rescale import rescale
from .passes.univariate import in_one_form, recurrence, recurrences
from .polynomial import Polynomial, Table
from .shapes import Shaper, least_cost

__all__ = ["Candidate", "candidates", "form_ends"]

#: Nested forms that are tried, and how many factors their monomials may have together.
VARIANTS = 24
VARIED = 2_000
#: Shapes that are also tried rebalanced, as a recurrence and as a ladder: as given, expanded, nested.
FEW = 4
#: Shapes of at most this cost, as far as it is known before, are also tried without single decisions.
SMALL_COST = 64
#: Polynomials with more monomials are not tried in every shape.
LARGE = 1_000
#: Shapes are given up when the bound of their products, or their cost, both on three registers and restoring most of
#: them, is this many times the limit: on 16 registers, clean, products were seen to take an eighth.
WIDE_PRODUCTS = 16
WIDE_SHAPES = 64

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Candidate:
    """One way to compute an output, which the pass ``source`` found: code, or an expression still to be emitted, or
    neither when it is hopeless. ``without`` names the decision that it leaves out, one that is good for most programs
    but not for all."""

    source: str
    cost: int
    length: int
    made: Expression | Code | None = None
    without: str = ""


def candidates(polynomial: Polynomial, table: Table, goal: Goal) -> Iterator[Candidate]:
    """Ways to compute the polynomial. A large one is tried in its nested form only: it is by far the shortest then."""
    expanded = _attempt(expand, table, polynomial) if goal.uses("factor") else None
    if not polynomial or expanded == {}:
        yield _written("contracts", Code.of([], goal.code_start))
        return
    large = len(polynomial) > LARGE
    shapes: list[Polynomial] = []
    if expanded is None or not large:
        shapes.append(polynomial)
        yield from _shaped("contracts", polynomial, table, goal)
    if expanded is not None:
        factors = sum(exponent for monomial in expanded for _, exponent in monomial)
        variants = min(VARIANTS, 1 + VARIED // (1 + factors))
        nested = _attempt(horner, table, expanded, variants) or []
        halved = (None if large else _attempt(bisect, table, expanded)) or []
        for shape in [*nested, *halved] if large and nested else [expanded, *nested, *halved]:
            if shape not in shapes:
                shapes.append(shape)
                yield from _shaped("factor", shape, table, goal)
    if goal.uses("rebalance"):
        for shape in shapes[:FEW]:
            balanced = _attempt(rebalance, table, shape, goal.clean)
            if balanced is not None:
                yield from _shaped("rebalance", balanced, table, goal)
    if goal.box is not None and goal.uses("rescale"):
        for shape in [shape for shape in shapes[:FEW] if least_cost(table, shape) <= SMALL_COST]:
            for scaled in _attempt(rescale, table, shape, goal.box, goal.bits) or []:
                if scaled not in shapes:
                    yield from _shaped("rescale", scaled, table, goal)
    if not goal.clean:
        for shape in shapes[:FEW] if goal.uses("chain") else ():
            code = chain(table, shape, goal.code_start)
            if code is not None:
                yield _written("chain", code)
                break
        return
    for shape in shapes[:FEW]:
        if goal.uses("univariate"):
            found = in_one_form(shape, table.sums, len(table.names))
            if found is not None and (goal.attention or len(found[0].terms) + (found[0].bias != 0) == 1):
                code = _attempt(recurrence, *found, goal.code_start, goal.attention)
                if code is not None:
                    yield _written("univariate", code)
                if goal.box is not None and goal.attention:
                    codes = _attempt(list, recurrences(*found, form_ends(found[0], goal.box), goal.code_start)) or []
                    yield from (replace(_written("univariate", code), without="length") for code in codes)
        if goal.uses("ladder"):
            code = ladder(table, shape, goal.attention, goal.code_start)
            if code is not None:
                yield _written("ladder", code)


def _attempt(make: Callable[P, T], *args: P.args, **options: P.kwargs) -> T | None:
    """The result of ``make``, or none when its numbers get too long."""
    try:
        return make(*args, **options)
    except DigitsError:
        return None


def _shaped(source: str, polynomial: Polynomial, table: Table, goal: Goal) -> Iterator[Candidate]:
    """The polynomial as it stands; for small formulas also without single decisions, which can be better."""
    if least_cost(table, polynomial) > WIDE_PRODUCTS * current().length:
        yield Candidate(source, CEILING, CEILING)
        return
    decided = (goal.attention, goal.uses("telescope"), goal.uses("associate"), goal.uses("contracts"), True)
    variants = {decided: ""}
    if goal.attention and len(table.sums) <= LARGE:
        variants.setdefault((False, *decided[1:]), "attention")
    if least_cost(table, polynomial) <= SMALL_COST:
        variants.setdefault((*decided[:4], False), "order")
        variants.setdefault((*decided[:3], False, True), "contracts")
        variants.setdefault((decided[0], False, *decided[2:]), "telescope")
        variants.setdefault((*decided[:2], False, *decided[3:]), "associate")
        # The terms are ordered by what blocks cost that keep their order of factors.
        variants.setdefault((*decided[:2], False, decided[3], False), "associate, order")
        if not goal.attention:
            # Without linear forms as scalars, sums are what most decisions are about: two of them may be left out.
            variants.setdefault((decided[0], False, decided[2], False, True), "telescope, another")
            variants.setdefault((decided[0], False, False, *decided[3:]), "telescope, another")
    for options, without in variants.items():
        expression = Shaper(table, *options).shape(polynomial)
        if expression.loose_cost > WIDE_SHAPES * current().length:
            yield Candidate(source, CEILING, CEILING, without=without)
        else:
            contract = goal.block_contract
            length = predict(expression, contract)
            yield Candidate(source, expression.full(contract), length, expression, without)


def _written(source: str, code: Code) -> Candidate:
    return Candidate(source, code.cycles, len(code), code)


def form_ends(form: Affine, box: Sequence[Ends]) -> Ends:
    """The least and the greatest value of a form on the box."""
    low = high = Fraction(form.bias)
    for u, c in form.terms:
        ends = [c * end for end in box[u]]
        low, high = low + min(ends), high + max(ends)
    return low, high
