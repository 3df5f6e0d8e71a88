"""States: each has a home, is never computed again, and its next value is at home in the end."""

from fractions import Fraction

import pytest
from skinny.model.compiler.graph.build import NotLinearError, Style, build
from skinny.model.compiler.graph.generate import gather, scatter
from skinny.model.compiler.graph.registers import TooNarrowError
from skinny.model.compiler.graph.shortest import shortest
from skinny.model.compiler.graph.states import StateRegisters, homes
from skinny.model.formula.formula import operations
from skinny.model.formula.parse import parse_definitions

SUMS, NO_SUMS = Style(sums=True), Style(sums=False)


def graph_of(text, style=SUMS):
    found = parse_definitions(text)
    nexts = {state.name: state.next for state in found.states}
    roots = (*found.outputs.values(), *nexts.values())
    return build(found.outputs, operations(*roots), style, nexts, found.inputs)


def listing_of(text, width, *, assign=True, style=SUMS, order=gather):
    graph = graph_of(text, style)
    return order(graph, StateRegisters(graph, width, assign=assign, tidy=False, most=1000))


def written(listing):
    """The instructions as ``(dst, src, sign, mode, number of terms of the form)``."""
    return [(i.dst, i.src, i.sign, i.mode, len(i.form)) for i in listing.code]


def cycles_of(text, width, keep):
    found = parse_definitions(text)
    nexts = {state.name: state.next for state in found.states}
    known = operations(*found.outputs.values(), *nexts.values())
    program = shortest(found.outputs, known, frozenset(keep), width, frozenset(), 1000, nexts, found.inputs)
    return None if program is None else program.words + len(program.outputs)


def test_homes_leave_out_the_register_that_holds_one():
    assert [homes(count) for count in range(4)] == [[], [0], [0, 2], [0, 2, 3]]


@pytest.mark.parametrize("assign", [True, False])
@pytest.mark.parametrize("order", [gather, scatter])
def test_a_next_value_that_begins_with_the_old_one_is_written_over_it(assign, order):
    listing = listing_of("state s = 0; next s = s + x; y = s", 3, assign=assign, order=order)
    assert listing.outputs == [("y", 0, 0, False)]
    assert written(listing) == [(0, 1, 1, "add", 1)]


@pytest.mark.parametrize("assign", [True, False])
def test_two_shears_are_two_instructions(assign):
    text = "state s = 0; state c = 1; let a = s + 0.1*c; next s = a; next c = c - 0.1*a; y = a"
    # Where instructions may assign, signs stand in the weights.
    assert written(listing_of(text, 3, assign=assign)) == [(0, 2, 1, "add", 1), (2, 0, 1 if assign else -1, "add", 1)]


def test_values_that_are_handed_on_need_one_instruction_each():
    listing = listing_of("state p = 0; state q = 0; next p = q; next q = x; y = p", 3)
    assert written(listing) == [(0, 2, 1, "assign", 1), (2, 1, 1, "assign", 1)]


def test_values_are_handed_on_in_the_order_that_needs_no_copies():
    for times in ("", "*x"):
        text = f"state a = 0; state b = 0; state c = 0; next a = x; next b = a{times}; next c = b{times}; y = c"
        assert [(dst, src) for dst, src, *_ in written(listing_of(text, 4))] == [(3, 2), (2, 0), (0, 1)]


def test_two_states_with_one_next_value_keep_it_both():
    text = (
        "state a = 0; state b = 0; state c = 0; let v = a + x; next a = v; next b = v; next c = (c + x)*(c + 1); y = b"
    )
    with pytest.raises(TooNarrowError):  # nothing may be put into the homes of a and b meanwhile
        listing_of(text, 4)
    assert written(listing_of(text, 5))[:2] == [(0, 1, 1, "add", 1), (2, 0, 1, "assign", 1)]


def test_a_circle_of_states_is_opened_with_a_register_more():
    text = "state a = 1; state b = 2; next a = b; next b = a; y = a"
    assert written(listing_of(text, 4)) == [
        (3, 2, 1, "assign", 1),
        (2, 0, 1, "assign", 1),
        (0, 3, 1, "assign", 1),
    ]
    with pytest.raises(TooNarrowError):
        listing_of(text, 3)


