"""Associate: the grouping of factors against a plain recursion over all groupings."""

import random
from functools import cache

import pytest
from skinny.model.compiler.code import Affine
from skinny.model.compiler.contracts import Contract, Leaf, Pair, Promise, Sum, product_costs
from skinny.model.compiler.passes.associate import associate

X = [Leaf(Affine(((u, 1),))) for u in range(60)]


def sum_of(count):
    """An expression that costs ``count`` instructions under every contract."""
    return X[0] if count == 1 else Sum([(1, leaf) for leaf in X[:count]])


def ref_costs(costs):
    """The least strict and loose costs of a product: every cut of the factors in order of cost."""
    ordered = sorted(costs)

    @cache
    def best(a, b):
        if b == a + 1:
            return ordered[a], ordered[a]
        cuts = [(best(a, m), best(m, b)) for m in range(a + 1, b)]
        strict = min(2 * f[1] + 2 * g[1] for f, g in cuts)
        return strict, min(min(2 * f[1] + g[0], 2 * g[1] + f[0]) for f, g in cuts)

    return best(0, len(ordered))


@pytest.mark.parametrize("seed", range(12))
def test_costs_are_those_of_the_best_cuts(seed):
    chance = random.Random(seed)
    costs = [chance.randint(1, 9) for _ in range(chance.randint(2, 14))]
    product = associate([sum_of(cost) for cost in costs])
    assert (product.strict_cost, product.loose_cost) == ref_costs(costs)


@pytest.mark.parametrize("count", [2, 3, 12, 13, 40, 41, 60])
def test_single_variables(count):
    strict, loose = product_costs(count)
    product = associate(X[:count])
    assert (product.strict_cost, product.loose_cost) == (strict[count], loose[count])


@pytest.mark.parametrize("count", [13, 100, 1000])
def test_a_power_shares_its_parts(count):
    strict, loose = product_costs(count)
    power = associate([X[0]] * count)
    assert (power.strict_cost, power.loose_cost) == (strict[count], loose[count])
    kinds, stack = set(), [power]
    while stack:
        part = stack.pop()
        if isinstance(part, Pair) and id(part) not in kinds:
            kinds.add(id(part))
            stack += [half for shape in part.shapes for half in shape]
    assert len(kinds) < count


@pytest.mark.parametrize("kinds", [3, 25])
def test_many_unequal_factors(blocks, kinds):
    """More factors than the intervals take: the product is right, and no longer than in the order given, in halves."""
    factors = [sum_of(1 + n % kinds) for n in range(48)]
    product = associate(factors)
    halves = list(factors)
    while len(halves) > 1:
        halves = [Pair([tuple(halves[n : n + 2])]) for n in range(0, len(halves) - 1, 2)] + halves[len(halves) & ~1 :]
    assert product.strict_cost <= halves[0].strict_cost
    code = blocks.written_out(product, Contract(Promise.SPEND_ZERO))
    assert len(code) == product.cost(Contract(Promise.SPEND_ZERO))
    x = [1, 2, -1, *[0] * 57]
    value = 1
    for n in range(48):
        value *= sum(x[: 1 + n % kinds])
    assert value != 0
    assert blocks.run(code, x, [1, 0, 0])[1] == value
