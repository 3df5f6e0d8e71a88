"""States that recur, in programs whose registers are known by hand."""

from fractions import Fraction

from skinny.model.bounds.recurring import recurring_states
from skinny.model.program.forms import Input, Weight
from skinny.model.program.program import Output


def test_registers_recur_between_the_terms_of_a_sum(reference):
    # The terms a·b, b·c, … are added to R0 through R2, which is clean before each of them.
    code = [step for u in range(10) for step in ((2, 1, 1, u), (0, 2, 1, u + 1), (2, 1, -1, u))]
    program = reference.program_of(code, "abcdefghijk", [], [Input(u) for u in range(11)])
    found = recurring_states(program)
    assert [t for t, often in enumerate(found) if often] == list(range(0, 30, 3))


def test_a_restart_brings_all_registers_back(reference):
    code = [(2, 1, 1, 0), (2, 1, -1, 0)] * 5 + [(0, 1, 1, 0), (1, 0, 1, 0), (2, 1, 1, 0), (0, 1, 1, 0)]
    for restart in (True, False):
        outputs = (Output("y", 0, 13, restart), Output("z", 0, 14))
        program = reference.program_of(code, "a", [], [Input(0)], outputs=outputs)
        assert recurring_states(program)[13] == restart


def test_weights_that_differ_are_told_apart(reference):
    # 1/3 is taken away where 1/3 was added; 1/4 would leave something behind.
    code = [(2, 1, 1, 0), (2, 1, -1, 0)] * 3 + [(0, 1, 1, 0), (1, 0, 1, 0), (0, 1, 1, 0)]
    weights = [Fraction(1, 3), Fraction(1, 4)]
    program = reference.program_of(code, "", weights, [Weight(0), Weight(1)])
    assert recurring_states(program)[:6] == [True] * 6
    code[1::2] = [(2, 1, -1, 1)] * len(code[1::2])
    other = reference.program_of(code, "", weights, [Weight(0), Weight(1)])
    assert recurring_states(other) != recurring_states(program)
