"""Networks: programs of these texts compute what the names say, against computations of their own in rationals."""

from fractions import Fraction
from itertools import permutations
from math import prod

import pytest
import skinny
from skinny.scripts.bench.networks import (
    adder,
    constituents,
    horner,
    layers,
    network,
    power_of_form,
    shared_determinant,
    sum_product,
)

#: Different numbers with different signs and denominators.
NUMBERS = [Fraction((-1) ** n * (2 * n + 1), n % 3 + 1) for n in range(100)]


def outputs_of(text, point, ring="exact", width=3):
    program = skinny.compile(text, keep="none", width=width)
    found = program.run({name: point[name] for name in program.inputs}, ring)
    return found if isinstance(found, dict) else {"y": found}


def test_horner():
    point = {f"{letter}{n}": NUMBERS[n] + (letter == "a") for letter in "ab" for n in range(9)}
    expected = sum(point[f"b{n}"] * prod(point[f"a{m}"] for m in range(n)) for n in range(9))
    assert outputs_of(horner(8), point) == {"y": expected}


def test_the_adder_adds():
    for a, b in ((0, 0), (201, 77), (255, 255), (90, 166)):
        point = {f"{name}{n}": value >> n & 1 for name, value in (("a", a), ("b", b)) for n in range(8)}
        found = outputs_of(adder(8), point, "boolean", 4)
        assert sum(found[f"s{n}"] << n for n in range(8)) + (found["carry"] << 8) == a + b


def test_the_determinant():
    size = 4
    matrix = [[NUMBERS[size * row + column] for column in range(size)] for row in range(size)]
    expected = sum(
        (-1) ** sum(p[i] > p[j] for i in range(size) for j in range(i + 1, size))
        * prod(matrix[row][p[row]] for row in range(size))
        for p in permutations(range(size))
    )
    point = {f"a{row}{column}": matrix[row][column] for row in range(size) for column in range(size)}
    assert outputs_of(shared_determinant(size), point, width=10) == {"y": expected}


@pytest.mark.parametrize("text", [constituents(3), sum_product(8)])
def test_trees_are_affine_in_each_of_their_inputs(text):
    """And all eight of them together are multiplied: the eighth difference is not zero."""
    program = skinny.compile(text, keep="none", width=24)
    for place in range(8):
        rows = [[*NUMBERS[:place], x, *NUMBERS[place + 1 : 8]] for x in (0, 1, 2, 7)]
        values = program.run(rows, "exact")
        assert values[2] - values[1] == values[1] - values[0] == (values[3] - values[0]) / 7 != 0
    corners = [[number >> n & 1 for n in range(8)] for number in range(256)]
    found = program.run(corners, "exact")
    assert sum((-1) ** sum(corner) * value for corner, value in zip(corners, found, strict=True)) != 0


@pytest.mark.parametrize(
    ("activation", "function"), [("({})^2", lambda v: v * v), ("relu({})", lambda v: max(v, Fraction(0)))]
)
def test_a_network(activation, function):
    weights = layers((5, 4, 3, 2), seed=3)
    values = NUMBERS[:5]
    for layer in weights[:-1]:
        values = [function(sum(w * v for w, v in zip(row, values, strict=False)) + row[-1]) for row in layer]
    expected = [sum(w * v for w, v in zip(row, values, strict=False)) + row[-1] for row in weights[-1]]
    found = outputs_of(network(weights, activation), {f"x{n}": NUMBERS[n] for n in range(5)}, width=16)
    assert found == {"y0": expected[0], "y1": expected[1]}


def test_a_power_of_a_form():
    expected = (2 * NUMBERS[0] + 3 * NUMBERS[1] + 7) ** 5
    assert outputs_of(power_of_form(2, 5), {"x0": NUMBERS[0], "x1": NUMBERS[1]}) == {"y": expected}
