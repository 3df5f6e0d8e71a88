"""Chain plans: the cheapest way to write each piece of a chain; see ``chain`` for the rows they are made of.

The dirt ``A_t`` is a term of the chain that is wanted anyway, or cancels against the other row of a pair; the dirt
``A_q`` is what a row of the shorter head needs. Plans hold the cheapest choice for a *pattern*: bit ``t`` is set when
``c_t`` is not zero; signs are free. Every plan is for one of these contracts, ``h`` a pattern shorter than ``a + 1``:

==============  =======================================================================================================
``strict``      ``j += c·i``
``loose``       ``j += c·i``, and ``k`` may be left with some ``σ·i`` more
``row``         ``j += A_a·k + h·i``
``row_loose``   the same, and ``k`` may be given some ``σ·i`` before
``pair``        two rows that add up to ``h·i``; between them ``k`` may be shifted by ``v·i``, which makes ``A_a·v·i``
``pair_loose``  the same, and ``k`` may be left with some ``σ·i`` more
==============  =======================================================================================================

Precondition: patterns. Postcondition: plans with exact lengths. Cost: all patterns of up to :data:`SEARCHED`
coefficients that occur, then windows of cuts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from skinny.model.limits import check

from .contracts import CEILING, product_costs

__all__ = [
    "LONGEST",
    "SEARCHED",
    "Plan",
    "below",
    "forced_cut",
    "loose_cut",
    "pattern_of",
    "plan_loose",
    "plan_pair",
    "plan_pair_loose",
    "plan_row",
    "plan_row_loose",
    "plan_strict",
    "strict_cut",
]

#: Longer chains are left to rebalancing; the depth of recursion and the time to plan stay small.
LONGEST = 1024
#: Patterns up to this length are tried with dirt at every place, longer ones with dirt on set bits only.
SEARCHED = 12
#: Up to these lengths every cut is tried, every cut in a window around the best ones, about ``POINTS`` cuts in it.
EVERY = 40
WINDOW = 80
POINTS = 12


class Window(NamedTuple):
    """The share of a piece's length where its cuts are looked for when the piece is too long to try every cut."""

    low: float
    high: float


# Every cut of chains of ones with 20 to 40 levels was tried: the best ones lie where the comments say, at about the
# same shares whatever the length. The windows reach well beyond that, because other patterns move the cuts.
#: The cut of a chain under the strict contract, best at 0.32 to 0.44, and under the loose one, best at 0.26 to 0.33.
STRICT_CUT, LOOSE_CUT = Window(0.25, 0.65), Window(0.15, 0.55)
#: ``t`` of a row, best at 0.67 to 0.79; of a row in a pair, at 0.67 to 0.75; of two deep rows in one, at 0.67 to 0.76.
ROW_SOURCE_DIRT, PAIR_SOURCE_DIRT, DEEP_PAIR_SOURCE_DIRT = Window(0.5, 0.97), Window(0.5, 0.95), Window(0.55, 0.95)
#: ``q`` of a deep row, best at 0.42 to 0.59.
THIRD_DIRT = Window(0.35, 0.7)
#: ``q`` of the first and of the second of two deep rows in a pair, best at 0.30 to 0.38 and at 0.48 to 0.55.
FIRST_THIRD_DIRT, SECOND_THIRD_DIRT = Window(0.2, 0.6), Window(0.4, 0.8)

memo = lru_cache(maxsize=1 << 18)


class Plan(NamedTuple):
    """The length of a contract's code and how it is made: a way and the cuts that it needs."""

    cost: int
    way: str
    cuts: tuple[int, ...] = ()


NONE = Plan(CEILING, "none")


def pattern_of(coefficients: Sequence[int]) -> int:
    return sum(1 << t for t, c in enumerate(coefficients) if c)


def below(pattern: int, cut: int) -> int:
    return pattern & (1 << cut) - 1


