"""Bounds from the terms of polynomials, against runs in plain integers and values that are known."""

import random
from fractions import Fraction

import numpy as np
import pytest
from skinny.model.bounds import analysis, measures, nodes, terms
from skinny.model.bounds.bounds import bound
from skinny.model.compiler.pipeline import compile_formula
from skinny.model.formula.parse import parse_formula
from skinny.model.program.forms import Input, Linear, Weight
from skinny.model.program.program import Output
from skinny.model.rings import FixedPoint
from skinny.model.run import golden


def only_terms(monkeypatch):
    """Refuse the other analyses."""

    def refuse(*_):
        raise AssertionError("the terms were not enough")

    monkeypatch.setattr(nodes, "_MOST_VARIABLES", -1)
    monkeypatch.setattr(analysis, "_MOST_FOLLOWED", 0)
    monkeypatch.setattr(analysis.Analysis, "_run", refuse)
    monkeypatch.setattr(analysis.Analysis, "_narrow", refuse)


def product_program(count, contract):
    return compile_formula(parse_formula("*".join(f"x{n}" for n in range(count))), contract=contract).program


@pytest.mark.parametrize("work", [12_000_000, 40])
@pytest.mark.parametrize("seed", range(30))
def test_never_exceeded_by_any_program(reference, monkeypatch, seed, work):
    """With sweeps to the end, and with sweeps that must stop early."""
    only_terms(monkeypatch)
    monkeypatch.setattr(terms, "_ERROR_WORK", work)
    rng = random.Random(seed)
    program, frac = reference.random_program(rng, rng.randint(1, 20)), rng.randint(0, 8)
    ends = [sorted(Fraction(rng.randint(-12, 12), 8) for _ in range(2)) for _ in program.inputs]
    found = bound(program, FixedPoint(32, frac), ends)
    for raw in reference.some_inputs(rng, reference.raw_box(FixedPoint(32, frac), ends), 40):
        reference.assert_within(program, found, frac, raw)


@pytest.mark.parametrize("seed", range(12))
def test_ranges_at_nodes_with_the_errors_of_terms_are_never_exceeded(reference, monkeypatch, seed):
    monkeypatch.setattr(measures, "_LATER_WORK", -1)
    monkeypatch.setattr(measures, "MINOR", 0.0)
    monkeypatch.setattr(analysis, "_MOST_FOLLOWED", 0)
    rng = random.Random(seed)
    program, frac = reference.random_program(rng, rng.randint(4, 20)), rng.randint(0, 3)
    ends = [(Fraction(-1), Fraction(1))] * len(program.inputs)
    found = bound(program, FixedPoint(32, frac), ends)
    for raw in reference.some_inputs(rng, reference.raw_box(FixedPoint(32, frac), ends), 60):
        reference.assert_within(program, found, frac, raw)


@pytest.mark.parametrize("seed", range(6))
def test_never_exceeded_with_forms_and_rounded_weights(reference, monkeypatch, seed):
    only_terms(monkeypatch)
    rng = random.Random(seed)
    program, frac = reference.attention_program(rng, 3), 3 + seed
    ends = [(Fraction(-1), Fraction(1, 2))] * 4
    found = bound(program, FixedPoint(32, frac), ends)
    for raw in reference.some_inputs(rng, reference.raw_box(FixedPoint(32, frac), ends), 60):
        reference.assert_within(program, found, frac, raw)


def test_errors_are_those_of_the_roundings(reference, monkeypatch):
    """``x·z·u`` with |u| <= 2: the rounding of ``x·z`` counts twice, that of the last product once."""
    only_terms(monkeypatch)
    code = [(2, 1, 1, 0), (0, 2, 1, 1), (3, 0, 1, 2)]
    forms, outputs = [Input(0), Input(1), Input(2)], (Output("y", 3, 3),)
    program = reference.program_of(code, "xzu", [], forms, width=4, outputs=outputs)
    found = bound(program, FixedPoint(24, 10), [(-1, 1), (0, 1), (1, 2)])
    assert found.errors["y"] == pytest.approx(3 / 2**11, rel=1e-9)
    assert found.errors["y"] >= 3 / 2**11
    assert (found.low[-1], found.high[-1]) == (-2 - 2**-10, 2 + 2**-10)


def test_rounded_weights_count(reference, monkeypatch):
    only_terms(monkeypatch)
    scaled = reference.program_of([(2, 1, 1, 0), (0, 2, 1, 1)], "x", [Fraction(1, 3)], [Input(0), Weight(0)])
    found = bound(scaled, FixedPoint(16, 4), [(-2, 2)])
    # 5/16 for 1/3 at x = 2, and half a step.
    assert found.errors["y"] == pytest.approx(2 / 48 + 1 / 32, rel=1e-6)


def test_roundings_of_a_form_multiply(reference, monkeypatch):
    only_terms(monkeypatch)
    form = Linear(tuple((0, u) for u in range(8)))
    square = reference.program_of([(2, 1, 1, 0), (0, 2, 1, 0)], "abcdefgh", [Fraction(1, 2)], [form])
    # Eight products of 1/4 are rounded to 1/2 each: 16 instead of 4.
    assert 12 <= bound(square, FixedPoint(8, 1), [(0, Fraction(1, 2))] * 8).errors["y"] <= 16


