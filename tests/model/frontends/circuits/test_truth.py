"""Truth tables against functions of bits, row by row."""

import random

import pytest
from skinny.model.frontends.circuits.blif import Table
from skinny.model.frontends.circuits.truth import (
    cofactors,
    composed,
    depends,
    monomials,
    normal_form,
    ones,
    table_of,
    variable,
    without_idle,
)

CHANCE = random.Random(0)


def bits(row, count):
    return [row >> place & 1 for place in range(count)]


def table(function, count):
    return sum(bool(function(*bits(row, count))) << row for row in range(1 << count))


@pytest.mark.parametrize("count", [1, 2, 5])
def test_variables(count):
    for place in range(count):
        assert variable(place, count) == table(lambda *x, place=place: x[place], count)
    assert ones(count) == table(lambda *x: 1, count)


@pytest.mark.parametrize(
    ("rows", "value", "function"),
    [
        (["1-0", "011"], True, lambda a, b, c: (a and not c) or (not a and b and c)),
        (["1-0", "011"], False, lambda a, b, c: not ((a and not c) or (not a and b and c))),
        ([], True, lambda a, b, c: 0),
        (["---"], True, lambda a, b, c: 1),
    ],
)
def test_a_table_of_a_circuit(rows, value, function):
    assert table_of(Table(("a", "b", "c"), "y", tuple(rows), value, 1)) == table(function, 3)


def test_a_table_without_inputs():
    assert table_of(Table((), "y", ("",), True, 1)) == 1
    assert table_of(Table((), "y", (), True, 1)) == 0


def test_cofactors_and_what_matters():
    xor_and = table(lambda a, b, c: (a ^ b) & c, 3)
    assert cofactors(xor_and, 1, 3) == (table(lambda a, b, c: a & c, 3), table(lambda a, b, c: (1 - a) & c, 3))
    assert [depends(table(lambda a, b, c: a ^ c, 3), place, 3) for place in range(3)] == [True, False, True]


@pytest.mark.parametrize("count", [1, 3, 6])
def test_the_normal_form_is_a_sum_of_products(count):
    for _ in range(5):
        given = CHANCE.getrandbits(1 << count)
        form = normal_form(given, count)
        assert normal_form(form, count) == given
        for row in range(1 << count):
            terms = sum(term & row == term for term in monomials(form))
            assert terms % 2 == given >> row & 1


def test_composed_and_without_idle():
    inner = [table(lambda a, b, c: a ^ b, 3), table(lambda a, b, c: b & c, 3)]
    both = composed(table(lambda p, q: p | q, 2), inner, 3)
    assert both == table(lambda a, b, c: (a ^ b) | (b & c), 3)
    assert without_idle(table(lambda a, b, c: a & (1 - c), 3), 3) == (table(lambda a, c: a & (1 - c), 2), [0, 2])
    assert without_idle(ones(2), 2) == (1, [])
