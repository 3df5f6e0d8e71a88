"""Polynomials of whole coefficients, against sums over fractions."""

import itertools
import random
from fractions import Fraction

import pytest
from skinny.model.bounds.polynomials import ONE, Monomials, Polynomial


def value(polynomial, names, point):
    """The polynomial at ``point``, the monomials found among the products of ``names``."""
    known = {
        sum(choice): choice for count in range(4) for choice in itertools.combinations_with_replacement(names, count)
    }
    total = Fraction(0)
    for key, c in polynomial.terms.items():
        term = Fraction(c, 1 << polynomial.shift)
        for name in known[key]:
            term *= point[names.index(name)]
        total += term
    return total


def test_products_are_added_exactly_and_stay_in_range():
    rng = random.Random(1)
    for _ in range(50):
        monomials = Monomials()
        ends = [sorted(Fraction(rng.randint(-8, 8), 8) for _ in range(2)) for _ in range(2)]
        names = [monomials.variable(low, high) for low, high in ends]
        linear = [
            monomials.polynomial([(0, rng.randint(-9, 9)), *((name, rng.randint(1, 9)) for name in names)], shift)
            for shift in (0, 3)
        ]
        total, expected = Polynomial(), []
        for _ in range(4):
            a, b, count = rng.choice(linear), rng.choice(linear), rng.choice((1, -1, 3))
            before = total.copy()
            monomials.add(total, a, b, count)
            expected.append((a, b, count))
            assert before is not total
        point = [low + (high - low) * Fraction(rng.randint(0, 4), 4) for low, high in ends]
        exact = sum(count * value(a, names, point) * value(b, names, point) for a, b, count in expected)
        assert value(total, names, point) == exact
        total.shorten()
        assert value(total, names, point) == exact
        low, high = total.range()
        assert low <= exact <= high
        assert abs(exact) <= total.size()


def test_what_is_taken_away_is_gone():
    monomials = Monomials()
    third = monomials.polynomial([(monomials.variable(Fraction(-1, 3), Fraction(1)), 5)], 7)
    total = Polynomial(1)
    monomials.add(total, third, third)
    assert len(total.terms) == 2
    monomials.add(total, third, third, -1)
    total.shorten()
    assert (total.terms, total.shift, total.range()) == ({0: 1}, 0, pytest.approx((1, 1)))


def test_ranges_are_sums_of_the_ranges_of_terms():
    monomials = Monomials()
    a, b = monomials.variable(Fraction(-1, 2), Fraction(1)), monomials.variable(Fraction(1, 2), Fraction(1))
    both = monomials.polynomial([(a, 1)], 0)
    product = Polynomial()
    monomials.add(product, both, monomials.polynomial([(b, 3)], 1))
    # 3/2·a·b, from -3/4 to 3/2; the other way round with a minus.
    assert product.range() == pytest.approx((-0.75, 1.5))
    negative = Polynomial(2)
    monomials.add(negative, product, ONE, -1)
    assert negative.range() == pytest.approx((0.5, 2.75))
    assert negative.size() == pytest.approx(2.75)


def test_a_negative_term_that_shrinks():
    monomials = Monomials()
    a = monomials.polynomial([(monomials.variable(Fraction(-1, 2), Fraction(1)), 1)], 0)
    total = Polynomial()
    monomials.add(total, a, ONE, -2)
    monomials.add(total, a, ONE)
    assert total.range() == pytest.approx((-1, 0.5))


def test_a_size_that_no_float_holds_is_infinite():
    assert Polynomial(1 << 2000).size() == float("inf")
    assert Polynomial(-(1 << 2000)).range()[0] == float("-inf")


def test_work_is_counted():
    monomials = Monomials()
    x = monomials.variable(Fraction(-1), Fraction(1))
    short = monomials.polynomial([(0, 1), (x, 1)], 0)
    before = monomials.work
    monomials.add(Polynomial(), short, short)
    assert monomials.work - before == 4
    monomials.add(Polynomial(), short, monomials.polynomial([(x, 1)], 4096))
    assert monomials.work - before >= 4 + 2 * 5
