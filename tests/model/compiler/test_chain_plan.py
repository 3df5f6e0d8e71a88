"""Chain plans: their lengths against products, against each other, and against the rows that are written for them."""

import pytest
from skinny.model.compiler.chain_plan import (
    SEARCHED,
    below,
    forced_cut,
    loose_cut,
    pattern_of,
    plan_loose,
    plan_pair,
    plan_row,
    plan_row_loose,
    plan_strict,
    strict_cut,
)
from skinny.model.compiler.contracts import product_costs

STRICT, LOOSE = (costs.tolist() for costs in product_costs(64))


def test_patterns():
    assert pattern_of([1, 0, -1, 1]) == 0b1101
    assert [below(0b1101, cut) for cut in range(5)] == [0, 1, 1, 0b101, 0b1101]


@pytest.mark.parametrize("n", range(1, 20))
def test_one_term_is_a_product(n):
    assert plan_strict(1 << n) == (STRICT[n], "product", ())
    assert plan_loose(1 << n) == (LOOSE[n], "product", ())
    assert plan_row(n, 0) == (STRICT[n], "exact", ())
    assert plan_row_loose(n, 0) == (STRICT[n], "row", ())
    assert plan_pair(n, 0) == (2 * LOOSE[n], "apart", ())


@pytest.mark.parametrize("pattern", range(1, 256))
def test_no_chain_is_longer_than_its_terms_one_by_one(pattern):
    terms = [t for t in range(8) if pattern >> t & 1]
    strict, loose = plan_strict(pattern).cost, plan_loose(pattern).cost
    assert strict <= sum(STRICT[t] for t in terms)
    assert loose <= strict
    for cut in range(1, terms[-1]):
        assert strict <= 2 * plan_loose(pattern >> cut).cost + plan_pair(cut, below(pattern, cut)).cost
    # The variables of the longest term all have to be read.
    assert loose >= max(terms[-1], len(terms))


def test_short_chains_by_hand():
    # 1 + x: two instructions. x + x·y with y + 1 in the place of one factor: R0 -= x·R2, R2 += y·R1, R2 += R1,
    # R0 += x·R2, and R2 back by two: six, where the product and x one by one take five. 1 + x + x·y: six.
    assert [plan_strict(pattern).cost for pattern in (0b0, 0b1, 0b10, 0b11, 0b110, 0b111)] == [0, 1, 1, 2, 5, 6]


@pytest.mark.parametrize("pattern", [0b111, (1 << 12) - 1, (1 << 20) - 1, (1 << 30) - 1])
def test_other_contracts_hold_together(pattern):
    n = pattern.bit_length()
    row, row_loose = plan_row(n, pattern).cost, plan_row_loose(n, pattern).cost
    assert row_loose <= row <= STRICT[n] + plan_strict(pattern).cost
    assert plan_pair(n, pattern).cost <= 2 * LOOSE[n] + plan_strict(pattern).cost


def test_cuts_of_products_are_where_they_cost_the_least():
    for n in range(2, 40):
        assert 2 * LOOSE[strict_cut(n)] + 2 * LOOSE[n - strict_cut(n)] == STRICT[n]
        assert 2 * LOOSE[n - loose_cut(n)] + STRICT[loose_cut(n)] == LOOSE[n]
    assert loose_cut(1) == 0


def test_a_hole_in_a_long_pattern_is_where_it_is_cut():
    long = (1 << SEARCHED + 1) - 1
    assert [forced_cut(long, t) for t in (0, 1, 5, SEARCHED - 1, SEARCHED)] == [0, 1, 5, SEARCHED - 1, 0]
    assert forced_cut(long >> 1, 5) == 0
    assert plan_strict(long ^ 1 << 5, 5).cuts == (5,)
