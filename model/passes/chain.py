"""Chain: Horner's rule in place, by rows whose dirt is known.

Precondition: an in-place program is asked for and the polynomial is a chain ``Σ c_t·A_t`` with ``A_t = x_1·…·x_t``,
variables ``x`` (equal ones too) and ``c_t`` in {-1, 0, 1}. Postcondition: instructions that add it times register 1 to
register 0 and restore register 2. Length for ``n`` levels of ones: about ``n^1.7``, 27 % below rebalancing at ``n =
64``, 30 % at 256. Cost: all patterns of up to :data:`SEARCHED` coefficients that occur, then windows of cuts; about a
second for ``n = 64``, two for 256, five for 1024; five for 130 random coefficients.

A *row* adds ``α·R_k + β·R_i`` to the target ``R_j`` and changes nothing else, so rows commute; a step ``R_k += g·R_i``
between two of them turns ``α`` into ``α·g``. A program is rows whose ``α`` add up to zero, at different shifts of
``R_k``: only the sums of their ``α`` and ``β`` have to be right. For a product ``A_a``, cut at ``q < t < a``:

=======  ===================================================================  =====================  ==================
exact    a product by its own word                                            ``α = A_a``            ``β = 0``
shallow  ``i += (x_(t+1)…x_a)·k``; ``j += A_t·i``; undo                       ``α = A_a``            ``β = ±A_t``
deep     the same with ``k += (x_(q+1)…x_t)·i``; ``j += A_q·k``; undo inside  ``α = A_a ± A_q``      ``β = ±A_t``
=======  ===================================================================  =====================  ==================

The dirt ``A_t`` is a term of the chain that is wanted anyway, or cancels against the other row of a pair; the dirt
``A_q`` is what a row of the shorter head needs. Plans hold the cheapest choice for a *pattern*: bit ``t`` is set when
``c_t`` is not zero; signs are free. Every plan is for one of these contracts, ``h`` a pattern shorter than ``a + 1``:

==========  ===========================================================================================================
``p``       ``j += c·i``
``r``       ``j += c·i``, and ``k`` may be left with some ``σ·i`` more
``row``     ``j += A_a·k + h·i``
``row_r``   the same, and ``k`` may be given some ``σ·i`` before
``pair``    two rows that add up to ``h·i``; between them ``k`` may be shifted by ``v·i``, which makes ``A_a·v·i``
``pair_r``  the same, and ``k`` may be left with some ``σ·i`` more
==========  ===========================================================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from .contracts import CEILING, Affine
from .polynomial import Polynomial, Table
from .rebalance import find_chain, product_costs
from .univariate import Simple

__all__ = ["chain"]

#: Longer chains are left to rebalancing; the depth of recursion and the time to plan stay small.
LONGEST = 1024
#: The same for chains without a regular pattern: their length times the number of different pieces of it.
MOST_PIECES = 1 << 14
#: Patterns up to this length are tried with dirt at every place, longer ones with dirt on set bits only.
SEARCHED = 12
#: Up to these lengths every cut is tried, every cut in a window around the best ones, about ``POINTS`` cuts in it.
EVERY = 40
WINDOW = 80
POINTS = 12

ONE = Affine((), 1)
memo = lru_cache(maxsize=1 << 18)


class Plan(NamedTuple):
    """The length of a contract's code and how it is made: a way and the cuts that it needs."""

    cost: int
    way: str
    cuts: tuple[int, ...] = ()


NONE = Plan(CEILING, "none")


def chain(table: Table, polynomial: Polynomial) -> list[Simple] | None:
    """Instructions ``(dst, src, sign, scalar)`` on registers 0, 1, 2, or none when the polynomial is no chain."""
    found = _coefficients(table, polynomial)
    if found is None:
        return None
    variables, coefficients = found
    pattern = _pattern(coefficients)
    pieces = {_below(pattern >> t, SEARCHED) for t in range(max(1, len(coefficients) - SEARCHED))}
    if len(pieces) * len(variables) > MOST_PIECES:
        return None
    code = _Writer([Affine(((variable, 1),)) for variable in variables]).p(0, 2, 1, 0, coefficients)
    assert len(code) == _plan_p(pattern).cost, "the predicted length is exact"
    return code