def _windowed(n: int, window: Window, end: int) -> range:
    """Cuts from 1 to ``end - 1``; when ``n`` is large, only some of those in the window."""
    if n <= EVERY:
        return range(1, end)
    first, last = max(1, int(n * window.low)), min(end, int(n * window.high) + 2)
    return range(first, last, 1 if n <= WINDOW else max(1, (last - first) // POINTS))


def _may_flip(a: int, h: int, t: int) -> bool:
    """Whether dirt at ``t`` is worth a try.

    A long pattern has to stay one of few: a set bit may go where all bits but the lowest are set, as a forced cut
    follows; parts of irregular patterns are many as they are.
    """
    return a <= SEARCHED or (h >> t & 1 == 1 and h >> 1 & (h >> 1) + 1 == 0)


def forced_cut(pattern: int, t: int) -> int:
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
def _product_strict(n: int) -> int:
    return _products()[0][n]


@cache
def _product_loose(n: int) -> int:
    return _products()[1][n]


@memo
def _shallow(a: int, t: int) -> int:
    return 2 * _product_loose(a - t) + _product_strict(t)


@memo
def _deep(a: int, t: int, q: int) -> int:
    """``q = t`` is a shallow row with one more in its inner factor."""
    return 2 * _product_loose(a - t) + _shallow(t, q) if q < t else _shallow(a, t) + 2


@memo
def strict_cut(n: int) -> int:
    return min(range(1, n), key=lambda t: 2 * _product_loose(t) + 2 * _product_loose(n - t))


@memo
def loose_cut(n: int) -> int:
    """Where the shortest shallow row of ``n`` factors is cut; 0 for the one factor that needs no cut."""
    return min(range(1, n), key=lambda t: _shallow(n, t), default=0)


def _head(h: int, q: int, flipped: int = 0) -> int:
    """``j += A_q·k + h·i``: a row for what is below ``q``, while the rest of ``h`` shifts ``k``. Bit ``flipped`` of
    ``h``, not below ``q``, is flipped first."""
    upper, at = h >> q, 0
    if flipped:
        at = forced_cut(upper, flipped - q)
        upper ^= 1 << flipped - q
    return 2 * plan_loose(upper, at).cost + plan_row(q, below(h, q)).cost


def _head_loose(h: int, q: int, flipped: int) -> int:
    """The same when ``k`` may be given some ``σ·i`` before: the rest of ``h`` goes there and stays."""
    upper = h >> q
    shift = plan_strict(upper ^ 1 << flipped - q, forced_cut(upper, flipped - q))
    return shift.cost + plan_row_loose(q, below(h, q)).cost


def _dirty_row(
    a: int, h: int, best: Plan, plan: Callable[[int, int], Plan], head: Callable[[int, int, int], int]
) -> Plan:
    """``best``, or a cheaper row that leaves dirt: ``plan`` writes what a shallow one leaves of ``h``, ``head`` gives
    the cost of what a deep one leaves."""
    n = h.bit_length()
    for t in _windowed(a, ROW_SOURCE_DIRT, a):
        if not _may_flip(a, h, t):
            continue
        if _shallow(a, t) < best.cost:
            cost = _shallow(a, t) + plan(h ^ 1 << t, forced_cut(h, t)).cost
            if cost < best.cost:
                best = Plan(cost, "shallow", (t,))
        for q in _windowed(a, THIRD_DIRT, min(t, n - 1)):
            cost = _deep(a, t, q)
            if cost < best.cost:
                cost += head(h, q, t)
                if cost < best.cost:
                    best = Plan(cost, "deep", (t, q))
    return best


@memo
def plan_row(a: int, h: int) -> Plan:
    exact = Plan(_product_strict(a) + plan_strict(h).cost, "exact")
    return _dirty_row(a, h, exact, plan_strict, _head) if h else exact


@memo
def plan_row_loose(a: int, h: int) -> Plan:
    row = Plan(plan_row(a, h).cost, "row")
    if not h:
        return row
    exact = Plan(_product_strict(a) + plan_loose(h).cost, "exact")
    return _dirty_row(a, h, exact if exact.cost < row.cost else row, plan_loose, _head_loose)


@memo
def plan_pair(a: int, h: int) -> Plan:
    best = Plan(2 * _product_loose(a) + plan_strict(h).cost, "apart")
    if not h:
        return best
    n = h.bit_length()
    cuts = _windowed(a, PAIR_SOURCE_DIRT, a)
    for t in cuts:
        for q in _windowed(a, THIRD_DIRT, min(t + 1, n - 1)):
            for other in cuts if a <= SEARCHED else (t,):
                cost = _deep(a, t, q) + _shallow(a, other)
                if cost < best.cost:
                    cost += _head(h if other == t else h ^ 1 << t ^ 1 << other, q)
                    if cost < best.cost:
                        best = Plan(cost, "deep", (t, q, other))
        for other in range(1, t) if a <= SEARCHED else ():
            cost = _shallow(a, t) + _shallow(a, other)
            if cost < best.cost:
                cost += plan_strict(h ^ 1 << t ^ 1 << other).cost
                if cost < best.cost:
                    best = Plan(cost, "shallow", (t, other))
    for q2 in _windowed(a, SECOND_THIRD_DIRT, min(a, n - 1)):
        lower, upper = below(h, q2), 2 * plan_loose(h >> q2).cost
        for q1 in _windowed(a, FIRST_THIRD_DIRT, min(q2, lower.bit_length() - 1)):
            rows, t = _deep_pair(a, q1, q2)
            rows += upper
            if rows >= best.cost:
                continue
            cost = rows + _product_strict(q2) + _head(lower, q1)
            if cost < best.cost:
                best = Plan(cost, "both deep", (q1, q2, t, 0))
            for inner in _windowed(q2, PAIR_SOURCE_DIRT, q2):
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
    cuts = [t for t in _windowed(a, DEEP_PAIR_SOURCE_DIRT, a) if t > q2]
    return min(((_deep(a, t, q1) + _deep(a, t, q2), t) for t in cuts), default=(CEILING, 0))


@memo
def plan_pair_loose(a: int, h: int) -> Plan:
    best = NONE
    n = h.bit_length()
    for t in _windowed(a, PAIR_SOURCE_DIRT, a):
        for q in _windowed(a, THIRD_DIRT, min(t + 1, n - 1)):
            for other in range(1, a) if a <= SEARCHED else (t,):
                g = h if other == t else h ^ 1 << t ^ 1 << other
                cost = _deep(a, t, q) + _shallow(a, other)
                if cost < best.cost and g >> q:
                    cost += plan_strict(g >> q).cost + plan_row_loose(q, below(g, q)).cost
                    if cost < best.cost:
                        best = Plan(cost, "deep", (t, q, other))
    return best


def _cuts(c: int, at: int, window: Window) -> Iterator[tuple[int, int, int]]:
    """The cuts of a chain that are tried, with the patterns below and above each; only ``at`` unless that is 0."""
    n = c.bit_length()
    for a in (at,) if at else _windowed(n, window, n - 1):
        check()
        yield a, below(c, a), c >> a


def _product(c: int, costs: Callable[[int], int]) -> Plan | None:
    """The plan of a chain of at most one term, none for a longer one."""
    return None if c & c - 1 else Plan(costs(c.bit_length() - 1) if c else 0, "product")


@memo
def plan_strict(c: int, at: int = 0) -> Plan:
    """``at``: the only cut allowed, unless 0."""
    product = _product(c, _product_strict)
    if product is not None:
        return product
    n = c.bit_length()
    best = NONE
    # A long chain never gains from its terms one by one, and trying it would make the recursion as deep as it is long.
    if not at and n <= EVERY:
        for t in range(n) if n <= SEARCHED else (n - 1,):
            if c >> t & 1:
                cost = plan_strict(c ^ 1 << t).cost + _product_strict(t)
                if cost < best.cost:
                    best = Plan(cost, "term", (t,))
    for a, h, v in _cuts(c, at, STRICT_CUT):
        cost = 2 * plan_loose(v).cost + plan_pair(a, h).cost
        if cost < best.cost:
            best = Plan(cost, "pair", (a,))
    return best


@memo
def plan_loose(c: int, at: int = 0) -> Plan:
    """``at``: the only cut allowed, unless 0."""
    product = _product(c, _product_loose)
    if product is not None:
        return product
    n = c.bit_length()
    best = NONE
    if not at and n <= EVERY:
        best = Plan(plan_loose(c ^ 1 << n - 1).cost + _product_loose(n - 1), "term", (n - 1,))
    for a, h, v in _cuts(c, at, LOOSE_CUT):
        shift = plan_strict(v).cost
        for way, cost in (
            ("pair", plan_pair(a, h).cost + shift),
            ("pair_loose", plan_pair_loose(a, h).cost + shift),
            ("apart", plan_loose(h).cost + 2 * _product_loose(a) + shift),
            ("row", plan_row(a, h).cost + 2 * plan_loose(v).cost),
        ):
            if cost < best.cost:
                best = Plan(cost, way, (a,))
    return best
