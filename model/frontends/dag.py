"""A graph of constituents: functions of few values each, which read each other.

A function that is a directed graph without circles of such constituents (Poggio) has a program that grows with the
graph: each constituent is computed once and held in a register, and nothing is multiplied out.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from skinny.model.errors import InputError
from skinny.model.formula.formula import Formula, constant, postorder
from skinny.model.formula.parse import parse_formula
from skinny.model.program.reader import NAME

from .order import ordered
from .written import Writable, Written

__all__ = ["Constituent", "Dag"]

#: A formula text, or a Python function of formulas.
Constituent = str | Callable[..., Any]


class Dag(Writable):
    """A graph of constituents. ``nodes`` says by name what each of them computes:

    - a formula text such as ``"a*b + 1"``, whose names are inputs and other nodes, or a Python function of formulas,
      whose arguments are called like what it reads;
    - or a pair ``(constituent, reads)``, where ``reads`` are the names of what it reads, ``"x0 x1"`` or a list, in the
      order of the function's arguments or in that in which the text names them; so constituents can be used again.

    ``outputs`` are the nodes that are sent, or by default those that no other node reads. ``inputs`` are the names that
    are no node, in the order in which the nodes read them.
    """

    def __init__(self, nodes: Mapping[str, Any], outputs: str | Sequence[str] | None = None) -> None:
        if not isinstance(nodes, Mapping) or not nodes:
            raise InputError("a graph is a dict of constituents by name, with one or more")
        self.reads: dict[str, tuple[str, ...]] = {}
        self._functions: dict[str, Callable[..., Any]] = {}
        for name, given in nodes.items():
            if not isinstance(name, str) or not NAME.fullmatch(name):
                raise InputError(f"the name of a node must be letters, digits and _, not {name!r}")
            self._functions[name], self.reads[name] = _constituent(name, given)
        self.order = ordered(self.reads, "the nodes of a graph")
        read = {found for names in self.reads.values() for found in names}
        self.inputs = tuple(dict.fromkeys(n for names in self.reads.values() for n in names if n not in self.reads))
        chosen = [name for name in self.reads if name not in read] if outputs is None else _words(outputs, "outputs")
        for name in chosen:
            if name not in self.reads:
                raise InputError(f"outputs: there is no node {name!r}")
        if not chosen or len(set(chosen)) < len(chosen):
            raise InputError("outputs must name one node or more, each once")
        self.outputs = tuple(chosen)

    def __repr__(self) -> str:
        return f"<Graph of {len(self.reads):,} constituents, {len(self.inputs):,} inputs>"

    def formulas(self) -> dict[str, Formula]:
        """The outputs as formulas, in which each node that an output needs is one part."""
        wanted = set(self.outputs)
        for name in reversed(self.order):
            if name in wanted:
                wanted.update(self.reads[name])
        known = {name: Formula("variable", value=name) for name in self.inputs}
        for name in self.order:
            if name in wanted:
                known[name] = _formula(name, self._functions[name](*(known[read] for read in self.reads[name])))
        return {name: known[name] for name in self.outputs}

    def written(self) -> Written:
        return Written(self.formulas(), repr(self).strip("<>"), self.inputs)


def _constituent(name: str, given: Any) -> tuple[Callable[..., Any], tuple[str, ...]]:
    """A node as a function of formulas, and what it reads."""
    what, reads = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
    if isinstance(what, str):
        function, own = _from_text(name, what)
    elif callable(what):
        function, own = what, () if reads is not None else _arguments(name, what)
    else:
        raise InputError(f"node {name!r}: a constituent must be a formula text or a function, not {given!r}")
    names = own if reads is None else tuple(_words(reads, f"node {name!r}: reads"))
    for read in names:
        if not NAME.fullmatch(read):
            raise InputError(f"node {name!r}: {read!r} is not a name (letters, digits and _)")
    if isinstance(what, str) and len(own) != len(names):
        raise InputError(f"node {name!r}: the text names {len(own)} values, but {len(names)} are read")
    return function, names


def _arguments(name: str, function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the arguments of a function."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # functions of other languages
        parameters = None
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if parameters is None or any(each.kind not in plain for each in parameters):
        raise InputError(f"node {name!r}: what the function reads has no names: give (function, 'a b')")
    return tuple(each.name for each in parameters)


def _from_text(name: str, text: str) -> tuple[Callable[..., Formula], tuple[str, ...]]:
    try:
        found = parse_formula(text)
    except InputError as error:
        raise InputError(f"node {name!r}: {error}") from None
    if len(found) > 1:
        raise InputError(f"node {name!r}: a constituent is one formula, not {len(found)}")
    (formula,) = found.values()
    nodes = list(postorder(formula))
    names = tuple(dict.fromkeys(node.value for node in nodes if node.kind == "variable"))

    def function(*values: Formula) -> Formula:
        places = dict(zip(names, values, strict=True))
        known: dict[int, Formula] = {}
        for node in nodes:
            if node.kind == "variable":
                known[id(node)] = places[node.value]
            else:
                args = tuple(known[id(arg)] for arg in node.args)
                known[id(node)] = Formula(node.kind, args, node.value) if args else node
        return known[id(formula)]

    return function, names


def _formula(name: str, found: Any) -> Formula:
    if isinstance(found, Formula):
        return found
    try:
        return constant(found)
    except InputError:
        raise InputError(f"node {name!r}: a constituent must give one formula, not {found!r}") from None


def _words(given: str | Sequence[str], what: str) -> list[str]:
    names = given.split() if isinstance(given, str) else list(given)
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"{what} must be names, not {name!r}")
    return names
