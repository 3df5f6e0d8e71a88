"""Drafts: all compute the formula, after every step, and the shortest is the first."""

from fractions import Fraction

import pytest
from skinny.model.compiler.drafts import drafts_of
from skinny.model.compiler.goal import Goal


@pytest.mark.parametrize("start", [(0, 1, 0), (4, 1, -3)])
@pytest.mark.parametrize("text", ["y = a*b + 3*a - 2", "y = a^4 - 3*a^2 + 5", "y = a*b*c - a*c + b/3"])
def test_drafts(blocks, text, start):
    table, polynomial = blocks.polynomial_of(text)
    x = [Fraction(5, 3), Fraction(-7, 2), Fraction(11)][: len(table.names)]
    wanted = eval(text.removeprefix("y = ").replace("^", "**"), {}, dict(zip(table.names, x, strict=True)))
    drafts, history = drafts_of("y", polynomial, table, Goal("clean", 3, True, frozenset(), start), 0)
    assert drafts
    assert history
    cycles = [draft.code.cycles for draft in drafts]
    assert cycles == sorted(cycles)
    for draft in drafts:
        for _, code in draft.history:
            assert blocks.run(code.instructions(), x, start)[code.output] == wanted
