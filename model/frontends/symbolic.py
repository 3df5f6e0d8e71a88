"""Expressions of SymPy as formulas.

Sums, products, powers and the functions that formulas know become what they are; equal parts become one. ``Max`` with
zero is a relu, ``1/(1 + exp(-x))`` a sigmoid. Numbers such as pi are taken with :data:`DIGITS` digits. What has no
formula is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NoReturn

import sympy
from skinny.model.errors import InputError
from skinny.model.formula.formula import Formula, constant, product, total
from skinny.model.formula.function import FUNCTIONS, apply
from skinny.model.names import element, vector_of
from skinny.model.program.reader import NAME

from .written import Written

__all__ = ["import_expressions"]

#: Digits of a number that is not rational.
DIGITS = 40
#: Functions of SymPy by their class, and how they are called here.
KNOWN = {getattr(sympy, name): name for name in FUNCTIONS if hasattr(sympy, name) and name not in ("sqrt", "inverse")}
#: Characters of an expression that a message shows.
SHOWN = 60


def import_expressions(given: Any) -> Written:
    """The formulas of an expression, which becomes the output ``y``, of an equation ``Eq(name, expression)``, of a
    polynomial, of a matrix, whose entries become ``y0``, ``y1`` and so on, or of several: a list, or a dict by name.
    Inputs are the symbols in the order of their names."""
    convert = _Converter()
    outputs: dict[str, Formula] = {}
    for name, expression in _named(given):
        if name in outputs:
            raise InputError(f"there are two outputs {name!r}")
        outputs[name] = convert(expression)
    if not outputs:
        raise InputError("the expression is empty")
    title = "; ".join(f"{name} = {expression}" for name, expression in _named(given))
    return Written(outputs, title, tuple(sorted(convert.symbols, key=_place)))


def _place(name: str) -> tuple[str, int]:
    """Where an input stands: symbols are sorted by name, elements of one vector by number."""
    return vector_of(name) or (name, -1)


def _named(given: Any) -> list[tuple[str, Any]]:
    """Expressions by the names of their outputs."""
    if isinstance(given, Mapping):
        return [pair for name, value in given.items() for pair in _parts(_output(name), value)]
    if isinstance(given, list | tuple):
        if len(given) == 1:
            return _parts("y0", given[0])
        return [pair for number, value in enumerate(given) for pair in _parts(element("y", number), value)]
    return _parts("y", given)


def _output(given: Any) -> str:
    name = given.name if isinstance(given, sympy.Symbol) else given
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InputError(f"the name of an output must be letters, digits and _, not {_shown(given)}")
    return name


def _parts(name: str, value: Any) -> list[tuple[str, Any]]:
    """What an output is, or its parts, if it is a matrix; an equation has a name of its own."""
    if isinstance(value, sympy.logic.boolalg.BooleanAtom):
        raise InputError(f"{value} is no expression: SymPy took both sides of an equation for certainly equal or not")
    if isinstance(value, sympy.Equality):
        if not isinstance(value.lhs, sympy.Symbol | sympy.MatrixSymbol):
            raise InputError(f"an equation says what a name is, Eq(y, …), not {_shown(value)}")
        return _parts(_output(value.lhs.name), value.rhs)
    if isinstance(value, sympy.Poly):
        return [(name, value.as_expr())]
    if isinstance(value, sympy.MatrixBase | sympy.NDimArray | sympy.MatrixExpr):
        if isinstance(value, sympy.MatrixExpr):
            value = value.as_explicit()
        entries = list(value) if isinstance(value, sympy.MatrixBase) else list(sympy.flatten(value.tolist()))
        return [(element(name, number), entry) for number, entry in enumerate(entries)]
    return [(name, value)]


class _Converter:
    """Expressions to formulas; equal expressions become one formula."""

    def __init__(self) -> None:
        self.known: dict[Any, Formula] = {}
        self.symbols: dict[str, Any] = {}

    def __call__(self, expression: Any) -> Formula:
        if isinstance(expression, int | float | Fraction):
            return constant(expression)
        if not isinstance(expression, sympy.Expr):
            _refuse(expression)
        stack = [expression]
        while stack:
            node = stack[-1]
            missing = [arg for arg in _arguments(node) if arg not in self.known] if node not in self.known else []
            if missing:
                stack += missing
                continue
            stack.pop()
            if node not in self.known:
                self.known[node] = self.formula(node)
        return self.known[expression]

    def formula(self, node: Any) -> Formula:
        """The formula of a node whose arguments are known."""
        args = [self.known[arg] for arg in _arguments(node)]
        if isinstance(node, sympy.Symbol):
            return self.variable(node, node.name)
        if isinstance(node, sympy.Indexed):
            return self.variable(node, _indexed(node, node.base.label.name, node.indices))
        if isinstance(node, sympy.matrices.expressions.matexpr.MatrixElement):
            return self.variable(node, _indexed(node, node.parent.name, _places(node)))
        if node.is_number and not node.has(sympy.I):
            return constant(_number(node))
        if isinstance(node, sympy.Add):
            return total(args)
        if isinstance(node, sympy.Mul):
            return product(args)
        if isinstance(node, sympy.Pow):
            return _sigmoid(node, self.known) or _power(node, args[0])
        if isinstance(node, sympy.exp):
            return apply("exp", args[0])
        if isinstance(node, sympy.Max) and len(node.args) == 2 and sympy.S.Zero in node.args:
            return apply("relu", next(self.known[arg] for arg in node.args if arg != 0))
        if type(node) in KNOWN and len(args) == 1:
            return apply(KNOWN[type(node)], args[0])
        _refuse(node)

    def variable(self, node: Any, name: str) -> Formula:
        if not NAME.fullmatch(name):
            raise InputError(f"the symbol {name!r} is not a name (letters, digits and _): rename it")
        if self.symbols.setdefault(name, node) != node:
            raise InputError(f"there are two different symbols {name!r}")
        return Formula("variable", value=name)


def _arguments(node: Any) -> tuple[Any, ...]:
    """The arguments that become formulas."""
    if isinstance(node, sympy.Pow):
        inner = _sigmoid_argument(node)
        return (inner,) if inner is not None else (node.base,) if not node.is_number else ()
    if node.is_number or isinstance(node, sympy.Indexed | sympy.matrices.expressions.matexpr.MatrixElement):
        return ()
    return tuple(arg for arg in node.args if isinstance(arg, sympy.Expr))


def _sigmoid_argument(node: Any) -> Any:
    """The ``x`` of ``1/(1 + exp(-x))``, or None."""
    terms = node.base.args if node.exp == -1 and isinstance(node.base, sympy.Add) else ()
    if len(terms) == 2 and sympy.S.One in terms:
        other = next(term for term in terms if term != 1)
        if isinstance(other, sympy.exp) and not other.is_number:
            return -other.args[0]
    return None


def _sigmoid(node: Any, known: Mapping[Any, Formula]) -> Formula | None:
    inner = _sigmoid_argument(node)
    return None if inner is None else apply("sigmoid", known[inner])


def _power(node: Any, base: Formula) -> Formula:
    exponent = node.exp
    if not exponent.is_Rational or exponent.q > 2:
        raise InputError(f"{_shown(node)} has no formula: exponents are whole numbers, or halves, which are roots")
    whole, half = divmod(abs(int(exponent.p)), int(exponent.q))
    parts = [base if whole == 1 else base**whole] if whole else []
    parts += [apply("sqrt", base)] * half
    found = parts[0] if len(parts) == 1 else product(parts)
    return found if exponent > 0 else 1 / found


def _number(node: Any) -> Fraction:
    """A number, exactly where it is rational or a float."""
    if not (node.is_real and node.is_finite):
        _refuse(node)
    if isinstance(node, sympy.Rational):
        return Fraction(int(node.p), int(node.q))
    exact = sympy.Rational(node if isinstance(node, sympy.Float) else sympy.N(node, DIGITS))
    return Fraction(int(exact.p), int(exact.q))


def _places(node: Any) -> tuple[Any, ...]:
    """The indices of an element of a matrix; one of them for a row or a column."""
    shape = node.parent.shape
    return tuple(i for i, size in zip((node.i, node.j), shape, strict=True) if size != 1) or (sympy.S.Zero,)


def _indexed(node: Any, name: str, places: tuple[Any, ...]) -> str:
    """The name of an element like ``x[3]``, which is ``x3``."""
    for place in places:
        if not (place.is_Integer and place >= 0):
            raise InputError(f"{_shown(node)} has no formula: an index is a whole number")
        name = element(name, int(place))
    return name


def _refuse(node: Any) -> NoReturn:
    kind = type(node).__name__
    known = ", ".join(sorted(KNOWN.values()))
    raise InputError(f"{_shown(node)} has no formula: {kind} is none of +, *, powers, Max(0, …), {known}")


def _shown(node: Any) -> str:
    text = str(node)
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
