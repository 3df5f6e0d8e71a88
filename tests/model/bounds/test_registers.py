"""Registers of the analysis: equal products cancel, views are small, and nothing leaves the enclosures."""

import pytest
from skinny.model.bounds.enclosures import Algebra, Enclosure
from skinny.model.bounds.registers import MANY_ZEROS, Product, Register


def product_of(algebra, number, count, zeros=0):
    """A product whose value is the sum of ``count`` new variables and whose error is a new noise of 1/8."""
    terms: dict[int, float] = {}
    for _ in range(count):
        algebra.add_times(terms, {0: 1.0}, 1.0, algebra.variable())
    return Product(number, algebra.enclosure(terms), algebra.enclosure({algebra.noise(): 0.125}), zeros)


def register_of(algebra, start):
    return Register(algebra, Product(7, Enclosure({}), Enclosure({}), 4), start)


def test_a_product_that_is_taken_away_is_gone():
    algebra = Algebra()
    register = register_of(algebra, 0)
    product = product_of(algebra, 11, 3)
    register.add(product, 1)
    assert register.number == 11
    assert register.range() == pytest.approx((-3.125, 3.125))
    register.add(product, -1)
    assert (register.number, register.counts) == (0, {})
    assert register.range() == pytest.approx((0, 0), abs=1e-12)


def test_a_start_value_is_exact():
    register = register_of(Algebra(), 3)
    assert register.range() == pytest.approx((3, 3))
    assert register.zeros(1) == 4
    assert register_of(Algebra(), 0).zeros(1) == MANY_ZEROS


def test_the_word_has_the_zeros_of_its_worst_product():
    algebra = Algebra()
    register = register_of(algebra, 1)
    register.add(product_of(algebra, 11, 1, zeros=2), 1)
    assert register.zeros(0) == 2
    assert register.zeros(3) < 3


def test_a_view_is_small_and_follows_later_products():
    algebra = Algebra()
    register = register_of(algebra, 0)
    register.add(product_of(algebra, 11, 9), 1)
    assert len(register.read(0, 9).terms) == 9
    assert algebra.collapses == 0
    view = register.read(0, 8)
    assert len(view.terms) == 1
    assert algebra.collapses == 1
    assert register.ages[0] > 0
    # A later product is kept apart in the view, so that it cancels there when it is taken away.
    later = product_of(algebra, 13, 2)
    register.add(later, 1)
    assert len(register.read(0, 8).terms) == 3
    register.add(later, -1)
    assert len(register.read(0, 8).terms) == 1
    assert len(register.whole[0].terms) == 9


def test_settling_forgets_views_that_are_not_needed():
    algebra = Algebra()
    register = register_of(algebra, 0)
    product = product_of(algebra, 11, 9)
    register.add(product, 1)
    register.settle(4)
    assert register.views[0] is not None
    register.add(product, -1)
    register.settle(4)
    assert register.views == [None, None]
    assert register.ages == [0, 0]
