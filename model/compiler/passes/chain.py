"""Chain: Horner's rule in place, by rows whose dirt is known.

Precondition: an in-place program is asked for and the polynomial is a chain ``Σ c_t·A_t`` with ``A_t = x_1·…·x_t``,
variables ``x`` (equal ones too) and ``c_t`` in {-1, 0, 1}. Postcondition: instructions that add it times register 1 to
register 0 and restore register 2. Length for ``n`` levels of ones: about ``n^1.7``, 24 % below rebalancing at ``n =
64``, 23 % at 256. Cost: all patterns of up to :data:`SEARCHED` coefficients that occur, then windows of cuts; about a
second for ``n = 64``, two for 256, five for 1024; five for 130 random coefficients.

A *row* adds ``α·R_k + β·R_i`` to the target ``R_j`` and changes nothing else, so rows commute; a step ``R_k += g·R_i``
between two of them turns ``α`` into ``α·g``. A program is rows whose ``α`` add up to zero, at different shifts of
``R_k``: only the sums of their ``α`` and ``β`` have to be right. For a product ``A_a``, cut at ``q < t < a``:

=======  ===================================================================  =====================  ==================
exact    a product by its own word                                            ``α = A_a``            ``β = 0``
shallow  ``i += (x_(t+1)…x_a)·k``; ``j += A_t·i``; undo                       ``α = A_a``            ``β = ±A_t``
deep     the same with ``k += (x_(q+1)…x_t)·i``; ``j += A_q·k``; undo inside  ``α = A_a ± A_q``      ``β = ±A_t``
=======  ===================================================================  =====================  ==================
"""

from __future__ import annotations

from collections.abc import Sequence

from skinny.model.compiler.chain_plan import (
    LONGEST,
    SEARCHED,
    below,
    cut_p,
    cut_r,
    forced_cut,
    pattern_of,
    plan_p,
    plan_pair,
    plan_pair_r,
    plan_r,
    plan_row,
    plan_row_r,
)
from skinny.model.compiler.contracts import Affine
from skinny.model.compiler.polynomial import Polynomial, Table

from .rebalance import Level, find_chain
from .univariate import Simple

__all__ = ["chain"]

#: Chains without a regular pattern are left to rebalancing from here on: their length times the number of different
#: pieces of it.
MOST_PIECES = 1 << 14

ONE = Affine((), 1)


def chain(table: Table, polynomial: Polynomial) -> list[Simple] | None:
    """Instructions ``(dst, src, sign, scalar)`` on registers 0, 1, 2, or none when the polynomial is no chain."""
    found = _coefficients(table, polynomial)
    if found is None:
        return None
    variables, coefficients = found
    pattern = pattern_of(coefficients)
    pieces = {below(pattern >> t, SEARCHED) for t in range(max(1, len(coefficients) - SEARCHED))}
    if len(pieces) * len(variables) > MOST_PIECES:
        return None
    code = _Writer([Affine(((variable, 1),)) for variable in variables]).p(0, 2, 1, 0, coefficients)
    assert len(code) == plan_p(pattern).cost, "the predicted length is exact"
    return code


def _coefficients(table: Table, polynomial: Polynomial) -> tuple[list[int], list[int]] | None:
    """``(x_1 … x_n, c_0 … c_n)`` when the polynomial is a chain with at least two terms, else none."""
    levels, end = find_chain(table, polynomial)
    variables: list[int] = []
    coefficients: list[int] = []
    sign = 1
    if len(end) == 1 and () not in end:
        ((variable, scale),) = end.items()
        levels, end = [*levels, Level({}, variable, scale)], {(): 1}
    for rest, multiplier, scale in levels:
        constant = rest.get((), 0)
        if len(rest) > (constant != 0) or constant not in (-1, 0, 1) or scale not in (-1, 1):
            return None
        if any(atom >= len(table.names) for atom, _ in multiplier):
            return None
        factors = [atom for atom, exponent in multiplier for _ in range(min(exponent, LONGEST + 1))]
        variables += factors
        coefficients += [sign * int(constant)] + [0] * (len(factors) - 1)
        sign *= int(scale)
        if len(variables) > LONGEST:
            return None
    if len(end) != 1 or end.get(()) not in (-1, 1):
        return None
    coefficients.append(sign * int(end[()]))
    return (variables, coefficients) if sum(map(abs, coefficients)) > 1 else None


Code = list[Simple]


def _inverse(code: Code) -> Code:
    return [(dst, src, -sign, scalar) for dst, src, sign, scalar in reversed(code)]


def _transposed(code: Code, j: int, i: int) -> Code:
    """The transposed matrix with the names ``i`` and ``j`` exchanged: turns dirt in ``j`` to dirt in ``k``."""
    exchanged = {j: i, i: j}
    return [(exchanged.get(src, src), exchanged.get(dst, dst), sign, x) for dst, src, sign, x in reversed(code)]


