"""Contracts: every kind of expression keeps every promise, at the cost that it states."""

import random
from itertools import product

import pytest
from skinny.model.compiler import contracts
from skinny.model.compiler.code import Affine
from skinny.model.compiler.contracts import (
    MIXED,
    Best,
    Contract,
    Leaf,
    Pair,
    Promise,
    Sum,
    Telescope,
    TextbookPair,
    product_costs,
)

X = [Leaf(Affine(((u, 1),))) for u in range(5)]
FORMS = [Affine(((0, 1), (1, 1))), Affine(((0, 1), (1, 1), (2, -1))), Affine(((1, 1), (2, -1)))]


def moved(form):
    """A block that adds a form with coefficients 1 and -1."""
    return Sum([(c, X[u]) for u, c in form.terms])


PRODUCT = Pair([(Pair([(X[0], X[1])]), X[2]), (X[0], Pair([(X[1], X[2])]))])
SUM = Sum([(1, PRODUCT), (-1, Pair([(X[3], X[4])])), (-1, X[0])])
TELESCOPE = Telescope(list(zip([X[3], X[4], Pair([(X[3], X[4])])], FORMS, strict=True)), moved)
#: Each with what it computes.
EXPRESSIONS = {
    "leaf": (Leaf(Affine(((1, -1),))), lambda x: -x[1]),
    "product": (PRODUCT, lambda x: x[0] * x[1] * x[2]),
    "sum": (SUM, lambda x: x[0] * x[1] * x[2] - x[3] * x[4] - x[0]),
    "square of a sum": (Pair([(SUM, SUM)]), lambda x: (x[0] * x[1] * x[2] - x[3] * x[4] - x[0]) ** 2),
    "telescope": (
        TELESCOPE,
        lambda x: x[3] * (x[0] + x[1]) + x[4] * (x[0] + x[1] - x[2]) + x[3] * x[4] * (x[1] - x[2]),
    ),
    "best": (
        Best(
            [Pair([(X[0], Sum([(1, X[1]), (1, X[2])]))]), Sum([(1, Pair([(X[0], X[1])])), (1, Pair([(X[0], X[2])]))])]
        ),
        lambda x: x[0] * (x[1] + x[2]),
    ),
}


#: Every promise, and all that can be said beside it.
CONTRACTS = [
    *(Contract(promise) for promise in Promise),
    *(Contract(Promise.KEEP_ZERO, fresh, extra=extra) for fresh, extra in product((False, True), range(3))),
    *(
        Contract(Promise.SPEND_ZERO, fresh, last, extra)
        for fresh, last, extra in product((False, True), (False, True), range(3))
    ),
]


@pytest.mark.parametrize(
    ("name", "contract"),
    # A telescope uses no extra registers.
    [(name, contract) for name in EXPRESSIONS for contract in CONTRACTS if name != "telescope" or not contract.extra],
)
def test_promises_are_kept_at_the_stated_cost(blocks, name, contract):
    promise, fresh, last, extra = contract
    zero = promise in (Promise.KEEP_ZERO, Promise.SPEND_ZERO)
    expression, value = EXPRESSIONS[name]
    code = blocks.written_out(expression, contract)
    assert len(code) == expression.cost(contract)
    chance = random.Random(1)
    for _ in range(3):
        x = [chance.randint(-99, 99) for _ in range(5)]
        source, target, third = (chance.randint(1, 999) for _ in range(3))
        if zero or promise == Promise.DIRTY_ZERO_THIRD:
            third = 0
        before = [source, 0 if fresh else target, third] + [0] * extra
        after = blocks.run(code, x, before)
        if not last:
            assert after[0] == source
        dirt = 0
        if promise == Promise.DIRTY_TARGET:
            # What is more in the target vanishes with the third register.
            clean = blocks.run(code, x, [source, target, 0])
            dirt, rest = divmod(after[1] - clean[1], third)
            assert rest == 0
        assert after[1] == before[1] + value(x) * source + dirt * third
        if promise in (Promise.RESTORE, Promise.DIRTY_TARGET, Promise.KEEP_ZERO):
            assert after[2:] == before[2:]
        if promise == Promise.DIRTY_THIRD:
            assert (after[2] - third) % source == 0
        if promise == Promise.DIRTY_ZERO_THIRD:
            with_more = blocks.run(
                blocks.written_out(expression, Contract(Promise.DIRTY_THIRD)), x, [source, target, 7]
            )
            assert after[2] == with_more[2] - 7


def test_costs_of_products_by_hand():
    # strict(n) = min 2·loose(a) + 2·loose(n - a), loose(n) = min 2·loose(a) + strict(n - a).
    strict, loose = product_costs(6)
    assert strict.tolist() == [1, 1, 4, 8, 12, 18, 24]
    assert loose.tolist() == [1, 1, 3, 6, 10, 14, 18]


def test_the_textbook_takes_four_times_each_half():
    level = [TextbookPair([(X[0], X[1])]), TextbookPair([(X[2], X[3])])]
    assert TextbookPair([tuple(level)]).strict_cost == TextbookPair([tuple(level)]).loose_cost == 16


def test_textbook_blocks_restore_everything(blocks):
    product = TextbookPair([(TextbookPair([(X[0], X[1])]), X[2])])
    code = blocks.written_out(product, Contract(Promise.SPEND_ZERO))
    assert len(code) == 10
    assert blocks.run(code, [2, 3, 5], [7, 11, 13]) == [7, 11 + 30 * 7, 13]


def test_a_form_is_built_once_by_whoever_uses_it_alone():
    wide = Leaf(Affine(((0, 2), (1, 3)), 1))
    assert (wide.strict_cost, wide.build, wide.full(Contract(Promise.RESTORE))) == (1, 3, 4)
    # A square uses one form: its four instructions and the form once. With another form each use is paid.
    square = Pair([(wide, wide)])
    assert (square.scalar_form, square.strict_cost, square.build) == (wide.scalar, 4, 3)
    other = Leaf(Affine(((2, 5),), 1))
    assert Pair([(wide, other)]).scalar_form is MIXED
    assert (Pair([(wide, other)]).strict_cost, Pair([(wide, other)]).build) == (2 * (1 + 3) + 2 * (1 + 2), 0)
    assert (Pair([(wide, X[0])]).scalar_form, Pair([(wide, X[0])]).strict_cost) == (wide.scalar, 4)


def _nested(rng, depth):
    """A random expression of sums and products of single variables."""
    if depth == 0:
        return Leaf(Affine(((rng.randrange(9), 1),), 0))
    parts = [_nested(rng, rng.randrange(depth)) for _ in range(2)]
    return Pair([tuple(parts)]) if rng.random() < 0.7 else Sum([(1, part) for part in parts])


def test_registers_that_no_word_can_use_change_no_cost(monkeypatch):
    wanted = [
        Contract(promise, fresh=True, extra=extra)
        for promise in (Promise.KEEP_ZERO, Promise.SPEND_ZERO)
        for extra in range(14)
    ]
    limited = [[_nested(random.Random(seed), 5).cost(contract) for contract in wanted] for seed in range(40)]
    monkeypatch.setattr(contracts, "_wanted_extras", lambda factor: 99)
    free = [[_nested(random.Random(seed), 5).cost(contract) for contract in wanted] for seed in range(40)]
    assert limited == free
