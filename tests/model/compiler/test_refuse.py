"""Refuse: what a refusal names as the closest can be met."""

import re
from decimal import Decimal
from fractions import Fraction

import pytest
from skinny.model.compiler.goal import Precision
from skinny.model.compiler.pipeline import compile_formula
from skinny.model.compiler.refuse import Closest, RefusalError
from skinny.model.formula.parse import parse_formula

SENSOR = "let n = v/4096; T = -38.1764 + 179.48*n - 20.19*n^2"
#: Formula, box, bits, scaled or not; and an error that is out of reach.
CASES = [
    (SENSOR, {"v": "0:4095"}, 16, True, "0.001"),
    (SENSOR, {"v": "0:4095"}, 16, False, "0.001"),
    ("p = 0.3*x*y - 7*x; q = x^2/3 + 100*y^2", {"x": "-1:1", "y": "-3:4"}, 12, False, "0.0001"),
    ("y = sin(x)", {"x": "-1:1"}, 10, False, "0.0005"),
]


def refusal(text, box, bits, scale, error):
    with pytest.raises(RefusalError) as caught:
        made(text, box, bits, scale, error)
    return caught.value


def made(text, box, bits, scale, error, frac=None):
    ranges = {name: tuple(map(Fraction, ends.split(":"))) for name, ends in box.items()}
    error = None if error is None else Fraction(error)
    return compile_formula(parse_formula(text), precision=Precision(bits, frac, ranges, error, scale))


@pytest.mark.parametrize("case", CASES)
def test_what_is_named_can_be_met(case):
    text, box, bits, scale, asked = case
    refused = refusal(*case)
    error, word = refused.closest.error, refused.closest.word
    assert max(made(text, box, bits, scale, Fraction(error)).errors.values()) <= error
    assert max(made(text, box, word[0], scale, asked, word[1]).errors.values()) <= Fraction(asked)
    assert word[0] > bits
    assert f"an error of {float(error):.6g} can be met; fixed:{word[0]}.{word[1]} would do" in str(refused)


@pytest.mark.parametrize("case", CASES[:3])
def test_what_is_met_without_an_asked_error_is_not_missed(case):
    text, box, bits, scale, _ = case
    met = max(made(text, box, bits, scale, None).errors.values())
    assert refusal(*case).closest.error <= Decimal(met) * Decimal("1.01")


def test_without_a_safe_program_no_error_is_named():
    told = str(refusal("y = 1000*x", {"x": "-100:100"}, 8, False, "1"))
    assert re.search(r"at most 1 in fixed:8 on this box: fixed:18\.[0-9] would do; --scale auto", told)


def test_two_refusals_name_the_closest_of_both():
    asked = Precision(16, None, {}, Fraction(1, 1000), scale=True)
    one = RefusalError(asked, Closest("p", Decimal("0.02"), (20, 9)))
    other = RefusalError(asked, Closest("q", Decimal("0.01"), (21, 8)))
    nothing = RefusalError(asked, Closest("r", None, None))
    for first, second in ((one, other), (other, one)):
        assert first.or_closer(second).closest == Closest("q", Decimal("0.01"), (20, 9))
    assert one.or_closer(nothing).closest == nothing.or_closer(one).closest == one.closest
    assert nothing.or_closer(nothing).closest == nothing.closest
    assert str(nothing).endswith("no word up to 32 bits was found to do")


def test_the_next_word_is_named_where_it_does():
    """3 needs two bits before the point and a sign, and there are six behind it."""
    with pytest.raises(RefusalError) as caught:
        made("y = 3*x", {"x": "-1:1"}, 8, False, None, frac=6)
    assert caught.value.closest.word == (9, 6)


def test_the_output_that_is_furthest_off_is_named():
    refused = refusal("p = x + y; q = x*y/3; r = x - y", {"x": "-1:1", "y": "-1:1"}, 8, False, "0.000001")
    assert refused.closest.output == "q"
