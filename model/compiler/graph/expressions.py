"""Expressions: parts of a formula that are in no register yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from skinny.model.compiler.polynomial import Coefficient, plain

from .values import NONE, Key, TermForm

__all__ = ["Expression", "Factor", "add", "fits", "has_values", "reference", "scaled", "sum_of"]

#: A factor of a product: the number of a value, or a form.
Factor = int | TermForm

T = TypeVar("T")


@dataclass
class Expression:
    """``Σ linear + Σ pairs + Σ whole``: coefficients by key, coefficients of products of two factors, and forms with a
    coefficient that stay whole. ``shared``: it is used several times."""

    linear: dict[Key, Coefficient] = field(default_factory=dict)
    pairs: dict[tuple[Factor, Factor], Coefficient] = field(default_factory=dict)
    whole: dict[TermForm, Coefficient] = field(default_factory=dict)
    shared: bool = False

    @property
    def is_form(self) -> bool:
        """Whether it is linear in the inputs."""
        return not self.pairs and all(key[2] == NONE for key in self.linear)

    def terms(self) -> dict[Key, Coefficient]:
        """The linear part, with the whole forms merged into it."""
        out = dict(self.linear)
        for form, c in self.whole.items():
            for key, value in form:
                add(out, key, c * value)
        return out


def reference(value: int) -> Expression:
    """A value, as an expression."""
    return Expression({(NONE, NONE, value): 1})


def scaled(expression: Expression, scale: Coefficient) -> Expression:
    """The expression times a number."""
    if scale == 1:
        return expression
    return Expression(
        {key: scale if c == 1 else plain(c * scale) for key, c in expression.linear.items()},
        {pair: plain(c * scale) for pair, c in expression.pairs.items()},
        {form: plain(c * scale) for form, c in expression.whole.items()},
    )


def sum_of(members: Mapping[Factor, Coefficient]) -> Expression:
    """``Σ c·factor`` as terms."""
    out = Expression()
    for factor, c in members.items():
        if isinstance(factor, int):
            add(out.linear, (NONE, NONE, factor), c)
        else:
            for key, d in factor:
                add(out.linear, key, c * d)
    return out


def add(terms: dict[T, Coefficient], key: T, c: Coefficient) -> None:
    """``terms += c·key``, without leaving zeros behind."""
    total = terms.get(key, 0) + c
    if total:
        terms[key] = plain(total)
    else:
        terms.pop(key, None)


def has_values(factor: Factor) -> bool:
    """Whether a factor reads registers."""
    return isinstance(factor, int) or any(key[2] != NONE for key, _ in factor)


def fits(terms: Mapping[Key, Coefficient]) -> bool:
    """Whether the accumulator can build the terms with whatever coefficients: a form has one constant, and an input
    times a register takes no weight."""
    constants = sum(u == value == NONE for _, u, value in terms)
    return constants <= 1 and not any(u != NONE != value for _, u, value in terms)
