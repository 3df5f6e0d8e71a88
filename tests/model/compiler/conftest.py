"""Blocks written out and run, for the tests of what makes them; nothing of ``emit`` is used here."""

from fractions import Fraction
from types import SimpleNamespace

import pytest
from skinny.model.compiler.code import Affine, Instruction
from skinny.model.compiler.contracts import TARGET
from skinny.model.compiler.normalise import normalise
from skinny.model.formula.formula import operations
from skinny.model.formula.parse import parse_formula


def value_of(scalar: Affine, x):
    return scalar.bias + sum(c * x[u] for u, c in scalar.terms)


def written_out(expression, contract):
    """The instructions of a block on its roles: ``(dst, src, sign, scalar)``."""
    out = []
    for item in expression.word(contract):
        if isinstance(item, Instruction):
            out.append(tuple(item))
            continue
        part = [
            (item.roles[dst], item.roles[src], sign, scalar)
            for dst, src, sign, scalar in written_out(item.block, item.contract)
        ]
        if item.negate:
            target = item.roles[TARGET]
            part = [(dst, src, -sign if target in (dst, src) else sign, scalar) for dst, src, sign, scalar in part]
        if item.reverse:
            part = [(dst, src, -sign, scalar) for dst, src, sign, scalar in reversed(part)]
        out += part
    return out


def run_instructions(instructions, x, registers):
    """The registers after the instructions at the point ``x``."""
    out = list(registers)
    for dst, src, sign, scalar in instructions:
        out[dst] += sign * value_of(scalar, x) * out[src]
    return out


def polynomial_of(text):
    """The table of atoms and the polynomial of a formula with one output."""
    outputs = parse_formula(text)
    table, polynomials = normalise(outputs, operations(*outputs.values()))
    return table, polynomials["y"]


def value_at(table, polynomial, x):
    """The polynomial at the point ``x``, exactly; the sums behind its atoms are evaluated first."""
    known = list(x)
    for inner in [*table.sums, polynomial]:
        total = Fraction(0)
        for monomial, coefficient in inner.items():
            term = Fraction(coefficient)
            for atom, exponent in monomial:
                term *= known[atom] ** exponent
            total += term
        known.append(total)
    return known[-1]


@pytest.fixture(scope="session")
def blocks():
    return SimpleNamespace(
        written_out=written_out, run=run_instructions, polynomial_of=polynomial_of, value_at=value_at
    )
