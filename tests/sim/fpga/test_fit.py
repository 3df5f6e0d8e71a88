"""Fits find the coefficients that made the figures."""

import pytest
from skinny.model.machine.isa import CoreConfig
from skinny.model.rings import FixedPoint
from skinny.sim.fpga.devices import DEVICES
from skinny.sim.fpga.fit import GUESS, fit_period, solve
from skinny.sim.fpga.terms import Shape, paths, weigh


def test_fit_finds_the_coefficients_that_made_the_figures():
    rows = [{"a": 1, "b": n, "c": n * n} for n in range(1, 12)]
    measured = [100 + 20 * row["b"] + 3 * row["c"] for row in rows]
    found = solve(rows, measured, 0.02, {"a": 50, "b": 10, "c": 6})
    assert found == pytest.approx({"a": 100, "b": 20, "c": 3}, rel=0.1)
    # A coefficient that cannot be negative is zero instead.
    falling = [200 - 5 * row["b"] for row in rows]
    assert solve(rows, falling, 0.02, {"a": 50, "b": 10, "c": 0.5})["b"] == 0
    assert solve(rows, falling, 0.02, {"a": 50, "b": -10, "c": 0.5})["b"] < -3


def test_fit_finds_the_slowest_paths():
    # Delays that are far from the guesses, so that other paths decide than those the guesses say.
    guess = GUESS["period"]["up5k"]
    delays = guess | {"control": 22.0, "sum": 4.0, "sum, bit": 0.6, "select": 9.0}

    def slowest(weights, shape):
        return max(paths(shape), key=lambda name: weigh(weights, paths(shape)[name]))

    shapes = [
        Shape(CoreConfig(FixedPoint(bits, bits // 2), threads=threads), DEVICES["up5k"], "generic", False)
        for bits in range(8, 33, 3)
        for threads in range(1, 6)
    ]
    assert {slowest(delays, shape) for shape in shapes} == {"control", "sum", "sum and write", "the whole instruction"}
    assert sum(slowest(delays, shape) != slowest(guess, shape) for shape in shapes) > 10
    real = [weigh(delays, paths(shape)[slowest(delays, shape)]) for shape in shapes]
    weights = fit_period([(paths(shape), period) for shape, period in zip(shapes, real, strict=True)], guess)
    for shape, period in zip(shapes, real, strict=True):
        assert weigh(weights, paths(shape)[slowest(weights, shape)]) == pytest.approx(period, rel=0.1)