def test_what_is_uncomputed_costs_nothing(reference, monkeypatch):
    only_terms(monkeypatch)
    f_word, g_word = [(0, 2, 1, 1)], [(2, 1, 1, 0)]
    once = reference.reversed_block(f_word) + g_word + f_word + reference.reversed_block(g_word)
    code = (once + reference.reversed_block(once)) * 5 + once
    found = bound(reference.program_of(code, "xz", [], [Input(0), Input(1)]), FixedPoint(16, 8), [(-1, 1)] * 2)
    assert np.abs(found.ranges).max() <= 1 + 2**-7
    assert found.errors["y"] == pytest.approx(2**-9, rel=1e-6)


@pytest.mark.parametrize(
    ("contract", "ends"), [("clean", (-1, 1)), ("clean", (Fraction(1, 2), Fraction(9, 10))), ("in-place", (-1, 1))]
)
def test_ranges_of_a_deep_product_are_within_a_bit_of_what_runs_reach(reference, monkeypatch, contract, ends):
    """The clean product of 64 was bounded by 919, where 49 would do."""
    only_terms(monkeypatch)
    monkeypatch.setattr(terms, "_ERROR_WORK", 6_000_000)
    program, ring = product_program(64, contract), FixedPoint(32, 12)
    found = bound(program, ring, [ends] * 64)
    assert found.safe
    if contract == "clean" and ends == (-1, 1):
        assert np.abs(found.ranges).max() <= 49
    sizes = np.maximum(-found.low, found.high)
    place = int(sizes.argmax())
    corners = np.array([ring.encode(end) for end in ends])
    rng = np.random.default_rng(1)
    reached = 0
    for _ in range(8):
        # Registers are linear in each input: climb along the corners, one word changed at a time.
        point, best = rng.choice(corners, 64), -1
        while True:
            near = np.where(np.eye(64, dtype=bool), corners.sum() - point, point)
            largest = np.abs(written_at(program, ring, near, place))
            if largest.max() <= best:
                break
            best, point = largest.max(), near[largest.argmax()]
        reached = max(reached, best)
        reference.assert_within(program, found, ring.frac, point.tolist())
    assert sizes[place] <= 2 * reached / 2**ring.frac


def written_at(program, ring, raw, place):
    """What instruction ``place`` writes, for a batch of inputs."""
    state = [np.full(len(raw), value << ring.frac) for value in program.start]
    half = 1 << ring.frac - 1
    columns = (column[: place + 1].tolist() for column in program.code.arrays()[:4])
    for dst, src, sign, form in zip(*columns, strict=True):
        state[dst] = state[dst] + sign * ((raw[:, program.forms[form].u] * state[src] + half) >> ring.frac)
    return state[dst]


def test_too_much_work_is_given_up(reference, monkeypatch):
    """Without the terms the other analyses are asked, and nothing is promised where they give up, too."""
    monkeypatch.setattr(nodes, "_MOST_VARIABLES", -1)
    monkeypatch.setattr(terms, "_VALUE_WORK", 10)
    monkeypatch.setattr(analysis, "_MOST_WORK", 20)
    program = reference.polynomial_program(random.Random(1), 10)
    assert not bound(program, FixedPoint(24, 8), [(-1, 1)] * 4).safe


def test_work_stays_within_its_limits(monkeypatch):
    """What takes seconds is counted in terms; sweeps end soon after their work is spent, and values as they grow."""
    seen = []
    seek = terms.Terms._seek

    def observed(self):
        seek(self)
        seen.append((self.work, self.monomials.work - self.work))

    monkeypatch.setattr(terms.Terms, "_seek", observed)
    monkeypatch.setattr(terms, "_ERROR_WORK", 60_000)
    program, box = product_program(64, "in-place"), [(-1, 1)] * 64
    assert bound(program, FixedPoint(32, 12), box).safe
    (values, errors), *more = seen
    assert not more
    # A third is for the output; each of 700 sweeps may exceed its share by one step, some fifty terms.
    assert 30_000 < errors <= 80_000 + 700 * 50
    monkeypatch.setattr(terms, "_VALUE_WORK", values // 2)
    bound(program, FixedPoint(32, 12), box)
    assert len(seen) == 1


def test_a_clean_product_of_256_is_proven_safe():
    program, ring = product_program(256, "clean"), FixedPoint(32, 16)
    found = bound(program, ring, [(-1, 1)] * 256)
    assert found.safe
    assert found.errors["y"] <= 1
    raw = np.random.default_rng(0).choice([-65536, 65536, 65535, -65535], (64, 256))
    sent = golden.run(program, ring, raw).outputs[:, 0] / 2.0**16
    assert np.abs(sent - np.prod(raw / 2.0**16, axis=1)).max() <= found.errors["y"]
