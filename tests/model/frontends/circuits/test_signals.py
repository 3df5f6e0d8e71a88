"""Signals: equal ones are one, constants vanish, and their formulas are what they are."""

from itertools import product

import numpy as np
import pytest
from skinny.model.formula.formula import evaluate
from skinny.model.frontends.circuits.signals import ONE, ZERO, Signals
from skinny.model.rings import Boolean


@pytest.fixture
def made():
    signals = Signals()
    return signals, *(signals.input(name) for name in "abc")


def test_equal_signals_are_one(made):
    signals, a, b, c = made
    assert signals.xor((a, b, c)) == signals.xor((c, a, b))
    assert signals.both((a, b)) == signals.both((b, a, b))
    assert signals.input("a") == a


def test_what_cancels_and_what_is_constant(made):
    signals, a, b, _ = made
    assert signals.xor((a, a)) == ZERO
    assert signals.xor((a, a ^ 1)) == ONE
    assert signals.xor((a, b, b)) == a
    assert signals.xor((a ^ 1, b)) == signals.xor((a, b)) ^ 1
    assert signals.xor((a ^ 1, b ^ 1)) == signals.xor((a, b))
    assert signals.both((a, a ^ 1)) == ZERO
    assert signals.both((a, ONE)) == a
    assert signals.both((a, ZERO)) == ZERO
    assert signals.both(()) == ONE


def test_formulas_and_truth(made):
    signals, a, b, c = made
    xor = signals.xor((a, b))
    wanted = {
        "xor": (xor, lambda a, b, c: a ^ b),
        "not": (c ^ 1, lambda a, b, c: 1 - c),
        "nxor": (xor ^ 1, lambda a, b, c: 1 - (a ^ b)),
        "mixed": (signals.both((xor ^ 1, c, a ^ 1)), lambda a, b, c: (1 - (a ^ b)) & c & (1 - a)),
        "or": (signals.both((a ^ 1, b ^ 1)) ^ 1, lambda a, b, c: a | b),
        "one": (ONE, lambda a, b, c: 1),
    }
    rows = np.array(list(product((0, 1), repeat=3)))
    ring = Boolean()
    packed = dict(zip("abc", ring.pack(rows.T.astype(np.uint8)), strict=True))
    formulas = signals.formulas([signal for signal, _ in wanted.values()])
    tables = signals.truth([signal for signal, _ in wanted.values()], [a, b, c])
    for formula, table, (_, function) in zip(formulas, tables, wanted.values(), strict=True):
        values = [function(*row) for row in rows.tolist()]
        assert ring.unpack(evaluate(formula, packed, ring), 8).tolist() == values
        assert [table >> (x + 2 * y + 4 * z) & 1 for x, y, z in rows.tolist()] == values


def test_truth_stops_at_its_leaves(made):
    signals, a, b, c = made
    xor = signals.xor((a, b))
    assert signals.truth([signals.both((xor, c))], [xor, c]) == [0b1000]


def test_cycles(made):
    signals, a, b, c = made
    xor = signals.xor((a, b))
    assert signals.cycles([xor]) == 2
    assert signals.cycles([signals.xor((signals.both((a, b)), c))]) == 2
    assert signals.cycles([signals.xor((signals.both((xor, c)), signals.both((a, b))))]) == 4
    assert signals.needed([xor]) == [a, b, xor]


def test_sums_share_pairs_that_most_rows_have(made):
    signals, a, b, c = made
    d = signals.input("d")
    found = signals.sums([{a, b, c}, {a, b, d}, {a, b, c, d}, {c}, set(), {a, b}])
    pair = signals.xor((a, b))
    assert [sorted(signals.reads(each)) for each in found[:2]] == [sorted((pair, c)), sorted((pair, d))]
    assert found[3:] == [c, ZERO, pair]
    assert signals.truth(found[2:3], [a, b, c, d]) == [0b0110100110010110]
    assert signals.cycles(found) == 2 + 2 + 2 + 3
    apart = signals.sums([{a, c}, {a, d}])
    assert signals.cycles(apart) == 4
