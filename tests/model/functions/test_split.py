"""Splitting a formula into parts of one form each."""

from fractions import Fraction

import pytest
from skinny.model.errors import InputError
from skinny.model.formula.formula import formula_text
from skinny.model.formula.parse import parse_formula
from skinny.model.functions.split import split

BOX = {name: (Fraction(-1), Fraction(3)) for name in "xyz"}


def parts(text):
    return [formula_text(part.node) for part in split(parse_formula(text)["y"], BOX).parts]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sin(x)", ["sin(x)"]),
        ("3*sin(x) + exp(-x/2) + x^2", ["3*sin(x) + exp(-x*1/2) + x^2"]),
        ("sin(cos(x))^2*x", ["sin(cos(x))^2*x"]),
        ("sin(x)*x*y", ["sin(x)*x"]),
        ("(sin(x) + y) + cos(x)", ["sin(x) + cos(x)"]),
        ("sin(x) + sin(y)", ["sin(x)", "sin(y)"]),
        ("sin(x)*y + sin(x)*z", ["sin(x)"]),
        ("exp(2*x - y)*z", ["exp(2*x - y)"]),
        ("exp(x + y)*(2*x + 2*y) + z", ["exp(x + y)*(2*x + 2*y)"]),
        ("x + exp(x + y) + y", ["x + y + exp(x + y)"]),
        ("sin(x + exp(x + y) + y)", ["sin(x + y + exp(x + y))"]),
        ("x*y*exp(1)", ["exp(1)"]),
        ("(x + sin(y))^3", ["sin(y)"]),
        ("sin(x*(2 - 1))*y^0", ["sin(x*(2 - 1))*1"]),
        ("x*y", []),
    ],
)
def test_parts_are_as_large_as_they_can_be(text, expected):
    assert sorted(parts(text)) == sorted(expected)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("sin(x)", "1/2*x + (-1/2)"),
        ("sin(2*x - 4*y)", "1/6*x + (-1/3)*y + 1/6"),
        ("sin(x - y)", "1/4*x + (-1/4)*y"),
    ],
)
def test_the_form_is_mapped_to_one(text, form):
    (part,) = split(parse_formula(text)["y"], BOX).parts
    assert formula_text(part.form) == form


def test_a_variable_from_minus_one_to_one_is_its_own_form():
    (part,) = split(parse_formula("exp(x)")["y"], {"x": (Fraction(-1), Fraction(1))}).parts
    assert formula_text(part.form) == "x"


def test_shared_sums_are_not_unfolded():
    """Forty doublings of a shared sum would have 2^40 terms."""
    text = "let s0 = sin(x) + z\n" + "\n".join(f"let s{n + 1} = s{n} + s{n}" for n in range(40)) + "\ny = s40"
    found = split(parse_formula(text)["y"], BOX)
    assert len(found.inner) < 50


@pytest.mark.parametrize("text", ["sqrt(x^2 + y^2)", "sin(x*y)", "exp(x + sin(y))", "log(x)*sin(x + sin(y))"])
def test_an_argument_over_several_forms_is_refused(text):
    with pytest.raises(InputError, match=r"^the argument of \w+, .+, depends on more than one form of the inputs: "):
        parts(text)
