"""Ladder: symmetric polynomials in the lengths that the page states, and what a ladder is too short for."""

import random
from itertools import combinations
from math import prod

import pytest
from skinny.model.compiler.passes.ladder import ladder


def nested(n, k):
    """``e_k(n)``, the sum of all products of ``k`` of ``n`` variables, each variable times a sum of those before it."""
    if k == 1:
        return " + ".join(f"x{u}" for u in range(n))
    return " + ".join(f"x{u}*({nested(u, k - 1)})" for u in range(k - 1, n))


def symmetric(n, k):
    return f"y = {nested(n, k)}"


def start(width):
    return (0, 1, *[0] * (width - 2))


@pytest.mark.parametrize(("n", "k"), [(n, k) for n in range(2, 8) for k in range(2, n)])
@pytest.mark.parametrize("attention", [False, True])
def test_symmetric_polynomials(blocks, n, k, attention):
    table, polynomial = blocks.polynomial_of(symmetric(n, k))
    code = ladder(table, polynomial, attention, start(k + 1))
    assert code is not None
    assert len(code) == k * (n - k + 1)
    chance = random.Random(n)
    x = {name: chance.randint(-9, 9) for name in table.names}
    registers = blocks.run(code.instructions(), [x[name] for name in table.names], start(k + 1))
    assert registers[0] == sum(map(prod, combinations(x.values(), k)))
    assert registers[1] == 1


def test_a_register_too_few(blocks):
    table, polynomial = blocks.polynomial_of(symmetric(5, 3))
    assert ladder(table, polynomial, False, start(3)) is None
    assert ladder(table, polynomial, False, start(4)) is not None


def test_nested_sums_and_coefficients(blocks):
    table, polynomial = blocks.polynomial_of("y = 3*a*(b + 2*c + 1) - 5*b*(c - 7) + 4")
    for attention in (False, True):
        code = ladder(table, polynomial, attention, start(4))
        assert code is not None
        x = dict(zip(table.names, (2, 3, 11), strict=True))
        wanted = 3 * x["a"] * (x["b"] + 2 * x["c"] + 1) - 5 * x["b"] * (x["c"] - 7) + 4
        assert blocks.run(code.instructions(), list(x.values()), start(4))[0] == wanted
        if not attention:
            assert all(len(step.scalar.terms) + (step.scalar.bias != 0) == 1 for step in code.instructions())


@pytest.mark.parametrize(("terms", "made"), [(400, True), (401, False)])
def test_sums_of_too_many_terms_are_left_alone(blocks, terms, made):
    table, polynomial = blocks.polynomial_of(symmetric(terms, 1))
    assert (ladder(table, polynomial, False, start(3)) is not None) == made
