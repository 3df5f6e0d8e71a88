"""Stretches repeat as they say, and none that is longer was missed."""

import numpy as np
import pytest
from skinny.model.machine.periods import Row, choose_stretches, find_stretches


def row_of(words, bits=4):
    """A row of words ``(shape, first field or None, second field or None)``; None means nothing."""
    fields = [np.array([0 if word[at] is None else word[at] for word in words]) for at in (1, 2)]
    used = [np.array([word[at] is not None for word in words]) for at in (1, 2)]
    mask = (1 << bits) - 1
    # Words of one shape use the same fields.
    shape = np.array([word[0] for word in words]) * 4 + used[0] * 2 + used[1]
    return Row(shape, tuple(fields), tuple(used), (mask, mask))


def repeats(words, stretch, bits=4):
    """Whether the words of a stretch are what it says, one by one."""
    for number in range(1, stretch.rounds):
        for place in range(stretch.period):
            first, later = words[stretch.start + place], words[stretch.start + number * stretch.period + place]
            if first[0] != later[0]:
                return False
            for a, b, step in zip(first[1:], later[1:], stretch.steps, strict=True):
                if (a is None) != (b is None) or (a is not None and (a + number * step - b) % (1 << bits)):
                    return False
    return True


def random_words(rng):
    words = []
    for _ in range(rng.integers(1, 5)):
        body = [(int(rng.integers(3)), *(None if rng.random() < 0.3 else int(rng.integers(16)) for _ in "ab"))]
        body *= int(rng.integers(1, 4))
        steps = rng.integers(0, 3, 2)
        for turn in range(rng.integers(1, 12)):
            words += [
                (
                    shape,
                    *(None if v is None else int(v + turn * step) % 16 for v, step in zip(values, steps, strict=True)),
                )
                for shape, *values in body
            ]
    return words


@pytest.mark.parametrize("seed", range(40))
def test_stretches_repeat_and_save_words(seed):
    words = random_words(np.random.default_rng(seed))
    for stretch in find_stretches(row_of(words), (False, False)):
        assert stretch.gain > 0
        assert stretch.end <= len(words)
        assert repeats(words, stretch)


@pytest.mark.parametrize("seed", range(40))
def test_the_longest_loops_of_one_word_are_found(seed):
    """For each word the most rounds of a loop that begins with it, by trying all; one found covers as many."""
    words = random_words(np.random.default_rng(seed))
    found = [stretch for stretch in find_stretches(row_of(words), (False, False)) if stretch.period == 1]
    at = 0
    while at < len(words):
        end = at + 1
        steps = [None, None]
        while end < len(words) and words[end][0] == words[end - 1][0]:
            moves = [
                (steps[n], (b - a) % 16) if a is not None and b is not None else (None, None)
                for n, (a, b) in enumerate(zip(words[end - 1][1:], words[end][1:], strict=True))
            ]
            if [a is None for a in words[end][1:]] != [a is None for a in words[end - 1][1:]]:
                break
            if any(old is not None and new is not None and old != new for old, new in moves):
                break
            steps = [old if new is None else new for old, (_, new) in zip(steps, moves, strict=True)]
            end += 1
        if end - at > 3:
            assert any(stretch.start <= at and stretch.end >= end for stretch in found)
        at = end


def test_a_field_that_stands_still_has_no_step():
    words = [(0, n, 5) for n in range(8)]
    assert {stretch.steps for stretch in find_stretches(row_of(words), (False, False))} == {(1, 0)}
    assert not list(find_stretches(row_of(words), (True, False)))


def test_words_that_mean_nothing_go_either_way():
    """Two rows of a table with an end of row between them: the loop over a row may begin with the end of the one
    before."""
    words = [
        (0, None, None),
        *((1, n, None) for n in (0, 1, 2, 3)),
        (0, None, None),
        *((1, n, None) for n in (5, 6, 7, 8)),
    ]
    periods = {stretch.period for stretch in find_stretches(row_of(words), (False, False))}
    assert periods == {1, 5}
    assert {s.steps for s in find_stretches(row_of(words), (False, False)) if s.period == 5} == {(5, 0)}


def test_most_is_gained_without_overlap():
    intervals = [(0, 4, 3), (3, 8, 5), (4, 8, 4), (8, 9, 1), (2, 9, 7)]
    assert choose_stretches(intervals) == [0, 2, 3]
    assert choose_stretches([]) == []
