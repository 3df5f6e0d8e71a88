"""States, next values and earlier samples in the text of a formula."""

from fractions import Fraction

import pytest
from skinny.model.errors import InputError
from skinny.model.formula.definitions import Definitions, StateFormula
from skinny.model.formula.formula import formula_text, variables
from skinny.model.formula.parse import parse_definitions, parse_formula


def test_states_and_their_next_values():
    found = parse_definitions("state s = -1/4; state r = 2\ny = s + x\nnext s = y/2; next r = r - s")
    assert [(state.name, state.start) for state in found.states] == [("s", Fraction(-1, 4)), ("r", Fraction(2))]
    assert [formula_text(state.next) for state in found.states] == ["(s + x)*1/2", "r - s"]
    assert found.samples == ("x",)
    assert found.streaming
    assert found.window == 0
    assert found.inputs == ("x",)


def test_the_window_lists_its_words_from_the_newest():
    found = parse_definitions("y = a + 2*b - b[t-2]*a[t-1] + a[t]")
    assert found.samples == ("a", "b")
    assert (found.window, found.hop) == (8, 2)
    assert found.inputs == ("b", "a", "b[t-1]", "a[t-1]", "b[t-2]", "a[t-2]")


def test_formulas_without_time_are_as_before():
    found = parse_definitions("state = a*next; y = state + t")
    assert not found.streaming
    assert list(found.outputs) == ["state", "y"]
    assert found.samples == ("a", "next", "t")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("state s = 0; y = s", "the state 's' has no 'next s = …'"),
        ("y = x; next s = x", "'next s' needs 'state s = …' before it"),
        ("state s = 0; next s = x; next s = 2*x; y = s", "'next s' is there twice"),
        ("state s = 0; s = x", "'s' is a state at line 1, column 14: 'next s = …' says what it becomes"),
        ("y = s + 1; state s = 0", "'s' is defined after it was used as an input"),
        ("let s = x; state s = 0; y = s", "'s' is defined twice"),
        ("y = x[t+1]", "a sample that is still to come cannot be read"),
        ("y = x[t-0]", "a number of samples must be a whole number from 1 on"),
        ("y = x[t-k]", "a number of samples must be a whole number from 1 on"),
        ("y = x[t-4096]", "a sample can be at most 4,095 back"),
        ("y = x[t:3]", "an earlier sample is written like x[t-3]; expected 't'"),
        ("y = x[t-16:t]", "the newest sample comes first"),
        ("y = x[t-3", "this bracket is never closed"),
        ("state s = 0; y = s[t-1]; next s = x", "only inputs can be read at an earlier time, and 's' is none"),
        ("y = x[t-1]; x = 3", "'x' is defined after it was used as an input"),
        ("state s = x; y = s", "expected a number"),
        ("state s = 1 2; y = s", "nothing may follow the first value of a state"),
    ],
)
def test_refused(text, message):
    with pytest.raises(InputError) as caught:
        parse_definitions(text)
    assert str(caught.value).startswith(message) or message in str(caught.value).split("\n")[0]


def test_only_streams_are_refused_where_one_run_is_meant():
    with pytest.raises(InputError, match="here are only formulas without a stream, but this one has the state 's'"):
        parse_formula("state s = 0; y = s; next s = x")


@pytest.mark.parametrize(
    ("text", "window"),
    [("y = x[t-1]", 2), ("y = x + x[t-2]", 4), ("y = x[t-3]", 4), ("y = x[t-4]", 8), ("y = a*b + c[t-1]", 8)],
)
def test_a_window_is_the_least_power_of_two_that_holds_what_is_read(text, window):
    assert parse_definitions(text).window == window


def test_what_takes_one_run_alone_says_what_it_found():
    with pytest.raises(InputError, match="a picture needs formulas without a stream, but this one has inputs of ear"):
        parse_definitions("y = x[t-1]").expect_single_run("a picture needs")
    parse_definitions("y = x").expect_single_run("a picture needs")


def test_definitions_of_formulas_that_are_no_text():
    s, b, a, earlier = variables("s b a a[t-3]")
    found = Definitions.of({"y": s * b + a}, [StateFormula("s", Fraction(0), earlier - s)])
    assert (found.samples, found.lag, found.window, found.hop) == (("b", "a"), 3, 8, 2)
    assert not Definitions.of({"y": a + b}).streaming
    with pytest.raises(InputError, match="a sample can be at most 4,095 back, not 5,000"):
        Definitions.of({"y": variables("x[t-5000]")[0]})
