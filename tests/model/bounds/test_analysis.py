"""The analysis with small limits, so that it must forget, and what counts as overflow."""

import random
from fractions import Fraction

import numpy as np
import pytest
from skinny.model.bounds import analysis
from skinny.model.bounds.bounds import bound
from skinny.model.program.forms import Input
from skinny.model.rings import FixedPoint


def test_what_is_no_number_does_not_fit(reference):
    found = analysis.Analysis(reference.program_of([(0, 1, 1, 0)], "x", [], [Input(0)]), FixedPoint(16, 8), [(-1, 1)])
    assert found.first_overflow(16) is None
    found.reads.sent[0] = (-1.0, np.nan)
    assert found.first_overflow(16).output == "y"


@pytest.mark.parametrize("seed", range(40))
def test_never_exceeded_when_collapsed(reference, monkeypatch, seed):
    for name, value in (("_WORK", 1), ("_LEAST_TERMS", 2 + seed % 5), ("_RECURRING_WORK", 1), ("_LEAST_RECURRING", 1)):
        monkeypatch.setattr(analysis, name, value)
    monkeypatch.setattr(analysis, "_KEPT_PRODUCTS", 3)
    # Values at nodes would do for such small programs.
    monkeypatch.setattr(analysis, "_MOST_EVALUATED", -1)
    rng = random.Random(seed)
    program = (
        reference.random_program(rng, 10)
        if seed % 2
        else reference.polynomial_program(rng, 3, inputs=3, contract="in-place")
    )
    ends = [sorted(Fraction(rng.randint(-8, 8), 8) for _ in range(2)) for _ in program.inputs]
    found = bound(program, FixedPoint(32, 6), ends)
    for raw in reference.some_inputs(rng, reference.raw_box(FixedPoint(32, 6), ends), 40):
        reference.assert_within(program, found, 6, raw)


@pytest.mark.parametrize("seed", range(20))
def test_never_exceeded_by_enclosures_alone(reference, monkeypatch, seed):
    monkeypatch.setattr(analysis, "_MOST_EVALUATED", -1)
    rng = random.Random(seed)
    program, frac = reference.random_program(rng, rng.randint(1, 14)), rng.randint(0, 8)
    ends = [sorted(Fraction(rng.randint(-12, 12), 8) for _ in range(2)) for _ in program.inputs]
    found = bound(program, FixedPoint(32, frac), ends)
    for raw in reference.some_inputs(rng, reference.raw_box(FixedPoint(32, frac), ends), 60):
        reference.assert_within(program, found, frac, raw)


def test_too_much_work_is_given_up(reference, monkeypatch):
    """What is not known by then is infinite, and so not safe."""
    monkeypatch.setattr(analysis, "_MOST_EVALUATED", -1)
    monkeypatch.setattr(analysis, "_MOST_WORK", 20)
    program = reference.polynomial_program(random.Random(1), 10)
    found = bound(program, FixedPoint(24, 8), [(-1, 1)] * 4)
    assert np.isinf(found.errors["y"])
    assert np.isinf(found.high[-1])
    assert not found.safe
