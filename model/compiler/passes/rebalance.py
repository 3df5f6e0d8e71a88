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
from skinny.model.compiler.contracts import CEILING, Promise, product_costs
from skinny.model.compiler.polynomial import Coefficient, Monomial, Polynomial, Table, add_into, plain, times
from skinny.model.limits import check

__all__ = ["Level", "find_chain", "rebalance"]

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


#: The contracts that a cut is chosen for, which are the rows of the tables here. ``DIRTY_TARGET`` costs what
#: ``DIRTY_THIRD`` does.
CONTRACTS = (Promise.RESTORE, Promise.DIRTY_THIRD, Promise.SPEND_ZERO)


class Cut(NamedTuple):
    """``A`` takes ``size`` levels; the contracts of ``v`` and of ``B``."""

    size: int
    inner: Promise
    rest: Promise


#: By whether the chain ends in one, by contract, by the number of levels.
Cuts = list[list[list[Cut]]]


def rebalance(table: Table, polynomial: Polynomial, clean: bool) -> Polynomial | None:
    """The polynomial with the chain that starts at its top balanced, or none when there is no chain worth it."""
    levels, end = find_chain(table, polynomial)
    if not SHORTEST <= len(levels) <= LONGEST:
        return None
    unit = all(_is_one(level.rest) for level in levels)
    cut = cuts(min(len(levels), COUNTED), unit)
    return _balanced(table, levels, 0, len(levels), end, cut, Promise.SPEND_ZERO if clean else Promise.RESTORE)


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
    table: Table, levels: list[Level], a: int, b: int, end: Polynomial, cut: Cuts, contract: Promise
) -> Polynomial:
    """Levels ``a`` to ``b - 1`` on top of ``end``. Recursion goes into ``v`` only, so its depth is logarithmic."""
    out: Polynomial = {}
    while a < b:
        check()
        if not end:
            b, end = b - 1, levels[b - 1].rest
            continue
        count = b - a
        best = cut[_is_one(end)][contract]
        size, within, contract = best[count] if count < len(best) else Cut(count // 2, Promise.DIRTY_THIRD, contract)
        scale: Coefficient = 1
        product: Monomial = ()
        powers: dict[int, int] = {}
        for level in levels[a : a + size]:
            scale = plain(scale * level.scale)
            for atom, exponent in level.multiplier:
                powers[atom] = powers.get(atom, 0) + exponent
        product = tuple(sorted(powers.items()))
        inner = _balanced(table, levels, a + size, b, end, cut, within)
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


def _is_one(polynomial: Polynomial) -> bool:
    """Whether the polynomial is 1 or -1."""
    return abs(polynomial.get((), 0)) == len(polynomial) == 1


@cache
def cuts(most: int, unit: bool) -> Cuts:
    """The best cut of a chain that ends in one (or else in one more factor), for each contract and number of levels.
    With ``unit`` the rests are one as well, so every ``B`` ends in it."""
    chains = np.ones((2, len(CONTRACTS), most + 1), dtype=np.int64)
    found: list[list[list[Cut]]] = [[], []]
    # What every ``B`` costs has to be known first.
    for one in (int(unit), 1 - int(unit)):
        found[one] = _cuts(chains[one], chains[int(unit)], one)
    return found


def _cuts(chain: NDArray[np.int64], above: NDArray[np.int64], one: int) -> list[list[Cut]]:
    """Fills in what ``chain`` costs, by contract and number of levels; ``above`` is what its ``B`` cost."""
    most = chain.shape[1] - 1
    p, r = product_costs(most + 1)
    out = [[Cut(0, Promise.DIRTY_THIRD, contract)] for contract in CONTRACTS]
    for n in range(1, most + 1):
        k = np.arange(1, n + 1)
        whole = n + 1 - one
        factors = np.arange(1, whole)
        clean = min((r[factors] + r[whole - factors]).tolist(), default=1)
        b_p, b_r, b_c = (row[k - 1] for row in above)
        v_p, v_r = chain[Promise.RESTORE, n - k], chain[Promise.DIRTY_THIRD, n - k]
        # A way: the contract it is for, its cost with v, that with a bare product, and the contracts of v and B.
        ways = (
            (Promise.RESTORE, b_p + 2 * r[k] + 2 * v_r, b_p[-1] + p[whole], Promise.DIRTY_THIRD, Promise.RESTORE),
            (Promise.DIRTY_THIRD, b_r + 2 * r[k] + v_p, b_r[-1] + r[whole], Promise.RESTORE, Promise.DIRTY_THIRD),
            (Promise.DIRTY_THIRD, b_r + 2 * v_r + p[k], b_r[-1] + r[whole], Promise.DIRTY_THIRD, Promise.DIRTY_THIRD),
            (Promise.SPEND_ZERO, b_r + r[k] + v_r, b_r[-1] + clean, Promise.DIRTY_THIRD, Promise.DIRTY_THIRD),
            (Promise.SPEND_ZERO, b_c + 2 * r[k] + v_p, b_c[-1] + r[whole], Promise.RESTORE, Promise.SPEND_ZERO),
            (Promise.SPEND_ZERO, b_c + 2 * v_r + p[k], b_c[-1] + r[whole], Promise.DIRTY_THIRD, Promise.SPEND_ZERO),
        )
        best = dict.fromkeys(CONTRACTS, (CEILING, Cut(n, Promise.DIRTY_THIRD, Promise.DIRTY_THIRD)))
        for contract, cost, bare, inner, rest in ways:
            cost[-1] = bare
            least = int(cost.argmin())
            best[contract] = min(best[contract], (int(cost[least]), Cut(least + 1, inner, rest)))
        for contract, (length, cut) in best.items():
            chain[contract, n] = length
            out[contract].append(cut)
    return out
