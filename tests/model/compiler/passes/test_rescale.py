"""Rescale: other constants, the same polynomial; what a word holds badly becomes large."""

from fractions import Fraction

import pytest
from skinny.model.compiler.passes.rescale import exponent, rescale
from skinny.model.compiler.pipeline import Precision, compile_formula
from skinny.model.formula.parse import parse_formula

TEXTS = [
    "y = 0.96*b + 0.01*a*b",
    "y = b*(0.1*a + 9.6)/10 - a^3/6",
    "y = 2*a^2 - 1.05*a^4 + a^6/6 + a*b + b^2",
    "y = (a - b^2)^2/7 + 3*(1 - a)*(a + b/3)*b",
    "y = a + b",
]
TEN = (Fraction(0), Fraction(10))


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("bits", [8, 16, 32])
def test_every_shape_is_equal(blocks, text, bits):
    table, polynomial = blocks.polynomial_of(text)
    shapes = rescale(table, polynomial, [TEN, TEN], bits)
    for x in ([Fraction(3), Fraction(-5, 7)], [Fraction(1, 3), Fraction(9)]):
        wanted = blocks.value_at(table, polynomial, x)
        assert [blocks.value_at(table, shape, x) for shape in shapes] == [wanted] * len(shapes)


def test_a_small_constant_gives_way_to_a_power_of_two(blocks):
    table, polynomial = blocks.polynomial_of("y = 0.01*b*(a + 96)")
    # Inputs and output are at most 16, the sum times the constant at most 1.06: there is room for a factor of 8.
    of_products, in_variables = rescale(table, polynomial, [TEN, TEN], 8)
    ((monomial, left),) = of_products.items()
    assert left == Fraction(1, 8)
    b, a = (table.names.index(name) for name in "ba")
    assert {((a, 1),): Fraction(8, 100), (): Fraction("7.68")} in [table.sum_of(atom) for atom, _ in monomial]
    ((monomial, left),) = in_variables.items()
    assert left == 1
    assert {((b, 1),): Fraction(1, 8)} in [table.sum_of(atom) for atom, _ in monomial]


def test_the_power_of_two_that_is_left_is_a_word(blocks):
    """With 6 bits one fraction bit is left beside values up to 16: an eighth would be zero."""
    table, polynomial = blocks.polynomial_of("y = 0.01*b*(a + 96)")
    ((_, left),) = rescale(table, polynomial, [TEN, TEN], 6)[0].items()
    assert left == Fraction(1, 2)


def test_constants_that_words_hold_stay(blocks):
    table, polynomial = blocks.polynomial_of("y = 3/8*a^2*b - 5*a + 1/3")
    assert rescale(table, polynomial, [TEN, TEN], 16) == [polynomial] * 4


def test_it_earns_its_place():
    outputs = parse_formula("q = y + 0.1*y*(0.1*x - 0.4)")
    precision = Precision(16, None, {"x": TEN, "y": TEN}, error=Fraction(4, 1000))
    with_it, without = (compile_formula(outputs, precision=precision, without=off) for off in ((), ("rescale",)))
    assert with_it.program.words < without.program.words


@pytest.mark.parametrize(
    ("size", "wanted"), [("0", 0), ("1", 0), ("4095", 12), ("4096", 12), ("4097", 13), ("1/5", -2)]
)
def test_exponents(size, wanted):
    assert exponent(Fraction(size)) == wanted
