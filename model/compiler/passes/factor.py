"""Factor: other shapes of the same polynomial.

Precondition: polynomials over atoms. Postcondition of each function: an equal polynomial over the same table (new
atoms are added). ``expand`` multiplies out, unless that grows beyond a limit; ``horner`` takes out the variable that
occurs most, again and again; ``bisect`` splits the variables in two halves and collects equal cofactors, as the
expansion of a determinant along half of its rows does. Cost: linear in the expanded size times the number of variables.
"""

from __future__ import annotations

import random
import re
from fractions import Fraction

from skinny.model.compiler.polynomial import Coefficient, Monomial, Polynomial, Table, add_into, plain, times
from skinny.model.limits import check

__all__ = ["bisect", "expand", "horner"]

#: Expansion stops when it makes more monomials than this and than the atoms had, or monomials of a higher degree.
MOST_MONOMIALS = 2_000
DEEPEST = 64
#: The share by which the count of a variable may be overrated.
NOISE = 0.5


def expand(table: Table, polynomial: Polynomial) -> Polynomial | None:
    """The polynomial in variables only, or none when it is too large to be worth it."""
    variables = len(table.names)
    needed = table.atoms_inside(polynomial)
    most = MOST_MONOMIALS + 4 * sum(len(table.sums[atom - variables]) for atom in needed)
    expanded: dict[int, Polynomial] = {}
    for atom in sorted(needed):
        whole = _substitute(table.sums[atom - variables], expanded, variables, most)
        if whole is None:
            return None
        expanded[atom] = whole
    return _substitute(polynomial, expanded, variables, most + len(polynomial)) if needed else polynomial


def _substitute(
    polynomial: Polynomial, expanded: dict[int, Polynomial], variables: int, most: int
) -> Polynomial | None:
    out: Polynomial = {}
    for monomial, coefficient in polynomial.items():
        if not monomial or monomial[-1][0] < variables:
            add_into(out, monomial, coefficient)
            continue
        partial: Polynomial = {tuple(f for f in monomial if f[0] < variables): coefficient}
        for atom, exponent in monomial:
            if atom < variables:
                continue
            if exponent > DEEPEST:
                return None
            for _ in range(exponent):
                if len(partial) * len(expanded[atom]) > 8 * most:
                    return None
                product: Polynomial = {}
                for left, a in partial.items():
                    check()
                    for right, b in expanded[atom].items():
                        add_into(product, times(left, right), a * b)
                partial = product
                if len(partial) > most or max(map(_degree, partial), default=0) > DEEPEST:
                    return None
        for part, value in partial.items():
            add_into(out, part, value)
        if len(out) > most:
            return None
    return out


def horner(table: Table, polynomial: Polynomial, variants: int = 1) -> list[Polynomial]:
    """Nested forms of an expanded polynomial, ``x·(…) + y·(…) + …``: the greedy one, the same down to the linear terms
    (``a + x·(b + c·x)``, where the other keeps ``a + b·x`` together, one form), then ones of either kind that sometimes
    take out another variable than the most frequent."""
    if max(map(_degree, polynomial), default=0) > DEEPEST:
        return [polynomial]
    nested = [_horner(table, polynomial, None)]
    if variants > 1:
        nested.append(_horner(table, polynomial, None, linear=True))
    return nested + [
        _horner(table, polynomial, random.Random(seed), linear=seed % 2 == 0) for seed in range(1, variants)
    ]


def _horner(table: Table, polynomial: Polynomial, chance: random.Random | None, linear: bool = False) -> Polynomial:
    out: Polynomial = {}
    rest = dict(polynomial)
    users: dict[int, list[Monomial]] = {}
    for monomial in polynomial:
        if linear or len(monomial) > 1 or (monomial and monomial[0][1] > 1):
            for atom, _ in monomial:
                users.setdefault(atom, []).append(monomial)
    counts = {atom: len(monomials) for atom, monomials in users.items()}
    while counts:
        check()
        if chance is None:
            variable = min(counts, key=lambda atom: (-counts[atom], atom))
        else:
            variable = max(counts, key=lambda atom: counts[atom] * (1 + NOISE * chance.random()))
        if counts[variable] < 2:
            break
        inner: Polynomial = {}
        for monomial in users[variable]:
            if monomial in rest:
                inner[_without(monomial, variable)] = rest.pop(monomial)
                for atom, _ in monomial:
                    counts[atom] -= 1
        scale, reduced = table.reduced(_horner(table, inner, chance, linear))
        if len(reduced) == 1:
            ((monomial, coefficient),) = reduced.items()
            add_into(out, times(monomial, ((variable, 1),)), plain(coefficient * scale))
        else:
            add_into(out, times(((variable, 1),), ((table.atom(reduced), 1),)), scale)
    for monomial, coefficient in rest.items():
        add_into(out, monomial, coefficient)
    return out


def _degree(monomial: Monomial) -> int:
    return sum(exponent for _, exponent in monomial)


def _without(monomial: Monomial, variable: int) -> Monomial:
    return tuple((atom, e - (atom == variable)) for atom, e in monomial if atom != variable or e > 1)


def bisect(table: Table, polynomial: Polynomial) -> list[Polynomial]:
    """``Σ p_c·q_c`` with the ``p_c`` in one half of the variables and the ``q_c`` in the other, where cofactors repeat.

    The variables are halved in the order they were first written and in the order of their names.
    """
    used = sorted({atom for monomial in polynomial for atom, _ in monomial})
    by_name = sorted(used, key=lambda atom: [(len(w), w) for w in re.findall(r"\d+|\D+", table.names[atom])])
    halves = {frozenset(order[: len(order) // 2]) for order in (used, by_name)}
    found = [_cofactors(table, polynomial, left) for left in sorted(halves, key=sorted)]
    return [shape for shape in found if shape is not None]


def _cofactors(table: Table, polynomial: Polynomial, left: frozenset[int]) -> Polynomial | None:
    cofactors: dict[Monomial, Polynomial] = {}
    for monomial, coefficient in polynomial.items():
        key = tuple(f for f in monomial if f[0] in left)
        cofactors.setdefault(key, {})[tuple(f for f in monomial if f[0] not in left)] = coefficient
    classes: dict[frozenset[tuple[Monomial, Coefficient]], Polynomial] = {}
    for key, cofactor in cofactors.items():
        lead = cofactor[min(cofactor)]
        if any(Fraction(c) / lead % 1 for c in cofactor.values()):
            lead = 1
        shape = frozenset((m, plain(Fraction(c) / lead)) for m, c in cofactor.items())
        classes.setdefault(shape, {})[key] = lead
    if len(classes) == len(cofactors):
        return None
    out: Polynomial = {}
    for shape, multipliers in classes.items():
        scale: Coefficient = 1
        product: Monomial = ()
        for half in (multipliers, dict(shape)):
            nested = _horner(table, half, None)
            if len(nested) == 1:
                ((monomial, coefficient),) = nested.items()
                scale, product = scale * coefficient, times(product, monomial)
            else:
                size, reduced = table.reduced(nested)
                scale, product = scale * size, times(product, ((table.atom(reduced), 1),))
        add_into(out, product, plain(Fraction(scale)))
    return out
