"""Formulas: polynomials as a person writes them, kept as a graph.

A node is a constant, a variable, a named weight, a sum, a product, a power, a relu (the positive part of its argument)
or a function of one argument, which is no polynomial until :mod:`skinny.model.functions` makes it one. Nodes are
immutable and may be shared; sums and products take any number of arguments. Nothing here recurses, so depth and size
are limited by memory only: build large formulas with :func:`total` and :func:`product`, or with ``+`` and ``*`` in a
loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, NoReturn

from skinny.model.errors import InputError
from skinny.model.named_weight import NamedWeight
from skinny.model.rings import Number, Ring, exact_number

__all__ = [
    "CEILING",
    "Facts",
    "Formula",
    "Operations",
    "constant",
    "evaluate",
    "facts",
    "formula_text",
    "operations",
    "postorder",
    "product",
    "refuse_function",
    "total",
    "variables",
    "weight",
]

#: Characters of a formula that are printed.
SHOWN = 200
#: Bits of a number that is printed.
SHOWN_BITS = 256
#: Lengths and bounds from here on are reported as "at least this".
CEILING = 1 << 200


class Formula:
    """A node of a formula. ``kind`` is ``constant``, ``variable``, ``weight``, ``sum``, ``product``, ``power``,
    ``relu`` or ``function``; ``value`` is the number, the name, the :class:`NamedWeight`, the exponent, or the
    function: a name of :data:`skinny.model.formula.function.FUNCTIONS` or a
    :class:`~skinny.model.formula.function.Sampled`."""

    __slots__ = ("args", "kind", "value")

    def __init__(self, kind: str, args: tuple[Formula, ...] = (), value: Any = None) -> None:
        self.kind = kind
        self.args = args
        self.value = value

    def __repr__(self) -> str:
        return formula_text(self)

    def __add__(self, other: Formula | Number) -> Formula:
        return Formula("sum", (self, _formula(other)))

    def __radd__(self, other: Number) -> Formula:
        return Formula("sum", (_formula(other), self))

    def __neg__(self) -> Formula:
        return Formula("product", (MINUS_ONE, self))

    def __sub__(self, other: Formula | Number) -> Formula:
        return Formula("sum", (self, -_formula(other)))

    def __rsub__(self, other: Number) -> Formula:
        return Formula("sum", (_formula(other), -self))

    def __mul__(self, other: Formula | Number) -> Formula:
        return Formula("product", (self, _formula(other)))

    def __rmul__(self, other: Number) -> Formula:
        return Formula("product", (_formula(other), self))

    def __truediv__(self, other: Formula | Number) -> Formula:
        if isinstance(other, Formula):
            return Formula("product", (self, Formula("function", (other,), "inverse")))
        if exact_number(other) == 0:
            raise InputError("a formula cannot be divided by zero")
        return Formula("product", (constant(1 / exact_number(other)), self))

    def __rtruediv__(self, other: Number) -> Formula:
        return constant(other) / self

    def __pow__(self, exponent: int) -> Formula:
        if not isinstance(exponent, int) or exponent < 0:
            raise InputError(f"an exponent must be a whole number from 0 on, not {exponent!r}")
        return Formula("power", (self,), exponent)


def constant(value: Number) -> Formula:
    """``value`` as a formula."""
    return Formula("constant", value=exact_number(value))


MINUS_ONE = constant(-1)


def _formula(value: Formula | Number) -> Formula:
    return value if isinstance(value, Formula) else constant(value)


def variables(names: str) -> list[Formula]:
    """One variable for each word of ``names``."""
    return [Formula("variable", value=name) for name in names.split()]


def weight(name: str, value: Number, low: Number, high: Number) -> Formula:
    """A named weight, which keeps its name in the program and can be set from ``low`` to ``high`` without compiling
    again; ``value`` is what it has at first."""
    known = NamedWeight(name, exact_number(value), exact_number(low), exact_number(high))
    return Formula("weight", value=known.checked())


def total(terms: Iterable[Formula]) -> Formula:
    """The sum of ``terms`` as one node."""
    args = tuple(terms)
    return Formula("sum", args) if args else constant(0)


def product(factors: Iterable[Formula]) -> Formula:
    """The product of ``factors`` as one node."""
    args = tuple(factors)
    return Formula("product", args) if args else constant(1)


def postorder(*roots: Formula) -> Iterator[Formula]:
    """Every node below ``roots`` once, arguments before the nodes that use them."""
    done: set[int] = set()
    stack = list(reversed(roots))
    while stack:
        node = stack[-1]
        if id(node) in done:
            stack.pop()
            continue
        waiting = [arg for arg in node.args if id(arg) not in done]
        if any(arg.args for arg in waiting):
            stack.extend(reversed(waiting))
            continue
        for arg in waiting:
            if id(arg) not in done:
                done.add(id(arg))
                yield arg
        stack.pop()
        done.add(id(node))
        yield node


def formula_text(formula: Formula, most: int = SHOWN) -> str:
    """``formula`` as a person writes it, cut after about ``most`` characters. What is cut costs nothing."""
    out: list[str] = []
    size = 0
    # Each level writes a character or more, so what is nested deeper than that would not be shown.
    stack: list[Iterator[str | tuple[Formula, int]]] = [iter([(formula, _SUM)])]
    while stack:
        part = next(stack[-1], None)
        if part is None:
            stack.pop()
            continue
        if not isinstance(part, str) and (len(stack) <= most or not part[0].args):
            stack.append(_parts(*part))
            continue
        text = part if isinstance(part, str) else "…"
        out.append(text)
        size += len(text)
        if size > most:
            return "".join(out)[:most] + " …"
    return "".join(out)


#: The places of an operand: the beginning of a sum takes anything without parentheses, a term or a factor what has no
#: sign in front and is no sum, the base of a power a name or a whole number.
_SUM, _TERM, _BASE = range(3)


def _parts(node: Formula, place: int) -> Iterator[str | tuple[Formula, int]]:
    """The text of ``node`` as an operand at ``place``: pieces of text, and operands still to be written."""
    if node.kind == "constant":
        yield _constant_text(node.value, place)
        return
    if node.kind == "variable":
        yield str(node.value)
        return
    if node.kind == "weight":
        yield node.value.name
        return
    if node.kind == "relu" or (node.kind == "function" and node.value != "inverse"):
        yield f"{node.value or node.kind}("
        yield node.args[0], _SUM
        yield ")"
        return
    negative = _is_negated(node)
    enclosed = place > (_SUM if negative or node.kind == "sum" else _TERM)
    yield "(" * enclosed
    match node.kind:
        case "sum":
            for number, arg in enumerate(node.args):
                minus = number > 0 and _is_negated(arg)
                yield " - " if minus else " + " * (number > 0)
                if minus:
                    yield from _factors(arg.args[1:])
                else:
                    yield arg, _TERM if number else _SUM
        case "product":
            yield "-" * negative
            yield from _factors(node.args[negative:])
        case "power":
            yield node.args[0], _BASE
            yield f"^{node.value}"
        case "function":
            yield from _factors((node,))
    yield ")" * enclosed


def _factors(args: Sequence[Formula]) -> Iterator[str | tuple[Formula, int]]:
    for number, arg in enumerate(args):
        if arg.kind == "function" and arg.value == "inverse":
            yield "/" if number else "1/"
            yield arg.args[0], _BASE
        else:
            yield "*" * (number > 0)
            yield arg, _TERM


def _is_negated(node: Formula) -> bool:
    """Whether ``node`` is minus one times something, which is written with a sign."""
    return node.kind == "product" and len(node.args) > 1 and node.args[0] is MINUS_ONE


def _constant_text(value: Fraction, place: int) -> str:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > SHOWN_BITS:
        return "…"
    enclosed = (value < 0 and place > _SUM) or (value.denominator > 1 and place > _TERM)
    return f"({value})" if enclosed else str(value)


def evaluate(formula: Formula, values: Mapping[str, Any], ring: Ring) -> Any:
    """The value of ``formula`` at ``values``, packed or single elements, computed as written.

    This is the independent reference for compiled programs: no rewriting, one operation a node. Functions are refused.
    """
    results: dict[int, Any] = {}
    some = next(iter(values.values()), None)
    for node in postorder(formula):
        args = [results[id(arg)] for arg in node.args]
        match node.kind:
            case "constant":
                element = ring.embed(node.value)
                batch = 1 if some is None else some.shape[-1] * ring.inferences_per_word
                results[id(node)] = ring.constant(element, batch)
            case "weight":
                element = ring.embed(node.value.value)
                batch = 1 if some is None else some.shape[-1] * ring.inferences_per_word
                results[id(node)] = ring.constant(element, batch)
            case "variable":
                results[id(node)] = values[node.value]
            case "sum" | "product":
                combine = ring.add if node.kind == "sum" else ring.mul
                out = args[0]
                for arg in args[1:]:
                    out = combine(out, arg)
                results[id(node)] = out
            case "power":
                out = ring.constant(ring.embed(1), args[0].shape[-1] * ring.inferences_per_word)
                for bit in bin(node.value)[2:]:
                    out = ring.mul(out, out)
                    out = ring.mul(out, args[0]) if bit == "1" else out
                results[id(node)] = out
            case "relu":
                out = args[0].copy()
                ring.relu(out)
                results[id(node)] = out
            case _:
                refuse_function(node)
    return results[id(formula)]


def refuse_function(node: Formula) -> NoReturn:
    """Says that ``node``, a function, is no polynomial, where only polynomials can be."""
    raise InputError(
        f"{formula_text(node, 40)} is no polynomial: it becomes one on a box, to an error, "
        "so functions need --box and --error"
    )


class Facts:
    """Sizes of a formula that are known without compiling it.

    ``leaves`` and ``depth`` count the formula as it is written (several equal operators in a row are one balanced
    operator, a sign is free); ``textbook`` is the length of the Ben-Or-Cleve recursion, ``bound`` is ``4^depth``.
    Numbers from :data:`CEILING` on are cut there.
    """

    __slots__ = ("bound", "degree", "depth", "leaves", "textbook", "variables")

    def __init__(self, leaves: int, depth: int, degree: int, textbook: int, names: tuple[str, ...]) -> None:
        self.leaves = leaves
        self.depth = depth
        self.degree = degree
        self.textbook = textbook
        self.bound = min(4**depth, CEILING) if depth < 100 else CEILING
        self.variables = names


@cache
def _balanced_depths(count: int) -> tuple[int, ...]:
    """The depth of each leaf of a balanced binary tree."""
    if count == 1:
        return (0,)
    halves = _balanced_depths(count // 2) + _balanced_depths(count - count // 2)
    return tuple(depth + 1 for depth in halves)


@cache
def _balanced_weight(count: int) -> int:
    """``Σ 2^depth`` over the leaves of a balanced binary tree: the length of a product of ``count`` leaves."""
    low = 1 << (count.bit_length() - 1)
    return low * (2 * low - count) + 4 * low * (count - low) if count > low else low * low


Operations = list[tuple[Formula, Sequence[Formula]]]


def operations(*formulas: Formula) -> Operations:
    """Every node below ``formulas`` with its arguments, arguments first. Several equal operators in a row are one
    operation, down to arguments of another kind and to nodes that are used elsewhere too. Functions are refused."""
    nodes = list(postorder(*formulas))
    for node in nodes:
        if node.kind == "function":
            refuse_function(node)
    seen: set[int] = set()
    own = {id(formula) for formula in formulas}
    parent: dict[int, str] = {}
    for node in nodes:
        if node.args:
            kind = node.kind
            for arg in node.args:
                if arg.args:
                    (own if id(arg) in seen else seen).add(id(arg))
                    parent[id(arg)] = kind
    out: Operations = []
    for node in nodes:
        kind = node.kind
        if not node.args or kind in ("power", "relu"):
            out.append((node, node.args))
        elif id(node) in own or parent.get(id(node)) != kind:
            out.append((node, _flat_arguments(node, own)))
    return out


def _flat_arguments(node: Formula, own: set[int]) -> Sequence[Formula]:
    kind = node.kind
    if not any(arg.kind == kind for arg in node.args):
        return node.args
    out: list[Formula] = []
    stack = list(reversed(node.args))
    while stack:
        arg = stack.pop()
        if arg.kind == kind and id(arg) not in own:
            stack.extend(reversed(arg.args))
        else:
            out.append(arg)
    return out


def facts(*formulas: Formula, known_operations: Operations | None = None) -> Facts:
    """The sizes of one formula, or of several outputs together: lengths are added, depth and degree are the largest."""
    names: dict[str, None] = {}
    known: dict[int, tuple[int, int, int, int]] = {}
    for node, given in known_operations or operations(*formulas):
        match node.kind:
            case "constant" | "weight":
                known[id(node)] = (1, 0, 0, 1)
            case "variable":
                names[node.value] = None
                known[id(node)] = (1, 0, 1, 1)
            case "relu":
                known[id(node)] = known[id(given[0])]
            case "power" if node.value == 0:
                known[id(node)] = (1, 0, 0, 1)
            case "power":
                leaves, depth, degree, length = known[id(given[0])]
                deeper = (node.value - 1).bit_length()
                length = min(length * _balanced_weight(node.value), CEILING)
                leaves, degree = min(leaves * node.value, CEILING), min(degree * node.value, CEILING)
                known[id(node)] = (leaves, depth + deeper, degree, length)
            case "product":
                factors = [arg for arg in given if arg.kind != "constant" or arg.value != -1] or given[:1]
                args = [known[id(arg)] for arg in factors]
                if all(arg[0] == 1 for arg in args):
                    count = len(args)
                    degree = sum(arg[2] for arg in args)
                    known[id(node)] = (count, (count - 1).bit_length(), degree, _balanced_weight(count))
                    continue
                levels = _balanced_depths(len(args))
                known[id(node)] = (
                    min(sum(arg[0] for arg in args), CEILING),
                    max(arg[1] + level for arg, level in zip(args, levels, strict=True)),
                    min(sum(arg[2] for arg in args), CEILING),
                    min(sum(arg[3] << level for arg, level in zip(args, levels, strict=True)), CEILING),
                )
            case _:
                args = [known[id(arg)] for arg in given]
                levels = _balanced_depths(len(args))
                known[id(node)] = (
                    min(sum(arg[0] for arg in args), CEILING),
                    max(arg[1] + level for arg, level in zip(args, levels, strict=True)),
                    max(arg[2] for arg in args),
                    min(sum(arg[3] for arg in args), CEILING),
                )
    found = [known[id(formula)] for formula in formulas]
    return Facts(
        min(sum(f[0] for f in found), CEILING),
        max(f[1] for f in found),
        max(f[2] for f in found),
        min(sum(f[3] for f in found), CEILING),
        tuple(names),
    )
