"""Sum-product networks: probabilities of variables with few values each, as sums and products of leaves.

Each value of a variable has an *indicator*, an input that is one when the variable may have this value and else zero.
A variable that is known has one indicator that is one; where all are one, the variable is summed out. That is right
when all parts of a sum speak of the same variables (it is *complete*) and no two parts of a product of the same
variable (it is *decomposable*), which is looked at here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, NoReturn

from skinny.model.errors import InputError
from skinny.model.files import read_text
from skinny.model.formula.formula import Formula
from skinny.model.limits import FORMULA_BYTE
from skinny.model.program.reader import NAME
from skinny.model.rings import exact_number
from skinny.model.tables import parse_number

from .arithmetic import Value, as_formula, form, plus, times
from .order import ordered
from .written import Writable, Written

__all__ = ["SumProductNetwork"]

KEYS = ("variables", "root", "nodes", "query")
#: What a node is, by the key that says it.
KINDS = ("sum", "product", "bernoulli", "categorical", "indicator")
MOST_VALUES = 1 << 16


class SumProductNetwork(Writable):
    """A sum-product network, from the path of a JSON file or from what such a file holds, as docs/frontends.md
    describes it. The program gives ``p`` for the indicators; with a ``query``, names of variables, it gives ``joint``
    for the indicators and ``evidence`` with those variables summed out, and ``joint/evidence`` is the probability of
    the query on condition of the rest."""

    def __init__(self, given: Any, query: str | Iterable[str] | None = None) -> None:
        self.name = os.fspath(given) if isinstance(given, str | os.PathLike) else ""
        try:
            self._set(_read(given) if self.name else given, query)
        except InputError as error:
            if not self.name or str(error).startswith(f"{self.name}:"):
                raise
            raise InputError(f"{self.name}: {error}") from None

    def _set(self, given: Any, query: str | Iterable[str] | None) -> None:
        if not isinstance(given, Mapping) or not all(given.get(key) for key in KEYS[:3]):
            raise InputError("a sum-product network has variables, a root and nodes")
        unknown = next((key for key in given if key not in KEYS), None)
        if unknown is not None:
            raise InputError(f"a sum-product network has {', '.join(KEYS)}, not {unknown!r}")
        self.variables = _variables(given["variables"])
        if not isinstance(given["nodes"], Mapping):
            raise InputError("nodes must be a dict by name")
        self._nodes = {name: self._node(name, node) for name, node in given["nodes"].items()}
        self.root = str(given["root"])
        if self.root not in self._nodes:
            raise InputError(f"there is no node {self.root!r}, which is the root")
        for name, (_, parts) in self._nodes.items():
            for part in parts if isinstance(parts, dict) else ():
                if part not in self._nodes:
                    raise InputError(f"node {name!r}: there is no node {part!r}")
        reads = {name: parts if isinstance(parts, dict) else () for name, (_, parts) in self._nodes.items()}
        self._order = ordered(reads, "nodes")
        self._scopes = self._checked_scopes()
        missing = next((name for name in self.variables if name not in self._scopes[self.root]), None)
        if missing is not None:
            raise InputError(f"the root {self.root!r} says nothing of the variable {missing!r}")
        asked = given.get("query", ()) if query is None else query
        if not isinstance(asked, Iterable) or isinstance(asked, Mapping):
            raise InputError("query must be a list of names of variables")
        self.query = tuple(asked.split() if isinstance(asked, str) else asked)
        for name in self.query:
            if not isinstance(name, str) or name not in self.variables:
                raise InputError(f"query: there is no variable {name!r}")
        if self.query and set(self.query) == set(self.variables):
            raise InputError("query: one variable at least must be left for the evidence")

    def __repr__(self) -> str:
        return f"<Sum-product network of {len(self.variables):,} variables, {len(self._nodes):,} nodes>"

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the indicators: ``rain_0`` and ``rain_1`` are those of the variable ``rain``."""
        return tuple(f"{name}_{value}" for name, count in self.variables.items() for value in range(count))

    def indicators(self, values: Mapping[str, int] | None = None) -> dict[str, int]:
        """The inputs of the program for the ``values`` of some variables; all others are summed out."""
        known = dict(values or {})
        for name, value in known.items():
            if name not in self.variables:
                raise InputError(f"there is no variable {name!r}")
            if value not in range(self.variables[name]):
                raise InputError(f"the variable {name!r} has the values 0 to {self.variables[name] - 1}, not {value!r}")
        return {
            f"{name}_{value}": int(known.get(name, value) == value)
            for name, count in self.variables.items()
            for value in range(count)
        }

    def probability(self, values: Mapping[str, int], given: Mapping[str, int] | None = None) -> Fraction:
        """The exact probability of the ``values`` of some variables, on condition of the ``given`` values of others."""
        twice = next((name for name in given or {} if name in values), None)
        if twice is not None:
            raise InputError(f"the variable {twice!r} is asked for and given")
        evidence = self._at(given or {})
        if not evidence:
            raise InputError("what is given has the probability zero")
        return self._at({**values, **(given or {})}) / evidence

    def formulas(self) -> dict[str, Formula]:
        """The outputs as formulas of the indicators."""
        inputs: dict[str, Value] = {name: Formula("variable", value=name) for name in self.inputs}
        known = self._values(inputs)
        if not self.query:
            return {"p": as_formula(known[self.root])}
        summed = {f"{name}_{value}": Fraction(1) for name in self.query for value in range(self.variables[name])}
        asked = set(self.query)
        rest = {name: value for name, value in known.items() if asked.isdisjoint(self._scopes[name])}
        evidence = self._values(inputs | summed, rest)
        return {"joint": as_formula(known[self.root]), "evidence": as_formula(evidence[self.root])}

    def written(self) -> Written:
        return Written(self.formulas(), self.name or repr(self).strip("<>"), self.inputs)

    def _at(self, values: Mapping[str, int]) -> Fraction:
        found = self._values({name: Fraction(value) for name, value in self.indicators(values).items()})[self.root]
        assert isinstance(found, Fraction)
        return found

    def _values(self, inputs: Mapping[str, Value], known: Mapping[str, Value] | None = None) -> dict[str, Value]:
        """The values of all nodes, but for those that are ``known``."""
        out = dict(known or {})
        for name in self._order:
            if name in out:
                continue
            kind, parts = self._nodes[name]
            if kind == "product":
                out[name] = times(out[part] for part in parts)
            elif kind == "sum":
                out[name] = plus(times((weight, out[part])) for part, weight in parts.items())
            else:
                variable, weights = parts
                out[name] = form(weights, [inputs[f"{variable}_{value}"] for value in range(len(weights))])
        return out

    def _node(self, name: str, given: Any) -> tuple[str, Any]:
        """A node as its kind and its parts with their weights; a leaf as the weights of all values of its variable."""
        place = f"node {name!r}"
        kinds = [kind for kind in KINDS if isinstance(given, Mapping) and kind in given]
        if len(kinds) != 1:
            raise InputError(f"{place}: one of {', '.join(KINDS)} must say what it is")
        (kind,) = kinds
        leaf = kind not in ("sum", "product")
        unknown = next((key for key in given if key != kind and not (leaf and key == "of")), None)
        if unknown is not None:
            raise InputError(f"{place}: {unknown!r} means nothing here")
        what = given[kind]
        if kind == "sum":
            if not isinstance(what, Mapping) or not what:
                raise InputError(f"{place}: a sum is a dict of weights by the names of its parts")
            return kind, {str(part): _weight(weight, place) for part, weight in what.items()}
        if kind == "product":
            if not isinstance(what, list | tuple) or not what or not all(isinstance(part, str) for part in what):
                raise InputError(f"{place}: a product is a list of the names of its parts")
            if len(set(what)) < len(what):
                raise InputError(f"{place}: a product names a part twice, so that it is not decomposable")
            return kind, {str(part): Fraction(1) for part in what}
        variable = given.get("of")
        if not isinstance(variable, str) or variable not in self.variables:
            raise InputError(f"{place}: 'of' must name its variable, not {variable!r}")
        return kind, (variable, self._leaf(kind, what, self.variables[variable], place))

    @staticmethod
    def _leaf(kind: str, what: Any, count: int, place: str) -> list[Fraction]:
        if kind == "indicator":
            if not isinstance(what, int) or what not in range(count):
                raise InputError(f"{place}: its variable has the values 0 to {count - 1}, not {_said(what)}")
            return [Fraction(value == what) for value in range(count)]
        if kind == "bernoulli":
            p = _weight(what, place)
            if count != 2 or p > 1:
                raise InputError(f"{place}: bernoulli is the probability of the value 1 of a variable with two values")
            return [1 - p, p]
        if not isinstance(what, list | tuple) or len(what) != count:
            raise InputError(f"{place}: categorical is a list of {count} probabilities, one for each value")
        return [_weight(p, place) for p in what]

    def _checked_scopes(self) -> dict[str, frozenset[str]]:
        """The variables that each node speaks of. Sums that are not complete and products that are not decomposable are
        refused, and so are nodes that the root does not need."""
        scopes: dict[str, frozenset[str]] = {}
        for name in self._order:
            kind, parts = self._nodes[name]
            if kind not in ("sum", "product"):
                scopes[name] = frozenset((parts[0],))
                continue
            found: frozenset[str] = frozenset()
            for number, part in enumerate(parts):
                if kind == "sum" and number and scopes[part] != found:
                    first = next(iter(parts))
                    (different, *_) = sorted(scopes[part] ^ found)
                    raise InputError(
                        f"node {name!r} is not complete: only one of its parts {first!r} and {part!r} speaks of the "
                        f"variable {different!r}"
                    )
                if kind == "product" and (common := scopes[part] & found):
                    raise InputError(
                        f"node {name!r} is not decomposable: {part!r} and a part before it speak of the variable "
                        f"{min(common)!r}"
                    )
                found |= scopes[part]
            scopes[name] = found
        needed = {self.root}
        for name in reversed(self._order):
            parts = self._nodes[name][1]
            if name in needed and isinstance(parts, dict):
                needed.update(parts)
        unused = next((name for name in self._nodes if name not in needed), None)
        if unused is not None:
            raise InputError(f"node {unused!r}: the root {self.root!r} does not need it")
        return scopes


