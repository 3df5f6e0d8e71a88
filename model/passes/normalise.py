"""Normalise: formulas to polynomials over atoms.

Precondition: any formulas. Postcondition: the same polynomials over a :class:`Table`: sums and products flat,
constants folded, signs and common scales moved outwards, equal subexpressions one atom, linear forms collected. Sums
inside products stay as they were written. Cost: linear in the formula, without recursion.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from ..formula import Formula, flat_arguments, postorder, shared_nodes
from .polynomial import Coefficient, Monomial, Polynomial, Table, add_into, plain, times

__all__ = ["normalise"]


def normalise(outputs: Mapping[str, Formula]) -> tuple[Table, dict[str, Polynomial]]:
    """The table of atoms and each output as a polynomial over it."""
    nodes = list(postorder(*outputs.values()))
    shared = shared_nodes(nodes) | {id(formula) for formula in outputs.values()}
    denominator = 1
    names: dict[str, int] = {}
    for node in nodes:
        if node.kind == "variable":
            names.setdefault(node.value, len(names))
        elif node.kind == "constant" and denominator % node.value.denominator:
            denominator *= node.value.denominator
    table = Table(names, denominator)
    parent = {id(arg): node.kind for node in nodes for arg in node.args}
    known: dict[int, Polynomial] = {}
    for node in nodes:
        match node.kind:
            case "constant":
                known[id(node)] = {(): plain(node.value)} if node.value else {}
            case "variable":
                known[id(node)] = {((names[node.value], 1),): 1}
            case "power":
                known[id(node)] = _power(table, known[id(node.args[0])], node.value)
            case kind if id(node) not in shared and parent.get(id(node)) == kind:
                continue  # part of a longer chain of the same operator
            case "sum":
                total: Polynomial = {}
                known[id(node)] = total
                for arg in flat_arguments(node, shared):
                    for monomial, coefficient in known[id(arg)].items():
                        add_into(total, monomial, coefficient)
            case _:
                known[id(node)] = _product(table, [known[id(arg)] for arg in flat_arguments(node, shared)])
    return table, {name: known[id(formula)] for name, formula in outputs.items()}


def _product(table: Table, factors: list[Polynomial]) -> Polynomial:
    """The product with its sums kept: one monomial, unless a sum is multiplied by constants only."""
    scale: Coefficient = 1
    monomial: Monomial = ()
    sums: list[Polynomial] = []
    for factor in factors:
        if not factor:
            return {}
        if len(factor) == 1:
            ((part, coefficient),) = factor.items()
            scale = scale * coefficient
            monomial = times(monomial, part)
        else:
            sums.append(factor)
    if len(sums) == 1 and not monomial:
        return {m: plain(c * scale) for m, c in sums[0].items()}
    for polynomial in sums:
        size, reduced = table.reduced(polynomial)
        scale = scale * size
        monomial = times(monomial, ((table.atom(reduced), 1),))
    return {monomial: plain(Fraction(scale))}


def _power(table: Table, base: Polynomial, exponent: int) -> Polynomial:
    if exponent == 0:
        return {(): 1}
    if exponent == 1 or not base:
        return base
    if len(base) == 1:
        ((part, coefficient),) = base.items()
        return {tuple((atom, e * exponent) for atom, e in part): plain(Fraction(coefficient) ** exponent)}
    size, reduced = table.reduced(base)
    return {((table.atom(reduced), exponent),): plain(Fraction(size) ** exponent)}
