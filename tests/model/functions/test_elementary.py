"""Elementary functions: mpmath's values, to far more digits, lie between the two floats, and those are neighbours."""

import math
import random

import mpmath
import pytest
from skinny.model.functions.elementary import POINT_FUNCTIONS, extremes_between, two_over_root_pi

REFERENCES = {"exp": mpmath.exp, "log": mpmath.log, "sin": mpmath.sin, "cos": mpmath.cos, "erf": mpmath.erf}


def arguments(name):
    rng = random.Random(name)
    out = [0.0, 1.0, -1.0, 0.5, 1e-300, -1e-20, math.pi, math.pi / 2, -3 * math.pi, 1 - 2**-53, 1 + 2**-52, 9.99, 700.0]
    out += [rng.uniform(-10, 10) for _ in range(300)]
    out += [rng.choice([-1, 1]) * 10 ** rng.uniform(-30, 3) for _ in range(300)]
    out += [rng.choice([-1, 1]) * 2.0**39 * rng.random() for _ in range(20)] if name in ("sin", "cos") else []
    return [abs(x) for x in out if x] if name == "log" else out


@pytest.mark.parametrize("name", POINT_FUNCTIONS)
def test_the_value_lies_between(name):
    with mpmath.workprec(400):
        for x in arguments(name):
            low, high = POINT_FUNCTIONS[name](x)
            value = REFERENCES[name](mpmath.mpf(x))
            assert mpmath.mpf(low) < value < mpmath.mpf(high) if math.isfinite(high) else value > low, x
            assert high - low <= 2 * math.ulp(max(-low, high)) + 2.0**-88 or math.isinf(high), x


def test_the_largest_and_smallest_exponentials():
    assert POINT_FUNCTIONS["exp"](1e9) == (2.0**1023, math.inf)
    assert POINT_FUNCTIONS["exp"](-1e9) == (0.0, math.ulp(0.0))
    low, high = POINT_FUNCTIONS["exp"](-744.9)
    assert 0 <= low < high < 2e-323


def test_far_angles_are_not_tried():
    assert POINT_FUNCTIONS["sin"](1e300) == (-1.0, 1.0)
    assert extremes_between(0.0, 1e300) == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("low", "high", "turns"),
    [
        (0.1, 1.5, set()),
        (0.1, 1.6, {1}),
        (-0.1, 0.1, {0}),
        (-1.6, 1.6, {3, 0, 1}),
        (3.0, 5.0, {2, 3}),
        (1.0, 7.5, {1, 2, 3, 0}),
        (100.0, 1000.0, {0, 1, 2, 3}),
        (-3.2, -3.1, {2}),
        (0.0, 0.0, {0}),
        (math.pi / 2, math.nextafter(math.pi / 2, 2), {1}),
        (math.nextafter(math.pi / 2, 2), 1.6, set()),
    ],
)
def test_turns_between_two_angles(low, high, turns):
    assert extremes_between(low, high) == turns


def test_the_slope_of_the_error_function():
    low, high = two_over_root_pi()
    with mpmath.workprec(200):
        assert mpmath.mpf(low) < 2 / mpmath.sqrt(mpmath.pi) < mpmath.mpf(high)
    assert high - low <= 2 * math.ulp(1.0)
