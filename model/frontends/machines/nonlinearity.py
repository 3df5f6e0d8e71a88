"""Nonlinearities of machines: functions of one value, as formulas, with their exact values and derivatives."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from skinny.model.errors import InputError
from skinny.model.formula.formula import Formula, postorder, refuse_function
from skinny.model.formula.function import RELU, apply

__all__ = ["NONLINEARITIES", "Nonlinearity", "applied", "expect_nonlinearity", "value_and_slope"]

#: What a nonlinearity is: None for none, one of :data:`NONLINEARITIES`, or a Python function of a formula.
Nonlinearity = None | str | Callable[[Formula], Formula]
NONLINEARITIES = (RELU, "square")


def expect_nonlinearity(given: Nonlinearity) -> None:
    """Raise :exc:`InputError` for what is no nonlinearity."""
    if given is None or given in NONLINEARITIES:
        return
    if not callable(given):
        known = ", ".join(map(repr, NONLINEARITIES))
        raise InputError(f"a nonlinearity must be None, {known} or a function of a formula, not {given!r}")
    applied(given, Formula("variable", value="x"))


def applied(nonlinearity: Nonlinearity, value: Formula) -> Formula:
    """The nonlinearity of a formula."""
    if nonlinearity is None:
        return value
    if nonlinearity == RELU:
        return apply(RELU, value)
    if nonlinearity == "square":
        return value**2
    assert callable(nonlinearity)
    found = nonlinearity(value)
    if not isinstance(found, Formula):
        raise InputError(f"a nonlinearity must give a formula, but {nonlinearity!r} gives {found!r}")
    return found


def value_and_slope(nonlinearity: Nonlinearity, at: Fraction) -> tuple[Fraction, Fraction]:
    """The exact value of a nonlinearity and its derivative, which of a relu at zero is zero."""
    variable = Formula("variable", value="x")
    found = applied(nonlinearity, variable)
    known: dict[int, tuple[Fraction, Fraction]] = {}
    for node in postorder(found):
        args = [known[id(arg)] for arg in node.args]
        match node.kind:
            case "variable":
                if node is not variable:
                    raise InputError(f"a nonlinearity is of one value, but it reads {node.value!r} too")
                pair = at, Fraction(1)
            case "constant":
                pair = node.value, Fraction(0)
            case "weight":
                pair = node.value.value, Fraction(0)
            case "sum":
                pair = sum((v for v, _ in args), Fraction(0)), sum((d for _, d in args), Fraction(0))
            case "product":
                value, slope = Fraction(1), Fraction(0)
                for v, d in args:
                    value, slope = value * v, slope * v + value * d
                pair = value, slope
            case "power":
                ((v, d),) = args
                pair = v**node.value, node.value * v ** max(node.value - 1, 0) * d
            case "relu":
                ((v, d),) = args
                pair = max(v, Fraction(0)), d * (v > 0)
            case _:
                refuse_function(node)
        known[id(node)] = pair
    return known[id(found)]
