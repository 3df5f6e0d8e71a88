"""Candidates: every way to compute a polynomial computes it, at the cost that was promised."""

from fractions import Fraction

import pytest
from skinny.model.compiler.candidates import candidates, form_ends
from skinny.model.compiler.code import Affine, Code
from skinny.model.compiler.emit import emit
from skinny.model.compiler.goal import Goal

FORMULAS = ["y = a*b + 3*a - 2", "y = (a + 2*b)^3 - 1/2", "y = a^4 - 3*a^2 + 5", "y = a*b*c - a*c + b/3"]
START = (0, 1, 0)


@pytest.mark.parametrize("boxed", [False, True])
@pytest.mark.parametrize("text", FORMULAS)
def test_every_candidate_computes_the_formula(blocks, text, boxed):
    table, polynomial = blocks.polynomial_of(text)
    box = tuple((Fraction(-1), Fraction(3)) for _ in table.names) if boxed else None
    goal = Goal("clean", 3, True, frozenset(), START, box)
    x = [Fraction(5, 3), Fraction(-7, 2), Fraction(11)][: len(table.names)]
    values = dict(zip(table.names, x, strict=True))
    wanted = eval(text.removeprefix("y = ").replace("^", "**"), {}, values)
    found = list(candidates(polynomial, table, goal))
    assert len(found) > 2
    for candidate in found:
        made = candidate.made
        code = made if isinstance(made, Code) else emit(made, goal.block_contract, START)
        assert len(code) == candidate.length
        assert blocks.run(code.instructions(), x, START)[code.output] == pytest.approx(wanted, rel=1e-12)


def test_ends_of_a_form():
    box = [(Fraction(-1), Fraction(2)), (Fraction(3), Fraction(4))]
    assert form_ends(Affine(((0, 2), (1, -5)), 7), box) == (-15, -4)


def test_small_polynomials_are_tried_without_single_decisions(blocks):
    table, polynomial = blocks.polynomial_of("y = a*b*c + 3*a*(b - 2*c) + 5*b*c")
    found = list(candidates(polynomial, table, Goal("clean", 3, True, frozenset(), START)))
    without = {"", "attention", "order", "contracts", "telescope", "associate", "associate, order"}
    assert {candidate.without for candidate in found if candidate.source == "contracts"} == without
