"""Shapes: whatever is switched on, the expression of a polynomial computes it, and never below the bound."""

import random
from itertools import product

import pytest
from skinny.model.compiler.contracts import Contract, Promise, TextbookPair
from skinny.model.compiler.shapes import Shaper, least_cost

TEXTS = [
    "3",
    "a - b + 2",
    "2*a + 2*b - 5*c + 1/2",
    "a*(b + c) + b*(c + d) + c*(d + a)",
    "a*(b + c + d) - b*(c + d + a)",
    "2*a*(b + c) - 3*b*(c + d) + c*(d + a)",
    "a*b + b*c + b*d + b*e",
    "3*a*b*c - 3*b*c*d + 2*a*d + 7",
    "(a + 2*b)^3 - 3/4*c",
    "(a + b)*(b + c)*(c + d)*5 + (a - d)*(2*a + b)*c",
    "a*b*c*d*a*b*c*d",
]
SWITCHES = [
    dict(zip(("attention", "telescope", "search", "contracts"), on, strict=True))
    for on in product((False, True), repeat=4)
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("switches", SWITCHES, ids=lambda on: "+".join(name for name in on if on[name]) or "none")
def test_every_shape_computes_its_polynomial(blocks, text, switches):
    table, polynomial = blocks.polynomial_of(f"y = {text}")
    expression = Shaper(table, **switches).shape(polynomial)
    code = blocks.written_out(expression, Contract(Promise.RESTORE))
    chance = random.Random(3)
    x = [chance.randint(-9, 9) for _ in table.names]
    assert blocks.run(code, x, [7, 11, 13]) == [7, 11 + blocks.value_at(table, polynomial, x) * 7, 13]
    if not switches["attention"]:
        assert len(code) == expression.strict_cost
        assert all(len(scalar.terms) + (scalar.bias != 0) == 1 for *_, scalar in code)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("attention", [False, True])
def test_no_shape_is_below_the_bound(blocks, text, attention):
    table, polynomial = blocks.polynomial_of(f"y = {text}")
    expression = Shaper(table, attention, telescope=True, search=True, contracts=True).shape(polynomial)
    assert 0 <= least_cost(table, polynomial) <= expression.full(Contract(Promise.DIRTY_THIRD))


def test_the_bound_of_a_product_is_its_cost(blocks):
    # loose(8) by hand: 2·loose(4) + strict(4) = 32, 2·loose(3) + strict(5) = 30, 2·loose(2) + strict(6) = 30.
    table, polynomial = blocks.polynomial_of("y = a*b*c*d*e*f*g*h")
    assert least_cost(table, polynomial) == 30
    assert Shaper(table, True, True, True, True).shape(polynomial).loose_cost == 30


def test_without_contracts_products_are_the_textbooks(blocks):
    table, polynomial = blocks.polynomial_of("y = a*b*c*d")
    expression = Shaper(table, attention=False, telescope=False, search=False, contracts=False).shape(polynomial)
    assert expression.strict_cost == 16
    ((_, pair),) = expression.terms
    assert isinstance(pair, TextbookPair)


@pytest.mark.parametrize("order", [True, False])
def test_the_terms_as_written_or_the_longest_first(blocks, order):
    table, polynomial = blocks.polynomial_of("y = a*b + a*b*c*d + c*d*e + e")
    costs = [term.strict_cost for _, term in Shaper(table, True, False, True, True, order).shape(polynomial).terms]
    assert costs == ([1, 4, 12, 8] if order else [12, 8, 4, 1])
