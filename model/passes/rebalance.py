"""Rebalance: deep chains of products cut in two, again and again (Brent).

Precondition: a polynomial over atoms. Postcondition: an equal one, or none when it holds no chain. A chain is ``f_0 =
r_0 + m_0·f_1``, ``f_1 = r_1 + m_1·f_2``, …, as Horner's rule makes it; cut before level ``k`` it is ``A·v + B`` with
``A = m_0·…·m_(k-1)``, ``v = f_k`` and ``B`` the levels above with nothing below them. Where to cut follows from what
the contracts cost for levels that are all alike. Length for ``n`` levels: about ``n^1.7`` instead of ``2^n``. Cost:
quadratic in ``n`` up to :data:`COUNTED` levels.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .polynomial import Coefficient, Monomial, Polynomial, Table, add_into, plain, times

__all__ = ["Level", "find_chain", "product_costs", "rebalance"]

#: Shorter chains are as good as they were written.
SHORTEST = 2
#: Longer chains are halved until they are this short.
COUNTED = 512
#: Chains beyond this give programs of more than 10^8 instructions; they are not worth the work.
LONGEST = 30_000


class Level(NamedTuple):
    """``f = rest + scale·multiplier·(next level)``."""

    rest: Polynomial
    multiplier: Monomial
    scale: Coefficient


def rebalance(table: Table, polynomial: Polynomial) -> Polynomial | None:
    """The polynomial with the chain that starts at its top balanced, or none when there is no chain worth it."""
    levels, end = find_chain(table, polynomial)
    if not SHORTEST <= len(levels) <= LONGEST:
        return None
    unit = all(abs(level.rest.get((), 0)) == len(level.rest) == 1 for level in levels)
    return _balanced(table, levels, 0, len(levels), end, cuts(min(len(levels), COUNTED), unit), top=True)


def find_chain(table: Table, polynomial: Polynomial) -> tuple[list[Level], Polynomial]:
    """The levels of the longest chain from the top, and the polynomial it ends in."""
    variables = len(table.names)
    depths = [0] * variables
    for inner in table.sums:
        depths.append(1 + max((depths[atom] for m in inner for atom, _ in m), default=0))
    levels: list[Level] = []
    here = polynomial
    while True:
        steps = [(depths[atom], atom, m) for m in here for atom, e in m if e == 1 and atom >= variables]
        if not steps:
            products = [m for m in here if sum(e for _, e in m) > 1]
            if len(products) == 1:
                ((last, exponent),) = products[0][-1:]
                multiplier = products[0][:-1] + (((last, exponent - 1),) if exponent > 1 else ())
                levels.append(Level({m: c for m, c in here.items() if m != products[0]}, multiplier, here[products[0]]))
                return levels, {((last, 1),): 1}
            linear = [m for m in here if m]
            if len(here) == 2 and len(linear) == 1:
                levels.append(Level({(): here[()]}, linear[0], here[linear[0]]))
                return levels, {(): 1}
            return levels, here
        _, atom, monomial = max(steps)
        if sum(any(a == atom for a, _ in m) for m in here) > 1:
            return levels, here
        rest = {m: c for m, c in here.items() if m != monomial}
        levels.append(Level(rest, tuple(f for f in monomial if f[0] != atom), here[monomial]))
        here = table.sums[atom - variables]


def _balanced(
    table: Table, levels: list[Level], a: int, b: int, end: Polynomial, cut: tuple[list[int], list[int]], top: bool
) -> Polynomial:
    """Levels ``a`` to ``b - 1`` on top of ``end``. Recursion goes into ``v`` only, so its depth is logarithmic."""
    out: Polynomial = {}
    while a < b:
        if not end:
            b, end = b - 1, levels[b - 1].rest
            continue
        count = b - a
        size = cut[0 if top else 1][count] if count < len(cut[0]) else count // 2
        scale: Coefficient = 1
        product: Monomial = ()
        powers: dict[int, int] = {}
        for level in levels[a : a + size]:
            scale = scale * level.scale
            for atom, exponent in level.multiplier:
                powers[atom] = powers.get(atom, 0) + exponent
        product = tuple(sorted(powers.items()))
        inner = _balanced(table, levels, a + size, b, end, cut, top=False)
        _add_product(table, out, scale, product, inner)
        b, end = a + size - 1, levels[a + size - 1].rest
    for monomial, coefficient in end.items():
        add_into(out, monomial, coefficient)
    return out


def _add_product(table: Table, out: Polynomial, scale: Coefficient, product: Monomial, inner: Polynomial) -> None:
    if len(inner) == 1 or not product:
        for monomial, coefficient in inner.items():
            add_into(out, times(product, monomial), plain(coefficient * scale))
    else:
        size, reduced = table.reduced(inner)
        add_into(out, times(product, ((table.atom(reduced), 1),)), plain(scale * size))


@cache
def cuts(most: int, unit: bool) -> tuple[list[int], list[int]]:
    """The best cut for each number of levels, under P and under L or R. With ``unit`` the rests are constants, so the
    last level of every ``B`` is a bare product."""
    p, r = product_costs(most + 1)
    chain_p = np.ones(most + 1, dtype=np.int64)
    chain_r = np.ones(most + 1, dtype=np.int64)
    cut_p, cut_r = [0], [0]
    tail = 0 if unit else 1
    for n in range(1, most + 1):
        k = np.arange(1, n + 1)
        over_p = chain_p[k - 1] + 2 * r[k] + 2 * chain_r[n - k]
        over_r = chain_r[k - 1] + np.minimum(2 * r[k] + chain_p[n - k], 2 * chain_r[n - k] + p[k])
        over_p[-1] = chain_p[n - 1] + p[n + tail]
        over_r[-1] = chain_r[n - 1] + r[n + tail]
        cut_p.append(int(over_p.argmin()) + 1)
        cut_r.append(int(over_r.argmin()) + 1)
        chain_p[n], chain_r[n] = over_p.min(), over_r.min()
    return cut_p, cut_r


def product_costs(most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """What products of single variables cost, by count."""
    p = np.ones(most + 1, dtype=np.int64)
    r = np.ones(most + 1, dtype=np.int64)
    for n in range(2, most + 1):
        p[n] = (2 * r[1:n] + 2 * r[n - 1 : 0 : -1]).min()
        r[n] = (2 * r[1:n] + p[n - 1 : 0 : -1]).min()
    return p, r
