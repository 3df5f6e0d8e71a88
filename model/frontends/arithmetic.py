"""Arithmetic with values that are exact fractions or formulas, in which what is zero or one leaves no trace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from skinny.model.formula.formula import Formula, constant, product, total
from skinny.model.rings import exact_number

__all__ = ["Value", "as_formula", "dot", "form", "plus", "times", "value_of"]

#: What is computed with.
Value = Formula | Fraction


def value_of(given: Any) -> Value:
    """A formula, or a number as a fraction."""
    return given if isinstance(given, Formula) else exact_number(given)


def as_formula(value: Value) -> Formula:
    """The value as a formula."""
    return value if isinstance(value, Formula) else constant(value)


def plus(terms: Iterable[Value]) -> Value:
    """The sum of ``terms``."""
    rest = Fraction(0)
    formulas = []
    for term in terms:
        if isinstance(term, Formula):
            formulas.append(term)
        else:
            rest += term
    parts = [*formulas, *([constant(rest)] if rest else [])]
    return rest if not formulas else parts[0] if len(parts) == 1 else total(parts)


def times(factors: Iterable[Value]) -> Value:
    """The product of ``factors``."""
    scale = Fraction(1)
    formulas = []
    for factor in factors:
        if isinstance(factor, Formula):
            formulas.append(factor)
        else:
            scale *= factor
    if not formulas or not scale:
        return scale
    parts = [*([constant(scale)] if scale != 1 else []), *formulas]
    return parts[0] if len(parts) == 1 else product(parts)


def dot(left: Iterable[Value], right: Iterable[Value]) -> Value:
    """The sum of the products of pairs."""
    return plus(times(pair) for pair in zip(left, right, strict=True))


def form(weights: Sequence[Fraction], values: Sequence[Value]) -> Value:
    """The linear form ``Σ w·x``."""
    return plus(times((w, v)) for w, v in zip(weights, values, strict=True) if w)
