"""Factor: other shapes of a polynomial are equal to it."""

import random

import pytest
from skinny.model.compiler.normalise import normalise
from skinny.model.compiler.passes.factor import bisect, expand, horner
from skinny.model.compiler.passes.rebalance import rebalance
from skinny.model.formula.formula import operations
from skinny.model.formula.parse import parse_formula
from skinny.model.program.modular import PRIME, random_point, residue

TEXTS = [
    "2*a*b^2 + a + (a - b)*a*c^2",
    "(a + b)^3*(c - d) + a*c/3",
    "a*c*e + a*d*e + b*c*e + b*d*e + a*c*f + a*d*f + b*c*f + b*d*f",
    "1 + a*(1 + b*(2 + c*(1 - d*(3 + e))))",
]


def ref_value(table, polynomial, values):
    """The polynomial at a point; atoms are evaluated first."""
    known = list(values)

    def at(sums):
        total = 0
        for monomial, coefficient in sums.items():
            term = residue(coefficient)
            for atom, exponent in monomial:
                term = term * pow(known[atom], exponent, PRIME) % PRIME
            total += term
        return total % PRIME

    for inner in table.sums:
        known.append(at(inner))
    return at(polynomial)


@pytest.mark.parametrize("text", TEXTS)
def test_every_shape_is_equal(text):
    outputs = parse_formula(text)
    table, polynomials = normalise(outputs, operations(*outputs.values()))
    given = polynomials["y"]
    expanded = expand(table, given)
    shapes = [expanded, *horner(table, expanded, 6), *bisect(table, expanded)]
    shapes += [shape for shape in (rebalance(table, given, clean) for clean in (True, False)) if shape is not None]
    assert max(atom for monomial in expanded for atom, _ in monomial) < len(table.names)
    point = random_point(random.Random(1), len(table.names))
    assert {ref_value(table, shape, point) for shape in shapes} == {ref_value(table, given, point)}
