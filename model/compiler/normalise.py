"""Normalise: formulas to polynomials over atoms.

Precondition: any formulas. Postcondition: the same polynomials over a :class:`Table`: sums and products flat,
constants folded, signs and common scales moved outwards, equal subexpressions one atom, linear forms collected. Sums
inside products stay as they were written. Cost: linear in the formula, without recursion.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from skinny.model.errors import InputError
from skinny.model.formula.formula import Formula, Operations
from skinny.model.limits import MOST_BITS, check, current
from skinny.model.named_weight import NamedWeight

from .polynomial import Coefficient, Monomial, Polynomial, Table, add_into, plain, raised

__all__ = ["normalise"]


def normalise(
    outputs: Mapping[str, Formula],
    operations: Operations,
    keep_forms: bool = False,
    *,
    attention: bool = True,
    fused: Iterable[tuple[int, int]] = (),
) -> tuple[Table, dict[str, Polynomial]]:
    """The table of atoms and each output as a polynomial over it. With ``keep_forms``, linear forms inside products are
    atoms with the scale that they were written with, which may be what keeps their values small in fixed point. With
    ``attention`` a named weight and an input that are multiplied become one atom: the accumulator makes their product
    in one step. ``fused`` are pairs of these that the table has in any case."""
    denominator = 1
    inputs: dict[str, None] = {}
    weights: dict[str, NamedWeight] = {}
    for node, _ in operations:
        if node.kind == "variable":
            inputs[node.value] = None
        elif node.kind == "weight":
            if weights.setdefault(node.value.name, node.value) != node.value:
                raise InputError(f"the weight {node.value.name!r} is defined in two ways")
        elif node.kind == "constant" and denominator.bit_length() <= MOST_BITS:
            denominator *= node.value.denominator if denominator % node.value.denominator else 1
    for name in weights:
        if name in inputs:
            raise InputError(f"{name!r} is the name of an input and of a weight")
    pairs = dict.fromkeys(fused)
    while True:
        table = Table(inputs, denominator, list(weights.values()), list(pairs))
        polynomials = _polynomials(table, outputs, operations, keep_forms)
        # The numbers of atoms depend on the pairs, so those that are found want another round.
        if not table.missing or not attention:
            return table, polynomials
        pairs |= table.missing


def _polynomials(
    table: Table, outputs: Mapping[str, Formula], operations: Operations, keep_forms: bool
) -> dict[str, Polynomial]:
    names = {name: atom for atom, name in enumerate(table.names)}
    known: dict[int, Polynomial] = {}
    for node, args in operations:
        check()
        match node.kind:
            case "constant":
                known[id(node)] = {(): plain(node.value)} if node.value else {}
            case "variable":
                known[id(node)] = {((names[node.value], 1),): 1}
            case "weight":
                known[id(node)] = {((names[node.value.name], 1),): 1}
            case "power":
                known[id(node)] = _power(table, known[id(args[0])], node.value, keep_forms)
            case "sum":
                total: Polynomial = {}
                known[id(node)] = total
                for arg in args:
                    for monomial, coefficient in known[id(arg)].items():
                        add_into(total, monomial, coefficient)
            case _:
                known[id(node)] = _product(table, [known[id(arg)] for arg in args], keep_forms)
    return {name: known[id(formula)] for name, formula in outputs.items()}


def _product(table: Table, factors: list[Polynomial], keep_forms: bool) -> Polynomial:
    """The product with its sums kept: one monomial, unless a sum is multiplied by constants only."""
    scale: Coefficient = 1
    powers: dict[int, int] = {}
    sums: list[Polynomial] = []
    for factor in factors:
        if len(factor) == 1 and not (keep_forms and _is_scaled_input(factor)):
            ((part, coefficient),) = factor.items()
            if coefficient != 1:
                scale = plain(scale * coefficient)
            for atom, exponent in part:
                powers[atom] = powers.get(atom, 0) + exponent
        elif factor:
            sums.append(factor)
        else:
            return {}
    if table.weights:
        _fuse(table, powers, sums)
    if len(sums) == 1 and not powers:
        return {m: plain(c * scale) for m, c in sums[0].items()}
    for polynomial in sums:
        size, reduced = (1, polynomial) if keep_forms and _is_form(polynomial) else table.reduced(polynomial)
        scale = plain(scale * size)
        atom = table.atom(reduced)
        powers[atom] = powers.get(atom, 0) + 1
    return {_monomial(powers): scale}


def _fuse(table: Table, powers: dict[int, int], sums: list[Polynomial]) -> None:
    """Multiply named weights with inputs, each with one: those of the product, and those of sums that are linear in
    inputs alone, or in named weights alone, when what they are multiplied with is of the other kind."""
    for is_one, is_other in ((table.is_weight, table.is_input), (table.is_input, table.is_weight)):
        for place, polynomial in enumerate(sums):
            factor = next((atom for atom in powers if is_one(atom)), None)
            linear = all(not m or (len(m) == 1 and m[0][1] == 1 and is_other(m[0][0])) for m in polynomial)
            # A constant times an input is an input, but a constant times a weight is a weight that is not multiplied.
            if factor is None or not linear or (table.is_weight(factor) and () in polynomial):
                continue
            terms: Polynomial = {}
            for monomial, coefficient in polynomial.items():
                pair = (factor, monomial[0][0]) if monomial else None
                atom = factor if pair is None else table.fuse(*(pair if table.is_weight(factor) else pair[::-1]))
                if atom is not None:
                    terms[((atom, 1),)] = coefficient
            if len(terms) == len(polynomial):
                sums[place] = terms
                _take(powers, factor)
    for weight in [atom for atom in powers if table.is_weight(atom)]:
        u = next((atom for atom in sorted(powers) if table.is_input(atom)), None)
        fused = None if u is None else table.fuse(weight, u)
        if u is not None and fused is not None:
            _take(powers, weight)
            _take(powers, u)
            powers[fused] = powers.get(fused, 0) + 1


def _take(powers: dict[int, int], atom: int) -> None:
    powers[atom] -= 1
    if not powers[atom]:
        del powers[atom]


def _is_scaled_input(polynomial: Polynomial) -> bool:
    """Whether the polynomial is an input times a constant other than ±1."""
    ((monomial, coefficient),) = polynomial.items()
    return len(monomial) == 1 and monomial[0][1] == 1 and abs(coefficient) != 1


def _is_form(polynomial: Polynomial) -> bool:
    """Whether the polynomial is linear in its atoms."""
    return all(not monomial or (len(monomial) == 1 and monomial[0][1] == 1) for monomial in polynomial)


def _power(table: Table, base: Polynomial, exponent: int, keep_forms: bool) -> Polynomial:
    if exponent == 0:
        return {(): 1}
    if exponent == 1 or not base:
        return base
    if keep_forms and _is_form(base) and not (len(base) == 1 and not _is_scaled_input(base)):
        return {_monomial({table.atom(base): exponent}): 1}
    if len(base) == 1:
        ((part, coefficient),) = base.items()
        return {_monomial({atom: e * exponent for atom, e in part}): raised(coefficient, exponent)}
    size, reduced = table.reduced(base)
    return {_monomial({table.atom(reduced): exponent}): raised(size, exponent)}


def _monomial(powers: dict[int, int]) -> Monomial:
    factors = sum(powers.values())
    if factors > current().factors:
        raise InputError(f"a product of {factors:,} factors is longer than the limit, {current().factors:,} factors")
    return tuple(sorted(powers.items()))
