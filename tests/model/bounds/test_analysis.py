"""The analysis with small limits, so that it must forget, and what counts as overflow."""

import random
from fractions import Fraction

import numpy as np
import pytest
from skinny.model.bounds import analysis, structure, terms
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


def horner_program(reference, count):
    """``b + a·(…)`` of ``count`` steps, each with variables of its own."""
    node = ("leaf", 0)
    for n in range(count):
        node = ("sum", ("leaf", 2 * n + 1), ("product", ("leaf", 2 * n + 2), node))
    inputs = range(2 * count + 1)
    return reference.program_of(
        reference.word(node, "C", 1, 0, 2), [f"x{u}" for u in inputs], [], [Input(u) for u in inputs]
    )


def limited(monkeypatch, part):
    """All limits that are worth seconds, made smaller."""
    for module, name in (
        (terms, "_VALUE_WORK"),
        (terms, "_WORK"),
        (structure, "_WORK"),
        (analysis, "MOST_STRUCTURE_WORK"),
        (analysis, "_MOST_WORK"),
        (analysis, "_MOST_STRUCTURED"),
    ):
        monkeypatch.setattr(module, name, getattr(module, name) // part)
    monkeypatch.setattr(analysis, "MOST_SECONDS", analysis.MOST_SECONDS / part)


def test_the_work_of_all_analyses_together_is_limited(reference, monkeypatch):
    """Eighteen seconds as the work is counted, here a fiftieth of them, though each analysis may ask for more."""
    program = horner_program(reference, 12)
    limited(monkeypatch, 50)
    found = analysis.Analysis(program, FixedPoint(32, 30), [(-1, 1)] * len(program.inputs))
    assert found.first_overflow(32) is not None
    assert 5 / 50 < found.spent <= 19 / 50


def test_what_was_spent_leaves_less_for_what_follows(reference, monkeypatch):
    """Neither the enclosures nor the structure are begun when they might take too long; what is known is kept."""
    begun = []
    monkeypatch.setattr(analysis.Analysis, "_run", lambda self: begun.append("run"))
    monkeypatch.setattr(analysis, "follow", lambda *_: begun.append("structure"))
    monkeypatch.setattr(analysis, "_MOST_EVALUATED", -1)
    monkeypatch.setattr(analysis, "MOST_SECONDS", 4.0)
    program = reference.program_of([(0, 1, 1, 0)], "x", [], [Input(0)])
    found = analysis.Analysis(program, FixedPoint(16, 8), [(-1, 1)])
    found._narrow()
    assert begun == []
    assert found.errors == {"y": np.inf}
    assert found.first_overflow(16).output == "y"


def test_long_programs_are_not_begun(reference, monkeypatch):
    """Half a million instructions take twelve seconds; of more nothing is said, at once."""
    monkeypatch.setattr(analysis, "_MOST_EVALUATED", -1)
    monkeypatch.setattr(analysis, "MOST_SECONDS", 5 + 20 * 100 / 800_000)
    rings = FixedPoint(16, 8), [(-1, 1)]
    for length, safe in ((100, True), (101, False)):
        program = reference.program_of([(0, 1, (-1) ** t, 0) for t in range(length)], "x", [], [Input(0)])
        assert (analysis.Analysis(program, *rings).first_overflow(16) is None) == safe
