"""Tables made of signals: they are what they were, and share what they can."""

import random

import pytest
from skinny.model.frontends.circuits.signals import Signals
from skinny.model.frontends.circuits.synthesis import synthesise

CHANCE = random.Random(0)


def made(tables, count):
    """The signals of tables of the inputs, and the cycles that they take."""
    signals = Signals()
    inputs = [signals.input(f"x{n}") for n in range(count)]
    found = synthesise(signals, tables, inputs)
    assert signals.truth(found, inputs) == list(tables)
    return signals, found


def table(function, count):
    return sum(function(*(row >> place & 1 for place in range(count))) << row for row in range(1 << count))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5, 7])
def test_random_tables_are_what_they_were(count):
    made([CHANCE.getrandbits(1 << count) for _ in range(3)], count)


def test_all_functions_of_two_inputs():
    made(range(16), 2)
    for table in range(16):
        made([table], 2)


def test_a_full_adder_shares_its_sum():
    signals, found = made(
        [table(lambda a, b, c: a ^ b ^ c, 3), table(lambda a, b, c: (a & b) | (a & c) | (b & c), 3)], 3
    )
    assert signals.cycles(found) <= 6


@pytest.mark.parametrize(
    ("function", "count", "most"),
    [
        (lambda *x: int(all(x)), 8, 8),
        (lambda *x: int(any(x)), 8, 24),
        (lambda *x: int(not any(x)), 8, 24),
        (lambda *x: sum(x) % 2, 8, 11),
        (lambda s, a, b: b if s else a, 3, 4),
    ],
    ids=["and", "or", "nor", "parity", "choice"],
)
def test_functions_whose_normal_form_may_be_long(function, count, most):
    signals, found = made([table(function, count)], count)
    assert signals.cycles(found) <= most


def test_an_inverse_is_made_of_smaller_ones():
    def times(a, b):
        out = 0
        for bit in range(6):
            out ^= (a << bit) * (b >> bit & 1)
        for bit in reversed(range(6, 11)):
            out ^= (0b1000011 << bit - 6) * (out >> bit & 1)
        return out

    inverse = [next((y for y in range(64) if times(x, y) == 1), 0) for x in range(64)]
    tables = [sum((y >> bit & 1) << x for x, y in enumerate(inverse)) for bit in range(6)]
    signals, found = made(tables, 6)
    other, wrong = made([tables[0] ^ 3, *tables[1:]], 6)
    assert signals.cycles(found) < other.cycles(wrong)
