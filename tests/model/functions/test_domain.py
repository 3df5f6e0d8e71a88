"""Domain: what is not defined somewhere on its box is found, however narrow the place is; what is defined is let be."""

from fractions import Fraction

import pytest
from skinny.model.errors import InputError
from skinny.model.formula.parse import parse_formula
from skinny.model.functions.domain import check_domain
from skinny.model.functions.split import split


def checked(text, low, high):
    (part,) = split(parse_formula(text)["y"], {"x": (Fraction(low), Fraction(high))}).parts
    check_domain(part.tape)


LOG, ROOT, POLE = "log is defined above zero only", "sqrt is defined from zero on only", "1/x has a pole at zero"


@pytest.mark.parametrize(
    ("text", "low", "high", "message"),
    [
        # Zeros of an even order, between samples.
        ("log(x^2)", "-1", "2", f"log(x^2) cannot be computed on this box: {LOG}, and its argument comes to zero"),
        (
            "1/(x^2)",
            "-1",
            "1.1",
            f"1/(x^2) cannot be computed on this box: {POLE}, and its argument comes to zero",
        ),
        ("exp(-1/(x^2))", "-1", "1.1", f"1/(x^2) cannot be computed on this box: {POLE}, and its argument comes to "),
        ("1/(1 - sin(x))", "1", "2", f"1/(1 - sin(x)) cannot be computed on this box: {POLE}, and its argument comes "),
        ("log(sqrt(x^2))", "-1", "2", f"log(sqrt(x^2)) cannot be computed on this box: {LOG}, and its argument comes "),
        # Gaps of 10^-6 and less.
        (
            "sqrt(x^2 - 1e-12)",
            "-1",
            "2",
            f"sqrt(x^2 - 1/1000000000000) cannot be computed on this box: {ROOT}",
        ),
        ("log((x - 1/3)^2 - 1e-14)", "0", "1", "log((x - 1/3)^2 - 1/100000000000000) cannot be computed on this box: "),
        ("tan(x^2)", "-1", "1.2533141374", "tan(x^2) cannot be computed on this box: tan has a pole at π/2 and so on"),
    ],
)
def test_narrow_places_are_found(text, low, high, message):
    with pytest.raises(InputError) as caught:
        checked(text, low, high)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "low", "high", "place"),
    [
        ("log(x^2)", "-1", "2", "comes to zero, or too near to it, where x is 0"),
        ("1/((2*x - 1)^2)", "0", "2", "comes to zero, or too near to it, where 2*x - 1 is 0"),
        ("1/(1 - sin(x))", "1", "2", "comes to zero, or too near to it, where x is 1.5708"),
        ("tan(x^2)", "-1", "1.3", "comes to a pole, or too near to it, where x is 1.25331"),
        ("sqrt(x^2 - 1)", "-2", "2", "is outside where x is -0.90625"),
    ],
)
def test_the_place_is_named(text, low, high, place):
    with pytest.raises(InputError) as caught:
        checked(text, low, high)
    assert str(caught.value).endswith(f"and its argument {place}")


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("sin(x)", "-9", "9"),
        ("sqrt(x)", "0", "1"),
        ("sqrt(x^2)", "-1", "2"),
        ("sqrt(x^2 - 1)", "1", "2"),
        ("sqrt(sin(x))", "0", "3"),
        ("log(x^2 + 1e-6)", "-1", "2"),
        ("1/(x^2 + 1e-20)", "-1", "2"),
        ("1/(x^4 - x^2 + 0.26)", "-1", "1"),
        ("tan(x)", "-1.57", "1.57"),
        ("tan(x)", "2", "4"),
        # Zero everywhere, for all that intervals can tell: the proof of the error is left to fail.
        ("sqrt(sin(x)^2 + cos(x)^2 - 1)", "0", "1"),
    ],
)
def test_what_is_defined_is_let_be(text, low, high):
    checked(text, low, high)
