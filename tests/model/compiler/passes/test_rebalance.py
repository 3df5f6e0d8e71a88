"""Rebalance: chains are found whole, cut to logarithmic depth, and stay equal."""

import random
from math import log2

import pytest
from skinny.model.compiler.contracts import Promise
from skinny.model.compiler.passes.rebalance import cuts, find_chain, rebalance


def nested(n, constant="1", multiplier=""):
    """``1 + x1·(1 + x2·(…))``: a chain of ``n`` variables."""
    out = f"x{n}"
    for level in range(n - 1, 0, -1):
        out = f"{constant} + {multiplier}x{level}*({out})"
    return f"y = {out}"


def depth(table, polynomial):
    """Sums inside sums."""
    depths = [0] * len(table.names)
    for inner in [*table.sums, polynomial]:
        depths.append(1 + max((depths[atom] for monomial in inner for atom, _ in monomial), default=0))
    return depths[-1]


def test_the_levels_of_a_chain(blocks):
    table, polynomial = blocks.polynomial_of("y = 3 - 2*a*b*(5 + c*(7 + d*e))")
    levels, end = find_chain(table, polynomial)
    a, b, c, d, e = (table.names.index(name) for name in "abcde")
    assert [level.rest for level in levels] == [{(): 3}, {(): 5}, {(): 7}]
    assert [dict(level.multiplier).keys() for level in levels] == [{a, b}, {c}, {min(d, e)}]
    assert [level.scale for level in levels] == [-2, 1, 1]
    assert end == {((max(d, e), 1),): 1}


def test_a_sum_that_is_used_twice_ends_the_chain(blocks):
    table, polynomial = blocks.polynomial_of("let s = a*b + 1; y = a*s + b*s + 1")
    levels, _ = find_chain(table, polynomial)
    assert levels == []
    assert rebalance(table, polynomial, clean=True) is None


@pytest.mark.parametrize("text", ["y = a", "y = a + b", "y = a*b + c"])
def test_what_is_too_short_is_left_alone(blocks, text):
    assert rebalance(*blocks.polynomial_of(text), clean=False) is None


@pytest.mark.parametrize("clean", [False, True])
@pytest.mark.parametrize("n", [3, 8, 33, 100, 600])
@pytest.mark.parametrize(("constant", "multiplier"), [("1", ""), ("3", "2*")])
def test_a_chain_stays_equal_and_gets_flat(blocks, clean, n, constant, multiplier):
    table, polynomial = blocks.polynomial_of(nested(n, constant, multiplier))
    assert depth(table, polynomial) == n - 1
    flat = rebalance(table, polynomial, clean)
    assert flat is not None
    assert depth(table, flat) <= 3 * log2(n)
    chance = random.Random(n)
    x = {f"x{level}": chance.choice([-2, -1, 1, 2, 3]) for level in range(1, n + 1)}
    wanted = x[f"x{n}"]
    for level in range(n - 1, 0, -1):
        wanted = int(constant) + (2 if multiplier else 1) * x[f"x{level}"] * wanted
    assert blocks.value_at(table, flat, [x[name] for name in table.names]) == wanted


def test_cuts_by_hand():
    # One level on one, ``1 + x``, cannot be cut: the product takes it whole. For two levels, ``1 + x + x·y``, either
    # cut leaves a shorter chain; whatever is chosen, the sizes add up.
    found = cuts(12, unit=True)
    for chains in found:
        assert [len(chains[contract]) for contract in (Promise.RESTORE, Promise.DIRTY_THIRD, Promise.SPEND_ZERO)] == [
            13
        ] * 3
        for by_count in chains:
            assert by_count[1].size == 1
            assert all(1 <= cut.size <= count for count, cut in enumerate(by_count) if count)
