"""Values that are numbers or formulas."""

from fractions import Fraction

from skinny.model.formula.formula import variables
from skinny.model.frontends.arithmetic import as_formula, dot, form, plus, times, value_of

A, B = variables("a b")
ONE, TWO = Fraction(1), Fraction(2)


def test_numbers_stay_numbers():
    assert plus([ONE, TWO]) == 3
    assert times([TWO, TWO]) == 4
    assert dot([ONE, TWO], [TWO, TWO]) == 6
    assert form([ONE, TWO], [TWO, ONE]) == 4
    assert value_of(0.5) == Fraction(1, 2)


def test_zero_and_one_leave_no_trace():
    assert plus([A, Fraction(0)]) is A
    assert times([ONE, A]) is A
    assert times([A, Fraction(0), B]) == 0
    assert form([Fraction(0), ONE], [A, B]) is B
    assert plus([]) == 0
    assert times([]) == 1


def test_formulas():
    assert repr(plus([A, ONE, B, ONE])) == "a + b + 2"
    assert repr(times([A, TWO, B])) == "2*a*b"
    assert repr(form([TWO, ONE], [A, B])) == "2*a + b"
    assert repr(as_formula(TWO)) == "2"
    assert as_formula(A) is value_of(A) is A
