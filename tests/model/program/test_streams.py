"""What a program keeps between samples: the names of a window's words, and what is refused."""

import pytest
from skinny.model.errors import InputError
from skinny.model.program.streams import (
    MOST_WINDOW,
    State,
    check_state,
    check_window,
    lagged,
    window_inputs,
    window_samples,
)


def words_that_arrived(samples, count):
    """The names of the newest words when whole samples arrive one after the other, the newest first."""
    arrived = [(word, sample) for sample in range(count) for word in samples]
    now = count - 1
    return [lagged(word, now - sample) for word, sample in reversed(arrived)][:count]


@pytest.mark.parametrize("samples", [("x",), ("a", "b"), ("a", "b", "c")])
@pytest.mark.parametrize("count", [3, 4, 8])
def test_the_window_begins_with_the_word_that_arrived_last(samples, count):
    names = window_inputs(samples, count)
    assert list(names) == words_that_arrived(samples, count)
    assert window_samples(names, len(samples)) == samples


def test_a_sample_of_now_has_no_lag_in_its_name():
    assert [lagged("x", lag) for lag in range(3)] == ["x", "x[t-1]", "x[t-2]"]


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ([State("s", 3)], r"state s: register 3 is out of range \(width 3\)"),
        ([State("s", -1)], "state s: register -1 is out of range"),
        ([State("s", 2), State("r", 2)], "state r: the registers of states must ascend"),
        ([State("s", 2), State("r", 0)], "state r: the registers of states must ascend"),
        ([State("s", 0), State("s", 2)], "the name 's' is used twice"),
        ([State("x", 0)], "the name 'x' is used twice"),
    ],
)
def test_states_that_mean_nothing_are_refused(state, message):
    with pytest.raises(InputError, match=message):
        check_state(state, 3, ["x"])


def test_states_have_registers_of_their_own():
    check_state([State("s", 0), State("r", 1), State("q", 2)], 3, ["x"])


@pytest.mark.parametrize(
    ("inputs", "window", "hop", "message"),
    [
        (["x"], 0, 1, "a hop of 1 needs a window"),
        (["x"], 3, 1, f"the window must be a power of two up to {MOST_WINDOW}, not 3"),
        (["x"], 2 * MOST_WINDOW, 1, "the window must be a power of two"),
        (["x"], 2, 0, "the hop must be 1 to the 2 words of the window, not 0"),
        (["x"], 2, 3, "the hop must be 1 to the 2 words of the window, not 3"),
        (["x"], 4, 2, "a window of 4 words has 2 to 4 inputs, not 1"),
        (["x", "x[t-1]", "x[t-2]"], 2, 1, "a window of 2 words has 1 to 2 inputs, not 3"),
        (["x", "x[t-2]"], 4, 1, r"the window has the input 'x\[t-2\]' where 'x\[t-1\]' must be"),
        (["b", "a", "a[t-1]"], 4, 2, r"the window has the input 'a\[t-1\]' where 'b\[t-1\]' must be"),
    ],
)
def test_windows_that_mean_nothing_are_refused(inputs, window, hop, message):
    with pytest.raises(InputError, match=message):
        check_window(inputs, window, hop)


def test_programs_may_name_the_newest_words_of_a_window_alone():
    check_window(["b", "a", "b[t-1]"], 8, 2)
    check_window(["x"], 1, 1)
    check_window(["x", "y"], 0, 0)
