"""Shares: functions are refused with errors that can be met, and get polynomials that leave enough for rounding."""

import re
from decimal import Decimal
from fractions import Fraction

import pytest
from skinny.model.compiler.goal import Precision
from skinny.model.compiler.pipeline import compile_formula
from skinny.model.compiler.refuse import Closest, RefusalError, rounded_up
from skinny.model.compiler.shares import share_error
from skinny.model.errors import CheckError, InputError
from skinny.model.formula.parse import parse_formula
from skinny.model.functions import part

BOX = {"x": (Fraction(0), Fraction(1)), "z": (Fraction(-2), Fraction(2))}


def compiled(text, bits, error):
    # Shares of an error are the same, and quickly found, without the passes that only make programs shorter.
    precision = Precision(bits, None, BOX, Fraction(error), scale=True)
    return compile_formula(parse_formula(text), precision=precision, without={"schedule", "search"})


@pytest.fixture
def low_degrees(monkeypatch):
    """Polynomials up to degree 6 only, so that what is out of reach is refused in a moment."""
    monkeypatch.setattr(part, "HIGHEST_DEGREE", 6)


@pytest.mark.usefixtures("low_degrees")
@pytest.mark.parametrize(
    ("text", "bits", "room"),
    [
        ("y = sqrt(x)", 24, 1.2),
        ("y = sqrt(x)", 12, 10),  # what can be met is up to rounding
        ("y = sin(99*x)", 16, 1.2),
    ],
)
def test_what_no_polynomial_reaches_is_refused_with_what_can_be_met(text, bits, room):
    with pytest.raises(CheckError) as caught:
        compiled(text, bits, "0.0012")
    found = re.fullmatch(
        r"output y: (.*) is out of reach on this box: a polynomial of degree 6, the highest, gives an error of (.*); "
        r"with rounding (.*) can be met, not 0.0012: ask for that, or take a smaller box",
        str(caught.value),
    )
    assert text.endswith(found[1])
    assert Fraction("0.0012") < Fraction(found[2]) < Fraction(found[3]) < room * Fraction(found[2])
    assert max(compiled(text, bits, found[3]).errors.values()) <= Fraction(found[3])


@pytest.mark.usefixtures("low_degrees")
def test_polynomials_of_several_forms_are_not_tried_for_a_refusal():
    with pytest.raises(CheckError) as caught:
        compiled("y = z*sqrt(x)/2", 24, "0.0012")
    assert str(caught.value) == (
        "output y: sqrt(x) is out of reach on this box: a polynomial of degree 6, the highest, gives an error of 0.024 "
        "before rounding, not 0.0012: ask for more, or take a smaller box"
    )


@pytest.mark.usefixtures("low_degrees")
def test_what_rounding_cannot_meet_is_not_laid_to_the_polynomial():
    """A polynomial is within 0.0241; there are none that would leave more of it to rounding."""
    with pytest.raises(RefusalError) as caught:
        compiled("y = sqrt(x)", 10, "0.0241")
    assert caught.value.closest.error > Decimal("0.0241")
    assert compiled("y = sqrt(x)", 10, caught.value.closest.error).errors["y"] <= caught.value.closest.error


class Attempts:
    """A compiler that needs ``rounding`` in any case, and remembers the polynomials it was given."""

    def __init__(self, rounding):
        self.rounding = Fraction(rounding)
        self.given = []

    def __call__(self, precision, made):
        self.given.append((precision.error, made["y"].degree))
        needed = made["y"].error + self.rounding
        if needed > precision.error:
            raise RefusalError(precision, Closest("y", rounded_up(float(needed)), (20, 9)))
        return made["y"]


def shared(text, error, attempts):
    return share_error(parse_formula(text), Precision(16, None, {"x": BOX["x"]}, Fraction(error)), attempts)


@pytest.mark.parametrize(("rounding", "degrees"), [("0", [3]), ("0.0004", [3]), ("0.0009", [3, 4])])
def test_the_least_degree_that_leaves_enough_for_rounding_is_taken(rounding, degrees):
    """The nearest polynomials to the exponential on 0:1 are off by 0.00054 (degree 3) and 0.000027 (degree 4)."""
    attempts = Attempts(rounding)
    found = shared("exp(x)", "0.001", attempts)
    assert attempts.given == [(Fraction("0.001"), degree) for degree in degrees]
    assert found.degree == degrees[-1]
    assert found.error + Fraction(rounding) <= Fraction("0.001")


def test_an_error_is_named_after_it_was_granted():
    attempts = Attempts("0.002")
    with pytest.raises(RefusalError, match=r"an error of 0\.00203 can be met; fixed:20\.9 would do") as caught:
        shared("exp(x)", "0.001", attempts)
    granted = Fraction(caught.value.closest.error)
    assert attempts.given == [(error, degree) for error in (Fraction("0.001"), granted) for degree in (3, 4)]


def test_no_error_is_named_that_is_never_granted():
    def stubborn(precision, made):
        raise RefusalError(precision, Closest("y", rounded_up(2 * float(precision.error)), None))

    with pytest.raises(RefusalError) as caught:
        shared("exp(x)", "0.001", stubborn)
    assert caught.value.closest == Closest("y", None, None)


def test_functions_need_an_error():
    with pytest.raises(InputError, match=r"^a formula with functions needs an error that its polynomials may have"):
        share_error(parse_formula("exp(x)"), Precision(16, None, BOX), Attempts("0"))
