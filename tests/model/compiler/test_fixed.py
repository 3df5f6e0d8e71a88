"""Fixed: programs for fixed point keep the errors that are stated, and refusals say what would do."""

import math
from fractions import Fraction

import numpy as np
import pytest
from skinny.model.compiler.choose import Judge
from skinny.model.compiler.fixed import longest
from skinny.model.compiler.pipeline import Precision, compile_formula
from skinny.model.errors import CheckError, InputError
from skinny.model.formula.parse import parse_formula
from skinny.model.program.units import Units
from skinny.model.rings import FixedPoint
from skinny.model.run.golden import run

SINE = "y = x - x^3/6 + x^5/120 - x^7/5040"


def compiled(text, bits, low, high, name="x", **options):
    box = {name: (Fraction(low), Fraction(high))}
    return compile_formula(parse_formula(text), precision=Precision(bits, None, box, **options))


def golden(program, values):
    """The results of the one output in the user's units."""
    bits, frac = map(int, program.ring.removeprefix("fixed:").split("."))
    units = Units(program, FixedPoint(bits, frac))
    elements = np.array([[units.encode(0, value)] for value in values])
    return [units.decode(0, row[0]) for row in run(program, units.ring, elements).outputs]


def test_sensor():
    text = "let n = v/4096; T = -38.1764 + 179.48*n - 20.19*n^2"
    made = compiled(text, 16, 0, 4095, "v", scale=True)
    values = [(k * 4095) // 199 for k in range(200)]
    for v, found in zip(values, golden(made.program, values), strict=True):
        n = Fraction(v, 4096)
        wanted = Fraction("-38.1764") + Fraction("179.48") * n - Fraction("20.19") * n**2
        assert abs(Fraction(found) - wanted) <= Fraction(made.errors["T"])
    assert made.errors["T"] < 0.02


def test_sine():
    made = compiled(SINE, 16, "-1.5708", "1.5708")
    assert made.errors["y"] <= 0.0007
    assert len(made.program.code) <= 12


def test_chebyshev():
    made = compiled("y = 512*x^10 - 1280*x^8 + 1120*x^6 - 400*x^4 + 50*x^2 - 1", 16, -1, 1)
    values = [Fraction(k, 64) for k in range(-64, 65)]
    for x, found in zip(values, golden(made.program, values), strict=True):
        assert abs(found - math.cos(10 * math.acos(x))) <= made.errors["y"] + 1e-9
    assert made.errors["y"] < 0.01


def test_a_refusal_names_the_closest():
    with pytest.raises(CheckError, match=r"an error of .* can be met; fixed:[0-9]+\.[0-9]+ would do"):
        compiled(SINE, 10, "-1.5708", "1.5708", error=Fraction(1, 10**4))


def test_functions():
    made = compiled("y = 3*sin(x) + exp(-x/2)", 24, 0, "6.3", error=Fraction(1, 1000))
    values = [Fraction(63 * k, 4990) for k in range(500)]
    for x, found in zip(values, golden(made.program, values), strict=True):
        assert abs(found - 3 * math.sin(x) - math.exp(-x / 2)) <= 1 / 1000


def test_what_is_missing():
    with pytest.raises(InputError, match="the input 'x' has no box"):
        compiled("y = x^2", 8, 0, 1, "v")
    with pytest.raises(InputError, match="--error is missing"):
        compiled("y = sin(x)", 16, -1, 1)


PID = "weight kp = 0.8 in 0:2; weight ki = 0.1 in 0:1; weight kd = 0.05 in 0:1; u = kp*e + ki*s + kd*d"


def test_scales_use_the_word_up_to_two():
    """By hand: |u| <= 170, so u/128 is below two and 14 fraction bits are left; three products are rounded."""
    box = {"e": (Fraction(-10), Fraction(10)), "s": (Fraction(-100), Fraction(100)), "d": (Fraction(-50), Fraction(50))}
    made = compile_formula(parse_formula(PID), precision=Precision(16, None, box, scale=True))
    assert made.program.ring == "fixed:16.14"
    assert [output.scale for output in made.program.outputs] == [7]
    assert made.errors["u"] == pytest.approx(3 * 2**-15 * 128, rel=1e-6)


def test_the_words_of_named_weights_count():
    """The product is at most 1, but the word of the weight holds 100."""
    box = {"x": (Fraction(-1, 100), Fraction(1, 100))}
    made = compile_formula(parse_formula("weight k = 1 in 0:100; y = k*x"), precision=Precision(16, None, box))
    assert made.program.ring == "fixed:16.8"


def test_scales_leave_room_on_the_way():
    """The square is below one and x is not: nothing is gained by a larger output."""
    made = compiled("y = (x - 3)^2", 16, 2, 4, scale=True)
    values = [2 + Fraction(k, 64) for k in range(129)]
    for x, found in zip(values, golden(made.program, values), strict=True):
        assert abs(Fraction(found) - (x - 3) ** 2) <= Fraction(made.errors["y"])
    assert made.errors["y"] < 1.01 * 2**-14


@pytest.mark.parametrize(
    ("shortest", "inputs", "wanted"), [(14, 2, 17), (16, 3, 20), (3, 2, 4), (14, 1, 15), (3, 1, 4)]
)
def test_the_cycles_that_a_precise_program_may_take(shortest, inputs, wanted):
    assert longest([shortest + 9, shortest], inputs) == wanted


def test_the_most_precise_drafts_are_made_shorter():
    """By 18 words before the search, more than a quarter above the shortest, 14."""
    text = "y = 100*(v - x^2)^2 + (1 - x)^2"
    box = {name: (Fraction("-2.048"), Fraction("2.048")) for name in "vx"}
    made = compile_formula(parse_formula(text), precision=Precision(16, None, box))
    assert made.program.words <= 17
    assert made.errors["y"] < 3
    assert any(entry.cycles > 17 and entry.error < made.errors["y"] for entry in made.tried)


def test_with_one_input_a_precise_program_is_at_most_one_word_longer():
    text = "let n = v/4096; T = -38.1764 + 179.48*n - 20.19*n^2"
    made = compiled(text, 24, 0, 4095, "v")
    assert made.program.words == compile_formula(parse_formula(text)).program.words + 1


def test_the_text_as_written_is_a_candidate():
    """A power by products, as it is written, takes five times as long as the recurrence, and is estimated all the
    same."""
    outputs = parse_formula("y = (x + z)^24")
    box = {name: (Fraction(0), Fraction(1, 2)) for name in "xz"}
    found = []

    def choose(judge):
        found.extend(judge.options["y"])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Judge, "choose", choose)
        patch.setattr("skinny.model.compiler.fixed.refuse", lambda *_: CheckError("looked at"))
        with pytest.raises(CheckError, match="looked at"):
            compile_formula(outputs, precision=Precision(32, None, box))
    cycles = {option.draft.source: option.code.cycles for option in found}
    assert cycles["contracts"] > 2 * cycles["univariate"]
