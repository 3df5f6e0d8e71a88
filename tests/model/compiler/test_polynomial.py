"""Polynomials over atoms: arithmetic that keeps them in one form, and what may be taken out of them."""

from fractions import Fraction

import pytest
from skinny.model.compiler.polynomial import Table, add_into, magnitude, plain, raised, times
from skinny.model.errors import InputError


def test_whole_numbers_are_integers():
    assert type(plain(Fraction(6, 3))) is int
    assert plain(Fraction(1, 3)) == Fraction(1, 3)
    assert raised(Fraction(2, 3), 3) == Fraction(8, 27)
    assert type(raised(Fraction(4, 2), 10)) is int
    assert [magnitude(value) for value in (3, -3, Fraction(-1, 2))] == [3, 3, Fraction(1, 2)]


def test_powers_that_are_too_long_are_refused_before_they_are_computed():
    with pytest.raises(InputError, match="a number of the formula gets more than 4,000 digits"):
        raised(10, 10**12)
    assert raised(1, 10**12) == 1


def test_no_zeros_are_left_behind():
    polynomial = {((0, 1),): 2}
    add_into(polynomial, ((0, 1),), Fraction(1, 2))
    assert polynomial == {((0, 1),): Fraction(5, 2)}
    add_into(polynomial, ((0, 1),), Fraction(-5, 2))
    add_into(polynomial, (), 0)
    assert polynomial == {}


def test_monomials_multiply_to_sorted_ones():
    assert times(((1, 2), (3, 1)), ((0, 1), (3, 4))) == ((0, 1), (1, 2), (3, 5))
    assert times((), ((2, 1),)) == times(((2, 1),), ()) == ((2, 1),)


def test_equal_sums_are_one_atom_and_parts_come_first():
    table = Table(["a", "b"])
    s = table.atom({((0, 1),): 1, ((1, 1),): 1})
    assert s == 2
    assert table.atom({((1, 1),): 1, ((0, 1),): 1}) == s
    t = table.atom({((0, 1), (s, 2)): 3, (): 1})
    other = table.atom({((1, 2),): 1})
    assert (t, other) == (3, 4)
    assert table.atoms_inside({((t, 1),): 1}) == {s, t}
    assert table.atoms_inside({((0, 5),): 1}) == set()
    assert table.sum_of(t) == {((0, 1), (s, 2)): 3, (): 1}
    assert table.sum_of(1) is None


def test_only_primes_of_the_formulas_own_denominators_may_divide():
    table = Table(["a"], denominator=12)
    assert [n for n in range(1, 20) if table.may_divide_by(n)] == [1, 2, 3, 4, 6, 8, 9, 12, 16, 18]
    assert table.may_divide_by(Fraction(-8, 5))
    assert not table.may_divide_by(Fraction(10, 3))


@pytest.mark.parametrize(
    ("denominator", "given", "scale", "rest"),
    [
        # 6·a + 9·b + 6: neither 6 nor 9 divides all, and nothing may be made a fraction.
        (1, {((0, 1),): 6, ((1, 1),): 9, (): 6}, 1, {((0, 1),): 6, ((1, 1),): 9, (): 6}),
        (1, {((0, 1),): 6, ((1, 1),): -6, (): 12}, 6, {((0, 1),): 1, ((1, 1),): -1, (): 2}),
        # The first monomial is to be positive.
        (1, {((0, 1),): -2, ((1, 1),): 2}, -2, {((0, 1),): 1, ((1, 1),): -1}),
        # Where the formula has thirds, 9 may be divided by; the most frequent size goes first.
        (3, {((0, 1),): 9, ((1, 1),): 9, ((0, 2),): 5}, 9, {((0, 1),): 1, ((1, 1),): 1, ((0, 2),): Fraction(5, 9)}),
    ],
)
def test_what_is_taken_out(denominator, given, scale, rest):
    assert Table(["a", "b"], denominator).reduced(given) == (scale, rest)