def _trimmed(coefficients: Sequence[int]) -> list[int]:
    out = list(coefficients)
    while out and not out[-1]:
        out.pop()
    return out


def _taken(coefficients: Sequence[int], t: int) -> tuple[list[int], int]:
    """What remains when dirt ``±A_t`` is subtracted, and the sign of the dirt: the one that leaves 0, if there is."""
    out = [*coefficients, *[0] * (t + 1 - len(coefficients))]
    sign = out[t] or 1
    out[t] -= sign
    return _trimmed(out), sign


class _Writer:
    """Code that follows the plans. Everywhere ``j`` is the target, ``k`` the third register and ``i`` the source; a
    chain is ``c`` over the variables from ``o`` on."""

    def __init__(self, variables: list[Affine]) -> None:
        self.variables = variables

    def product_p(self, j: int, i: int, k: int, first: int, end: int, sign: int) -> Code:
        """``j += sign·(x_(first+1)…x_end)·i``."""
        if end - first <= 1:
            return [(j, i, sign, self.variables[first] if end > first else ONE)]
        cut = first + cut_p(end - first)
        outer = self.product_l(j, k, i, first, cut, 1)
        inner = self.product_r(k, i, j, cut, end, sign)
        return _inverse(outer) + inner + outer + _inverse(inner)

    def product_l(self, j: int, i: int, k: int, first: int, end: int, sign: int) -> Code:
        """The same, with some ``σ·k`` more in ``j``."""
        if end - first <= 1:
            return self.product_p(j, i, k, first, end, sign)
        cut = first + cut_r(end - first)
        inner = self.product_r(k, i, j, cut, end, sign)
        return inner + self.product_p(j, k, i, first, cut, 1) + _inverse(inner)

    def product_r(self, j: int, i: int, k: int, first: int, end: int, sign: int) -> Code:
        """The same, with some ``σ·i`` more in ``k``."""
        return _transposed(self.product_l(j, i, k, first, end, sign), j, i)

    def simple_row(
        self, j: int, k: int, i: int, o: int, a: int, sign: int, t: int = 0, beta: int = 0, q: int = 0, alpha: int = 0
    ) -> Code:
        """``j += (sign·A_a + alpha·A_q)·k + beta·A_t·i``: exact without ``t``, shallow without ``q``."""
        if not t:
            return self.product_p(j, k, i, o, o + a, sign)
        outer = self.product_r(i, k, j, o + t, o + a, sign * beta)
        if not q:
            inner = self.product_p(j, i, k, o, o + t, beta)
        elif q == t:
            outer = [*outer, (i, k, beta * alpha, ONE)]
            inner = self.product_p(j, i, k, o, o + t, beta)
        else:
            shift = self.product_r(k, i, j, o + q, o + t, beta * alpha)
            inner = shift + self.product_p(j, k, i, o, o + q, alpha) + _inverse(shift)
        return outer + inner + _inverse(outer)

    def head(self, j: int, k: int, i: int, o: int, h: Sequence[int], q: int, at: int = 0) -> Code:
        """``j += A_q·k + h·i``."""
        shift = self.r(k, j, i, o + q, h[q:], at)
        return shift + self.row(j, k, i, o, q, h[:q], 1) + _inverse(shift)

    def row(self, j: int, k: int, i: int, o: int, a: int, h: Sequence[int], sign: int) -> Code:
        """``j += sign·A_a·k + h·i``."""
        h = _trimmed(h)
        pattern = pattern_of(h)
        _, way, cuts = plan_row(a, pattern)
        if way == "exact":
            return self.p(j, k, i, o, h) + self.simple_row(j, k, i, o, a, sign)
        rest, beta = _taken(h, cuts[0])
        if way == "shallow":
            at = forced_cut(pattern, cuts[0])
            return self.p(j, k, i, o, rest, at) + self.simple_row(j, k, i, o, a, sign, cuts[0], beta)
        t, q = cuts
        at = forced_cut(pattern >> q, t - q)
        return self.head(j, k, i, o, rest, q, at) + self.simple_row(j, k, i, o, a, sign, t, beta, q, -1)

    def row_r(self, j: int, k: int, i: int, o: int, a: int, h: Sequence[int], sign: int) -> Code:
        h = _trimmed(h)
        pattern = pattern_of(h)
        _, way, cuts = plan_row_r(a, pattern)
        if way == "row":
            return self.row(j, k, i, o, a, h, sign)
        if way == "exact":
            return self.r(j, k, i, o, h) + self.simple_row(j, k, i, o, a, sign)
        rest, beta = _taken(h, cuts[0])
        if way == "shallow":
            at = forced_cut(pattern, cuts[0])
            return self.r(j, k, i, o, rest, at) + self.simple_row(j, k, i, o, a, sign, cuts[0], beta)
        t, q = cuts
        return (
            self.row_r(j, k, i, o, q, rest[:q], -1)
            + self.p(k, j, i, o + q, rest[q:], forced_cut(pattern >> q, t - q))
            + self.simple_row(j, k, i, o, a, sign, t, beta, q, 1)
        )

    def pair(self, j: int, k: int, i: int, o: int, a: int, h: Sequence[int]) -> tuple[Code, Code]:
        """Before the shift of ``k`` (with ``-A_a``) and after it (with ``A_a``)."""
        h = _trimmed(h)
        _, way, cuts = plan_pair(a, pattern_of(h))
        if way == "apart":
            t = cut_r(a)
            before = self.p(j, k, i, o, h) + self.simple_row(j, k, i, o, a, -1, t, -1)
            return before, self.simple_row(j, k, i, o, a, 1, t, 1)
        if way == "shallow":
            t, other = cuts
            h, beta = _taken(h, t)
            h, opposite = _taken(h, other)
            before = self.p(j, k, i, o, h) + self.simple_row(j, k, i, o, a, -1, t, beta)
            return before, self.simple_row(j, k, i, o, a, 1, other, opposite)
        if way == "deep":
            t, q, other = cuts
            h, beta, opposite = _taken_twice(h, t, other)
            before = self.head(j, k, i, o, h, q) + self.simple_row(j, k, i, o, a, -1, t, beta, q, -1)
            return before, self.simple_row(j, k, i, o, a, 1, other, opposite)
        q1, q2, t, inner = cuts
        lower, beta, at = _trimmed(h[:q2]), 0, 0
        if inner:
            at = forced_cut(pattern_of(lower) >> q1, inner - q1)
            lower, beta = _taken(lower, inner)
        before = self.head(j, k, i, o, lower, q1, at) + self.simple_row(j, k, i, o, a, -1, t, -1, q1, -1)
        shift = self.r(k, j, i, o + q2, [-c for c in h[q2:]])
        middle = self.simple_row(j, k, i, o, q2, -1, inner, beta)
        return before, self.simple_row(j, k, i, o, a, 1, t, 1, q2, 1) + shift + middle + _inverse(shift)

    def p(self, j: int, k: int, i: int, o: int, c: Sequence[int], at: int = 0) -> Code:
        """``j += c·i``."""
        c = _trimmed(c)
        if not c:
            return []
        _, way, cuts = plan_p(pattern_of(c), at)
        if way == "product":
            return self.product_p(j, i, k, o, o + len(c) - 1, c[-1])
        if way == "term":
            (t,) = cuts
            return self.p(j, k, i, o, [*c[:t], 0, *c[t + 1 :]]) + self.product_p(j, i, k, o, o + t, c[t])
        (a,) = cuts
        before, after = self.pair(j, k, i, o, a, c[:a])
        shift = self.r(k, j, i, o + a, c[a:])
        return before + shift + after + _inverse(shift)

    def r(self, j: int, k: int, i: int, o: int, c: Sequence[int], at: int = 0) -> Code:
        """``j += c·i``, with some ``σ·i`` more in ``k``."""
        c = _trimmed(c)
        if not c:
            return []
        _, way, (*cuts,) = plan_r(pattern_of(c), at)
        if way == "product":
            return self.product_r(j, i, k, o, o + len(c) - 1, c[-1])
        (a,) = cuts
        if way == "term":
            return self.r(j, k, i, o, c[:a]) + self.product_r(j, i, k, o, o + a, c[a])
        if way == "row":
            shift = self.r(k, j, i, o + a, c[a:])
            return _transposed(shift + self.row(j, k, i, o, a, c[:a], 1) + _inverse(shift), j, i)
        shift = self.p(k, j, i, o + a, c[a:])
        if way == "pair":
            before, after = self.pair(j, k, i, o, a, c[:a])
            return before + shift + after
        if way == "apart":
            row = self.simple_row(j, k, i, o, a, 1, cut_r(a), 1)
            return self.r(j, k, i, o, c[:a]) + _inverse(row) + shift + row
        t, q, other = plan_pair_r(a, pattern_of(c[:a])).cuts
        h, beta, opposite = _taken_twice(_trimmed(c[:a]), t, other)
        return (
            self.row_r(j, k, i, o, q, h[:q], -1)
            + self.p(k, j, i, o + q, h[q:])
            + self.simple_row(j, k, i, o, a, -1, t, beta, q, 1)
            + shift
            + self.simple_row(j, k, i, o, a, 1, other, opposite)
        )


def _taken_twice(h: list[int], t: int, other: int) -> tuple[list[int], int, int]:
    """Dirt of two rows taken from ``h``, and its signs; at the same place it cancels."""
    if t == other:
        return h, -1, 1
    h, beta = _taken(h, t)
    h, opposite = _taken(h, other)
    return h, beta, opposite