def test_without_assigns_an_old_value_is_copied_and_subtracted():
    listing = listing_of("state s = 0; next s = x; y = s", 3, assign=False, style=NO_SUMS)
    assert written(listing) == [(2, 0, 1, "add", 1), (0, 2, -1, "add", 1), (0, 1, 1, "add", 1)]


def test_without_assigns_a_multiple_of_the_old_value_is_what_is_missing_to_it():
    listing = listing_of("state s = 0; next s = 0.75*s; y = s", 3, assign=False, style=NO_SUMS)
    copy, change = listing.code
    assert (copy.dst, copy.src, copy.sign) == (2, 0, 1)
    assert (change.dst, change.src) == (0, 2)
    assert change.sign * change.form[0][1] == Fraction(-1, 4)


def test_a_form_may_read_the_state_that_it_is_assigned_to():
    text = "state a = 0; state b = 0; next a = relu(a - 2*b + x); next b = b + 1; y = b"
    listing = listing_of(text, 3)
    relu = next(i for i in listing.code if i.mode == "relu")
    assert relu.dst == 0
    assert {register for (_, _, register), _ in relu.form} == {0, 2, -1}


def test_a_state_that_is_gone_is_not_computed_again():
    """Both outputs need r + x, which does not stay anywhere in three registers; r is over by then."""
    text = "state r = 0; state s = 0; let h = r + x; next r = h*h; y = r + x*s; z = h*s; next s = s + h"
    with pytest.raises(TooNarrowError):
        listing_of(text, 3)
    assert listing_of(text, 6).width <= 6


def test_states_have_registers_of_their_own_or_nothing():
    with pytest.raises(TooNarrowError):
        listing_of("state a = 0; state b = 0; state c = 0; next a = a; next b = b; next c = c; y = a", 3)


@pytest.mark.parametrize("text", ["y = s*s", "y = (s + x)*(s + 1)", "let h = s*x; y = h*(h + 1)"])
def test_states_are_not_multiplied_without_sums_of_registers(text):
    text = f"state s = 1; next s = s; {text}"
    with pytest.raises(NotLinearError):
        graph_of(text, NO_SUMS)
    assert graph_of(text).states


@pytest.mark.parametrize("text", ["y = s*(a*b + c)*(a + b*c)", "y = (a*b + c)*(s + x)", "y = (s*a + 1)*(b + a*c)*b"])
@pytest.mark.parametrize("style", [NO_SUMS, Style(sums=False, whole_forms=True)])
def test_a_state_is_multiplied_with_values_of_inputs(text, style):
    graph = graph_of(f"state s = 1; next s = s; {text}", style)
    assert all(
        len(list(form)) == 1 or all(key[2] == -1 for key, _ in form) for v in graph.values for form, _ in v.groups
    )


BIQUAD = "state p = 0; state q = 0; y = x + p; let n = 1.2*y + q; next p = n; next q = 0.3*n - 0.5*q + 0.25*x"


def test_a_biquad_takes_eight_cycles_on_three_registers():
    assert cycles_of(BIQUAD, 3, ()) == 8
    assert cycles_of(BIQUAD, 3, ("linear",)) == 8


def test_a_bit_of_parity_takes_four_words_without_assigns():
    text = "state p = 0; next p = p + x - 2*p*x; y = p"
    assert cycles_of(text, 3, ("linear", "reversible")) == 5


def test_next_values_wait_in_their_registers_until_all_can_go_home():
    # Each of them needs all old values; where they do not fit beside each other the program is too narrow.
    states = range(6)
    text = "".join(f"state s{n} = 0; " for n in states) + "y = s0; "
    text += "; ".join(f"next s{n} = relu(x + {' + '.join(f'{n + m + 2}*s{m}' for m in states)})" for n in states)
    for width in range(8, 12):
        with pytest.raises(TooNarrowError):
            listing_of(text, width)
    assert listing_of(text, 12).cycles == 54
