"""Functions of one argument that are no polynomials: the known ones, Python callables and tables.

A function in a formula becomes a polynomial on a box, to an error (:mod:`skinny.model.functions`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction

from skinny.model.errors import InputError
from skinny.model.rings import Number, exact_number

from .formula import Formula, constant
from .hints import unknown_function

__all__ = [
    "FUNCTIONS",
    "RELU",
    "Sampled",
    "apply",
    "cos",
    "erf",
    "exp",
    "log",
    "sigmoid",
    "sin",
    "sqrt",
    "tan",
    "tanh",
]

#: The functions that a formula can name. ``inverse(x)`` is what a divisor becomes, and is written ``1/x``.
FUNCTIONS = ("sin", "cos", "tan", "exp", "log", "sqrt", "tanh", "sigmoid", "erf", "inverse")
#: The positive part of its argument, ``max(x, 0)``. The core has an operation for it, so that it never becomes a
#: polynomial.
RELU = "relu"
#: A table of fewer points says nothing about what is between them.
FEWEST_POINTS = 3


class Sampled:
    """A function that is known by its values only: a Python callable, or a table of its points in rising order. What a
    polynomial makes of it can be measured, not proven."""

    __slots__ = ("call", "name", "points")

    def __init__(
        self,
        function: Callable[[float], float] | Iterable[tuple[Number, Number]],
        name: str = "",
    ) -> None:
        self.call: Callable[[float], float] | None = None
        self.points: tuple[tuple[Fraction, Fraction], ...] = ()
        if callable(function):
            self.call = function
            self.name = name or getattr(function, "__name__", "function").strip("<>")
            return
        self.name = name or "table"
        try:
            self.points = tuple((exact_number(x), exact_number(y)) for x, y in function)
        except InputError:  # a number that is none has its own message
            raise
        except (TypeError, ValueError):
            raise InputError("a table must be pairs of numbers, such as [(0, 1), (0.5, 1.2), (1, 1.7)]") from None
        if len(self.points) < FEWEST_POINTS:
            raise InputError(f"a table needs at least {FEWEST_POINTS} points, not {len(self.points)}")
        for (before, _), (after, _) in zip(self.points, self.points[1:], strict=False):
            if before >= after:
                why = "twice" if before == after else f"after {float(before):g}"
                raise InputError(f"the points of a table must rise, but {float(after):g} stands {why}: sort them")

    def __call__(self, argument: Formula | Number) -> Formula:
        """The function of ``argument``, as a formula."""
        return apply(self, argument)

    def __str__(self) -> str:
        return self.name


def apply(function: str | Sampled, argument: Formula | Number) -> Formula:
    """``function`` of ``argument``, as a formula; a function is a name of :data:`FUNCTIONS`, :data:`RELU` or a
    :class:`Sampled`."""
    if function == RELU:
        return Formula(RELU, (argument if isinstance(argument, Formula) else constant(argument),))
    if isinstance(function, str) and function not in FUNCTIONS:
        raise InputError(unknown_function(function, (*FUNCTIONS, RELU)))
    return Formula("function", (argument if isinstance(argument, Formula) else constant(argument),), function)


def _known(name: str) -> Callable[[Formula | Number], Formula]:
    def function(argument: Formula | Number) -> Formula:
        return apply(name, argument)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``{name}`` of ``argument``, as a formula."
    return function


# What is written 1/x needs no name here: formulas can be divided.
sin, cos, tan, exp, log, sqrt, tanh, sigmoid, erf = map(_known, FUNCTIONS[:-1])
