"""Fixed: programs for fixed point keep the errors that are stated, and refusals say what would do."""

import math
from fractions import Fraction

import numpy as np
import pytest
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
