"""Drafts: all compute the formula, after every step, and the shortest is the first."""

from dataclasses import replace
from fractions import Fraction

import pytest
from skinny.model.compiler import drafts as drafts_module
from skinny.model.compiler.drafts import drafts_of, polish
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


def test_a_draft_before_a_step_can_be_polished(blocks):
    table, polynomial = blocks.polynomial_of("y = 2*a*b^2 + a + (a - b)*a*c^2")
    goal = Goal("clean", 3, True, frozenset(["schedule", "search"]), (0, 1, 0))
    (*_, draft), _ = drafts_of("y", polynomial, table, goal, 0)
    steps = [step for step, _ in draft.history]
    emitted = draft.until(draft.history[0][1])
    assert [step for step, _ in emitted.history] == ["emit"]
    polish(draft, replace(goal, without=frozenset()))
    assert [step for step, _ in draft.history] == [*steps, "schedule", "search"]
    assert draft.code.cycles < draft.cleaned.cycles
    assert len(emitted.history) == 1


def test_the_draft_before_the_schedule_is_searched_too(blocks):
    """The search gets further from the order as it was: 8 words against 9."""
    table, polynomial = blocks.polynomial_of("y = 2*a*b*c + 3*c*c - b*a*b*c + 3*c*c - b")
    drafts, _ = drafts_of("y", polynomial, table, Goal("clean", 3, True, frozenset(), (0, 1, 0)), 0)
    assert drafts[0].code.cycles == 8
    assert "schedule" not in [step for step, _ in drafts[0].history]


def test_equal_code_is_taken_through_a_pass_once(blocks, monkeypatch):
    """Different decisions often make equal code; each draft has the result, and the work is done once."""
    given = []

    def noted(code):
        given.append((code.output, *code.instructions()))
        return code

    for name in ("prune", "schedule", "search"):
        monkeypatch.setattr(drafts_module, name, noted)
        table, polynomial = blocks.polynomial_of("y = a^4*b^2 + a^2*b^4 - 3*a^2*b^2 + 1")
        others = frozenset(["peephole", "prune", "schedule", "search"]) - {name}
        found, _ = drafts_of("y", polynomial, table, Goal("clean", 3, True, others, (0, 1, 0)), 0)
        taken = [draft for draft in found if name in [step for step, _ in draft.history]]
        assert len(taken) > len(given) == len(set(given))
        given.clear()
