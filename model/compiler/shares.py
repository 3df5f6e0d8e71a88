"""Shares: how much of an error the polynomials in place of functions take, and how much is left to rounding.

Precondition: formulas with functions, and an error. Postcondition: the program of the polynomials with the largest
share that rounding grants, which are those of the least degree; or a refusal that names an error that is granted when
it is asked for. Cost: an attempt at a program for each share whose polynomials differ; for a refusal one more, at
least.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import TypeVar

from skinny.model.errors import CheckError, InputError
from skinny.model.formula.formula import Formula
from skinny.model.functions.approximate import Approximation, OutOfReachError, approximate

from .goal import Precision
from .refuse import RefusalError, rounded_up

__all__ = ["share_error"]

#: The shares of the asked error that polynomials may take, tried in this order.
SHARES = (Fraction(511, 512), Fraction(7, 8), Fraction(1, 2), Fraction(1, 4), Fraction(1, 8))
#: An error that is so much larger than what polynomials can reach has room for rounding.
ROOM = 8 / 7
#: So many errors are tried until one is granted, which a refusal then names.
NAMED = 3

Made = TypeVar("Made")
#: Makes a program of polynomials to an error, or raises :exc:`RefusalError`.
Attempt = Callable[[Precision, Mapping[str, Approximation]], Made]


def share_error(outputs: Mapping[str, Formula], precision: Precision, attempt: Attempt[Made]) -> Made:
    """What the first ``attempt`` makes that succeeds."""
    if precision.error is None:
        raise InputError("a formula with functions needs an error that its polynomials may have: --error is missing")
    try:
        return _tried(outputs, precision, attempt)
    except OutOfReachError as unreachable:
        met = _met(outputs, precision, attempt, rounded_up(unreachable.reachable * ROOM)) if unreachable.whole else None
        asked = f"not {float(precision.error):.3g}: ask for"
        said = f" before rounding, {asked} more" if met is None else f"; with rounding {met:f} can be met, {asked} that"
        raise CheckError(f"{unreachable}{said}, or take a smaller box") from None
    except RefusalError as refused:
        # Other polynomials are tried when another error is asked for, so that it must be tried.
        met = _met(outputs, precision, attempt, refused.closest.error)
        raise RefusalError(precision, replace(refused.closest, error=met)) from None


def _tried(outputs: Mapping[str, Formula], precision: Precision, attempt: Attempt[Made]) -> Made:
    """The same with refusals that name what was met by some of the polynomials."""
    assert precision.error is not None
    refused: RefusalError | None = None
    degrees: list[int] = []
    for share in SHARES:
        try:
            made = approximate(outputs, precision.box, precision.error * share)
        except OutOfReachError as unreachable:
            if refused is None:
                raise
            made = approximate(outputs, precision.box, Fraction(unreachable.reachable))
        before, degrees = degrees, [part.degree for approximation in made.values() for part in approximation.parts]
        if degrees == before:  # the same polynomials
            continue
        try:
            return attempt(precision, made)
        except RefusalError as error:
            refused = error if refused is None else refused.or_closer(error)
    assert refused is not None
    raise refused


def _met(
    outputs: Mapping[str, Formula], precision: Precision, attempt: Attempt[Made], error: Decimal | None
) -> Decimal | None:
    """An error that is granted, from ``error`` on; none when none was found, or the limits do not allow to find one."""
    for _ in range(NAMED):
        if error is None:
            break
        try:
            _tried(outputs, replace(precision, error=Fraction(error)), attempt)
            return error
        except RefusalError as refused:
            error = refused.closest.error
        except InputError:  # the limits do not allow to find one; what was asked for is refused all the same
            return None
    return None