def _variables(given: Any) -> dict[str, int]:
    if not isinstance(given, Mapping):
        raise InputError("variables must be a dict with the number of values of each")
    for name, count in given.items():
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise InputError(f"the name of a variable must be letters, digits and _, not {name!r}")
        if isinstance(count, bool) or not isinstance(count, int) or not 2 <= count <= MOST_VALUES:
            raise InputError(f"the variable {name!r} must have 2 to {MOST_VALUES:,} values, not {_said(count)}")
    return dict(given)


def _said(given: Any) -> str:
    """A value for a message; broken numbers of a file are fractions here."""
    return str(given) if isinstance(given, Fraction) else repr(given)


def _weight(given: Any, place: str) -> Fraction:
    try:
        found = exact_number(given)
    except InputError as error:
        raise InputError(f"{place}: {error}") from None
    if found < 0:
        raise InputError(f"{place}: weights and probabilities are not below zero, as {given} is")
    return found


def _read(path: str | os.PathLike[str]) -> Any:
    """What a JSON file holds, numbers as exact as they are written."""
    name = os.fspath(path)

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        out = dict(found)
        if len(out) < len(found):
            twice = next(key for place, (key, _) in enumerate(found) if key in dict(found[:place]))
            raise InputError(f"{twice!r} is there twice")
        return out

    def refuse(word: str) -> NoReturn:
        raise InputError(f"{word} is no number")

    try:
        return json.loads(
            read_text(name, FORMULA_BYTE),
            object_pairs_hook=pairs,
            parse_float=parse_number,
            parse_int=lambda text: int(parse_number(text)),
            parse_constant=refuse,
        )
    except json.JSONDecodeError as error:
        raise InputError(f"{name}:{error.lineno}: not JSON ({error.msg})") from None
    except RecursionError:
        raise InputError(f"{name}: not JSON of a sum-product network (nested too deep)") from None
