"""What a gate sees of the signals before it."""

import pytest
from skinny.model.frontends.circuits.signals import Signals
from skinny.model.frontends.circuits.window import simplest

OR, AND, XOR = 0b1110, 0b1000, 0b0110


@pytest.fixture
def made():
    signals = Signals()
    return signals, *(signals.input(name) for name in "abc")


def test_the_or_of_what_is_never_both_is_a_sum(made):
    signals, a, b, c = made
    first, second = signals.both((a, b)), signals.both((signals.xor((a, b)), c))
    assert simplest(signals, OR, (first, second)) == (XOR, (first, second))
    assert simplest(signals, OR, (first, c)) == (OR, (first, c))


def test_gates_that_are_an_exclusive_or_become_one(made):
    signals, a, b, _ = made
    first, second = signals.both((a, b ^ 1)), signals.both((a ^ 1, b))
    assert simplest(signals, OR, (first, second)) == (XOR, (a, b))


def test_what_is_constant_has_no_inputs(made):
    signals, a, b, _ = made
    first, second = signals.both((a, b)), signals.both((a, b ^ 1))
    assert simplest(signals, AND, (first, second)) == (0, ())


def test_gates_of_inputs_stay(made):
    signals, a, b, _ = made
    assert simplest(signals, OR, (a, b)) == (OR, (a, b))
    assert simplest(signals, 0b10, (a,)) == (0b10, (a,))
    assert simplest(signals, 1, ()) == (1, ())
    many = tuple(signals.input(f"x{n}") for n in range(5))
    assert simplest(signals, 7, many) == (7, many)


def test_a_long_chain_ends():
    signals = Signals()
    carry = signals.input("c")
    for n in range(200):
        x = signals.input(f"x{n}")
        carry = signals.xor((signals.both((carry, x ^ 1)), x))
    assert simplest(signals, AND, (carry, signals.input("y")))[0] == AND