def _coefficients(table: Table, polynomial: Polynomial) -> tuple[list[int], list[int]] | None:
    """``(x_1 … x_n, c_0 … c_n)`` when the polynomial is a chain with at least two terms, else none."""
    levels, end = find_chain(table, polynomial)
    variables: list[int] = []
    coefficients: list[int] = []
    sign = 1
    steps = [(level.rest, level.multiplier, level.scale) for level in levels]
    linear = [m for m in end if m]
    if len(linear) == 1:
        steps.append(({m: c for m, c in end.items() if not m}, linear[0], end[linear[0]]))
        end = {(): 1}
    for rest, multiplier, scale in steps:
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


def _pattern(coefficients: Sequence[int]) -> int:
    return sum(1 << t for t, c in enumerate(coefficients) if c)


def _below(pattern: int, cut: int) -> int:
    return pattern & (1 << cut) - 1


def _windowed(n: int, low: float, high: float, end: int) -> range:
    """Cuts from 1 to ``end - 1``; of a long input only those between the shares ``low`` and ``high``."""
    if n <= EVERY:
        return range(1, end)
    first, last = max(1, int(n * low)), min(end, int(n * high) + 2)
    return range(first, last, 1 if n <= WINDOW else max(1, (last - first) // POINTS))


def _may_flip(a: int, h: int, t: int) -> bool:
    """Whether dirt at ``t`` is worth a try.

    A long pattern has to stay one of few: a set bit may go where all bits but the lowest are set, as a forced cut
    follows; parts of irregular patterns are many as they are.
    """
    return a <= SEARCHED or (h >> t & 1 == 1 and h >> 1 & (h >> 1) + 1 == 0)


def _forced_cut(pattern: int, t: int) -> int:
    """Where a pattern with bit ``t`` flipped must be cut next; 0 when that is free.

    A hole inside a long pattern would make a new one for every place; cut there, its two parts are old ones.
    """
    n = pattern.bit_length()
    return t if n > SEARCHED and 0 < t < n - 1 else 0


@cache
def _products() -> tuple[list[int], list[int]]:
    p, r = product_costs(LONGEST)
    return p.tolist(), r.tolist()


@cache
def _product_p(n: int) -> int:
    return _products()[0][n]


@cache
def _product_r(n: int) -> int:
    return _products()[1][n]


@memo
def _shallow(a: int, t: int) -> int:
    return 2 * _product_r(a - t) + _product_p(t)


@memo
def _deep(a: int, t: int, q: int) -> int:
    """``q = t`` is a shallow row with one more in its inner factor."""
    return 2 * _product_r(a - t) + _shallow(t, q) if q < t else _shallow(a, t) + 2


@memo
def _cut_p(n: int) -> int:
    return min(range(1, n), key=lambda t: 2 * _product_r(t) + 2 * _product_r(n - t))


@memo
def _cut_r(n: int) -> int:
    """Where the shortest shallow row of ``n`` factors is cut; 0 for the one factor that needs no cut."""
    return min(range(1, n), key=lambda t: _shallow(n, t), default=0)


def _head(h: int, q: int, flipped: int = 0) -> int:
    """``j += A_q·k + h·i``: a row for what is below ``q``, while the rest of ``h`` shifts ``k``. Bit ``flipped`` of
    ``h``, not below ``q``, is flipped first."""
    upper, at = h >> q, 0
    if flipped:
        at = _forced_cut(upper, flipped - q)
        upper ^= 1 << flipped - q
    return 2 * _plan_r(upper, at).cost + _plan_row(q, _below(h, q)).cost


@memo
def _plan_row(a: int, h: int) -> Plan:
    best = Plan(_product_p(a) + _plan_p(h).cost, "exact")
    if not h:
        return best
    n = h.bit_length()
    for t in _windowed(a, 0.5, 0.97, a):
        if not _may_flip(a, h, t):
            continue
        if _shallow(a, t) < best.cost:
            cost = _shallow(a, t) + _plan_p(h ^ 1 << t, _forced_cut(h, t)).cost
            if cost < best.cost:
                best = Plan(cost, "shallow", (t,))
        for q in _windowed(a, 0.35, 0.7, min(t, n - 1)):
            cost = _deep(a, t, q)
            if cost < best.cost:
                cost += _head(h, q, t)
                if cost < best.cost:
                    best = Plan(cost, "deep", (t, q))
    return best


@memo
def _plan_row_r(a: int, h: int) -> Plan:
    best = Plan(_plan_row(a, h).cost, "row")
    if not h:
        return best
    cost = _product_p(a) + _plan_r(h).cost
    if cost < best.cost:
        best = Plan(cost, "exact")
    n = h.bit_length()
    for t in _windowed(a, 0.5, 0.97, a):
        if not _may_flip(a, h, t):
            continue
        if _shallow(a, t) < best.cost:
            cost = _shallow(a, t) + _plan_r(h ^ 1 << t, _forced_cut(h, t)).cost
            if cost < best.cost:
                best = Plan(cost, "shallow", (t,))
        for q in _windowed(a, 0.35, 0.7, min(t, n - 1)):
            cost = _deep(a, t, q)
            if cost < best.cost:
                upper = h >> q
                cost += _plan_p(upper ^ 1 << t - q, _forced_cut(upper, t - q)).cost
                cost += _plan_row_r(q, _below(h, q)).cost
                if cost < best.cost:
                    best = Plan(cost, "deep", (t, q))
    return best


@memo
def _plan_pair(a: int, h: int) -> Plan:
    best = Plan(2 * _product_r(a) + _plan_p(h).cost, "apart")
    if not h:
        return best
    n = h.bit_length()
    cuts = _windowed(a, 0.5, 0.95, a)
    for t in cuts:
        for q in _windowed(a, 0.35, 0.7, min(t + 1, n - 1)):
            for other in cuts if a <= SEARCHED else (t,):
                cost = _deep(a, t, q) + _shallow(a, other)
                if cost < best.cost:
                    cost += _head(h if other == t else h ^ 1 << t ^ 1 << other, q)
                    if cost < best.cost:
                        best = Plan(cost, "deep", (t, q, other))
        for other in range(1, t) if a <= SEARCHED else ():
            cost = _shallow(a, t) + _shallow(a, other)
            if cost < best.cost:
                cost += _plan_p(h ^ 1 << t ^ 1 << other).cost
                if cost < best.cost:
                    best = Plan(cost, "shallow", (t, other))
    for q2 in _windowed(a, 0.4, 0.8, min(a, n - 1)):
        lower, upper = _below(h, q2), 2 * _plan_r(h >> q2).cost
        for q1 in _windowed(a, 0.2, 0.6, min(q2, lower.bit_length() - 1)):
            rows, t = _deep_pair(a, q1, q2)
            rows += upper
            if rows >= best.cost:
                continue
            cost = rows + _product_p(q2) + _head(lower, q1)
            if cost < best.cost:
                best = Plan(cost, "both deep", (q1, q2, t, 0))
            for inner in _windowed(q2, 0.5, 0.95, q2):
                if (
                    inner >= q1
                    and lower >> inner & 1
                    and _may_flip(q2, lower, inner)
                    and rows + _shallow(q2, inner) < best.cost
                ):
                    cost = rows + _shallow(q2, inner) + _head(lower, q1, inner)
                    if cost < best.cost:
                        best = Plan(cost, "both deep", (q1, q2, t, inner))
    return best


@memo
def _deep_pair(a: int, q1: int, q2: int) -> tuple[int, int]:
    """The length of two deep rows with one dirt ``A_t``, and the best ``t``."""
    cuts = [t for t in _windowed(a, 0.55, 0.95, a) if t > q2]
    return min(((_deep(a, t, q1) + _deep(a, t, q2), t) for t in cuts), default=(CEILING, 0))


@memo
def _plan_pair_r(a: int, h: int) -> Plan:
    best = NONE
    n = h.bit_length()
    for t in _windowed(a, 0.5, 0.95, a):
        for q in _windowed(a, 0.35, 0.7, min(t + 1, n - 1)):
            for other in range(1, a) if a <= SEARCHED else (t,):
                g = h if other == t else h ^ 1 << t ^ 1 << other
                cost = _deep(a, t, q) + _shallow(a, other)
                if cost < best.cost and g >> q:
                    cost += _plan_p(g >> q).cost + _plan_row_r(q, _below(g, q)).cost
                    if cost < best.cost:
                        best = Plan(cost, "deep", (t, q, other))
    return best


@memo
def _plan_p(c: int, at: int = 0) -> Plan:
    """``at``: the only cut allowed, unless 0."""
    n = c.bit_length()
    if c & c - 1 == 0:
        return Plan(_product_p(n - 1) if c else 0, "product")
    best = NONE
    # A long chain never gains from its terms one by one, and trying it would make the recursion as deep as it is long.
    if not at and n <= EVERY:
        for t in range(n) if n <= SEARCHED else (n - 1,):
            if c >> t & 1:
                cost = _plan_p(c ^ 1 << t).cost + _product_p(t)
                if cost < best.cost:
                    best = Plan(cost, "term", (t,))
    for a in (at,) if at else _windowed(n, 0.25, 0.65, n - 1):
        cost = 2 * _plan_r(c >> a).cost + _plan_pair(a, _below(c, a)).cost
        if cost < best.cost:
            best = Plan(cost, "pair", (a,))
    return best


@memo
def _plan_r(c: int, at: int = 0) -> Plan:
    n = c.bit_length()
    if c & c - 1 == 0:
        return Plan(_product_r(n - 1) if c else 0, "product")
    best = NONE
    if not at and n <= EVERY:
        best = Plan(_plan_r(c ^ 1 << n - 1).cost + _product_r(n - 1), "term", (n - 1,))
    for a in (at,) if at else _windowed(n, 0.15, 0.55, n - 1):
        h, v = _below(c, a), c >> a
        shift = _plan_p(v).cost
        for way, cost in (
            ("pair", _plan_pair(a, h).cost + shift),
            ("pair_r", _plan_pair_r(a, h).cost + shift),
            ("apart", _plan_r(h).cost + 2 * _product_r(a) + shift),
            ("row", _plan_row(a, h).cost + 2 * _plan_r(v).cost),
        ):
            if cost < best.cost:
                best = Plan(cost, way, (a,))
    return best


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
        cut = first + _cut_p(end - first)
        outer = self.product_l(j, k, i, first, cut, 1)
        inner = self.product_r(k, i, j, cut, end, sign)
        return _inverse(outer) + inner + outer + _inverse(inner)

    def product_l(self, j: int, i: int, k: int, first: int, end: int, sign: int) -> Code:
        """The same, with some ``σ·k`` more in ``j``."""
        if end - first <= 1:
            return self.product_p(j, i, k, first, end, sign)
        cut = first + _cut_r(end - first)
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
        pattern = _pattern(h)
        _, way, cuts = _plan_row(a, pattern)
        if way == "exact":
            return self.p(j, k, i, o, h) + self.simple_row(j, k, i, o, a, sign)
        rest, beta = _taken(h, cuts[0])
        if way == "shallow":
            at = _forced_cut(pattern, cuts[0])
            return self.p(j, k, i, o, rest, at) + self.simple_row(j, k, i, o, a, sign, cuts[0], beta)
        t, q = cuts
        at = _forced_cut(pattern >> q, t - q)
        return self.head(j, k, i, o, rest, q, at) + self.simple_row(j, k, i, o, a, sign, t, beta, q, -1)

    def row_r(self, j: int, k: int, i: int, o: int, a: int, h: Sequence[int], sign: int) -> Code:
        h = _trimmed(h)
        pattern = _pattern(h)
        _, way, cuts = _plan_row_r(a, pattern)
        if way == "row":
            return self.row(j, k, i, o, a, h, sign)
        if way == "exact":
            return self.r(j, k, i, o, h) + self.simple_row(j, k, i, o, a, sign)
        rest, beta = _taken(h, cuts[0])
        if way == "shallow":
            at = _forced_cut(pattern, cuts[0])
            return self.r(j, k, i, o, rest, at) + self.simple_row(j, k, i, o, a, sign, cuts[0], beta)
        t, q = cuts
        return (
            self.row_r(j, k, i, o, q, rest[:q], -1)
            + self.p(k, j, i, o + q, rest[q:], _forced_cut(pattern >> q, t - q))
            + self.simple_row(j, k, i, o, a, sign, t, beta, q, 1)
        )

    def pair(self, j: int, k: int, i: int, o: int, a: int, h: Sequence[int]) -> tuple[Code, Code]:
        """Before the shift of ``k`` (with ``-A_a``) and after it (with ``A_a``)."""
        h = _trimmed(h)
        _, way, cuts = _plan_pair(a, _pattern(h))
        if way == "apart":
            t = _cut_r(a)
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
            at = _forced_cut(_pattern(lower) >> q1, inner - q1)
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
        _, way, cuts = _plan_p(_pattern(c), at)
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
        _, way, (*cuts,) = _plan_r(_pattern(c), at)
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
            row = self.simple_row(j, k, i, o, a, 1, _cut_r(a), 1)
            return self.r(j, k, i, o, c[:a]) + _inverse(row) + shift + row
        t, q, other = _plan_pair_r(a, _pattern(c[:a])).cuts
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
