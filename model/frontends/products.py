"""Product layers and attention without softmax: polynomial maps of vectors that are put behind each other.

A product layer is ``P(x) = Π_k W_k x``, the products of ``d`` linear forms, entry by entry (Navon). Attention without
softmax is of degree three: from tokens ``x_t`` it makes ``y_t = Σ_s (Q x_t · K x_s) V x_s``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from skinny.model.errors import InputError
from skinny.model.formula.formula import Formula
from skinny.model.rings import exact_number

from .arithmetic import Value, as_formula, dot, form, plus, times, value_of
from .written import Writable, Written

__all__ = ["LinearAttention", "PolynomialLayer", "ProductLayer"]


class PolynomialLayer(Writable):
    """A map of ``inputs`` values to ``outputs`` values, polynomials of at most the ``degree``. It is called with
    numbers or with formulas, and ``second @ first`` is the layer that computes ``second(first(x))``."""

    inputs: int
    outputs: int
    degree: int

    @abstractmethod
    def _of(self, values: Sequence[Value]) -> list[Value]:
        """The outputs for as many values as there are inputs."""

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """The outputs for ``values``: exact fractions, or formulas where they depend on one."""
        given = list(values)
        if len(given) != self.inputs:
            raise InputError(f"the layer takes {self.inputs:,} values, not {len(given):,}")
        return self._of([value_of(value) for value in given])

    def __matmul__(self, first: PolynomialLayer) -> PolynomialLayer:
        if not isinstance(first, PolynomialLayer):
            return NotImplemented
        return _Composition(self, first)

    def __repr__(self) -> str:
        return f"<{self.title}>"

    @property
    def title(self) -> str:
        """What the layer is, in a line."""
        return f"Polynomial layer, {self.inputs:,} to {self.outputs:,} values of degree {self.degree:,}"

    def formulas(self) -> dict[str, Formula]:
        """The outputs ``y0``, ``y1``, … as formulas of ``x0``, ``x1``, …, for :func:`skinny.compile`."""
        found = self([Formula("variable", value=f"x{n}") for n in range(self.inputs)])
        return {f"y{n}": as_formula(value) for n, value in enumerate(found)}

    def written(self) -> Written:
        return Written(self.formulas(), self.title, tuple(f"x{n}" for n in range(self.inputs)))


class ProductLayer(PolynomialLayer):
    """``P(x) = Π_k W_k x``, entry by entry. ``matrices`` are the ``W_k``, of one shape: rows are outputs."""

    def __init__(self, matrices: Any) -> None:
        self.matrices = _matrices(matrices, "matrices")
        self.degree, self.outputs, self.inputs = self.matrices.shape

    def _of(self, values: Sequence[Value]) -> list[Value]:
        return [times([form(row, values) for row in rows]) for rows in self.matrices.transpose(1, 0, 2)]


class LinearAttention(PolynomialLayer):
    """Attention without softmax over ``tokens`` tokens, ``y_t = Σ_s (Q x_t · K x_s) V x_s``. Values are those of the
    first token, then those of the second, and so on. ``queries`` and ``keys`` are matrices of one shape, ``values`` is
    one with as many columns; each may be a list of matrices, one for each head: the heads are added."""

    degree = 3

    def __init__(self, tokens: int, queries: Any, keys: Any, values: Any) -> None:
        if isinstance(tokens, bool) or not isinstance(tokens, int | np.integer) or tokens < 1:
            raise InputError(f"attention needs 1 token or more, not {tokens!r}")
        self.tokens = int(tokens)
        self.queries, self.keys, self.values = (
            _matrices(given if np.ndim(given) == 3 else [given], what)
            for given, what in ((queries, "queries"), (keys, "keys"), (values, "values"))
        )
        heads, _, width = self.queries.shape
        if self.keys.shape != self.queries.shape:
            raise InputError(f"keys must have the shape of queries, {self.queries.shape}, not {self.keys.shape}")
        if self.values.shape[0] != heads or self.values.shape[2] != width:
            raise InputError(f"values must have the shape ({heads}, …, {width}), not {self.values.shape}")
        self.inputs = self.tokens * width
        self.outputs = self.tokens * self.values.shape[1]

    def _of(self, values: Sequence[Value]) -> list[Value]:
        width = self.queries.shape[2]
        tokens = [values[start : start + width] for start in range(0, len(values), width)]
        terms: list[list[list[Value]]] = []
        for head in zip(self.queries, self.keys, self.values, strict=True):
            q, k, v = ([[form(row, token) for row in matrix] for token in tokens] for matrix in head)
            terms.append(self._scores_first(q, k, v) if self._few_tokens else self._summary_first(q, k, v))
        return [plus([head[t][n] for head in terms]) for t in range(self.tokens) for n in range(self.values.shape[1])]

    @property
    def _few_tokens(self) -> bool:
        """Whether ``(q·k) v`` takes fewer products than ``q · (k vᵀ)``: the sums over all tokens are then not made
        first."""
        inner, out = self.queries.shape[1], self.values.shape[1]
        return bool(self.tokens * (inner + out) <= 2 * inner * out)

    @staticmethod
    def _scores_first(q: Any, k: Any, v: Any) -> list[list[Value]]:
        scores = [[dot(query, key) for key in k] for query in q]
        return [[dot(row, column) for column in zip(*v, strict=True)] for row in scores]

    @staticmethod
    def _summary_first(q: Any, k: Any, v: Any) -> list[list[Value]]:
        keys, columns = list(zip(*k, strict=True)), list(zip(*v, strict=True))
        summary = [[dot(column, key) for key in keys] for column in columns]
        return [[dot(query, row) for row in summary] for query in q]


class _Composition(PolynomialLayer):
    """``second(first(x))``."""

    def __init__(self, second: PolynomialLayer, first: PolynomialLayer) -> None:
        if second.inputs != first.outputs:
            raise InputError(f"a layer that takes {second.inputs:,} values stands behind one of {first.outputs:,}")
        self.first, self.second = first, second
        self.inputs, self.outputs = first.inputs, second.outputs
        self.degree = first.degree * second.degree

    def _of(self, values: Sequence[Value]) -> list[Value]:
        return self.second._of(self.first._of(values))


def _matrices(given: Any, what: str) -> Any:
    """Exact numbers in an array of the shape ``(count, outputs, inputs)``."""
    try:
        table = np.array(given, dtype=object)
    except ValueError:  # rows of different lengths
        table = np.empty(0, dtype=object)
    if table.ndim != 3 or not table.size:
        raise InputError(f"{what} must be matrices of one shape, not an array of the shape {table.shape}")
    return np.frompyfunc(exact_number, 1, 1)(table)
