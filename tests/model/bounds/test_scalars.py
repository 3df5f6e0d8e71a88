"""Scalars of the analysis against forms that are evaluated in fractions."""

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from skinny.model.bounds.analysis import Analysis
from skinny.model.bounds.bounds import bound
from skinny.model.bounds.enclosures import Algebra
from skinny.model.bounds.scalars import Scalars
from skinny.model.compiler.pipeline import compile_formula
from skinny.model.errors import InputError
from skinny.model.formula.parse import parse_formula
from skinny.model.program.forms import Input, Linear, Weight
from skinny.model.rings import Exact, FixedPoint
from skinny.model.run.golden import run, trace

RING = FixedPoint(16, 6)
WEIGHTS = (Fraction(1, 3), Fraction(-7, 10), Fraction(5, 4))
FORMS = (Input(0), Weight(0), Weight(2), Linear(((0, 0), (1, 1)), 2), Linear(((2, 0),)))
BOX = [(-64, 96), (16, 16)]


def scalars_of(reference, limit=100):
    program = reference.program_of([], "ab", WEIGHTS, FORMS)
    return Scalars(program, BOX, program.quantise(RING).tolist(), RING.frac, Algebra(), limit)


def ref_raw(form, raw, weights):
    """The word of a form in plain integers."""
    match form:
        case Input(u):
            return raw[u]
        case Weight(k):
            return weights[k]
        case Linear(terms, bias):
            total = sum((weights[k] * raw[u] + 32) >> 6 for k, u in terms)
            return total + (0 if bias is None else weights[bias])


@pytest.mark.parametrize("limit", [100, 1])
def test_no_word_leaves_the_range_of_its_scalar(reference, limit):
    scalars = scalars_of(reference, limit)
    weights = [RING.encode(weight) for weight in WEIGHTS]
    rng = random.Random(0)
    points = [[low, high] for low in BOX[0] for high in BOX[1]]
    points += [[rng.randint(*ends) for ends in BOX] for _ in range(200)]
    for number, form in enumerate(FORMS):
        scalar = scalars.scalar(number)
        words = [ref_raw(form, raw, weights) for raw in points]
        assert scalar.low * 64 <= min(words)
        assert max(words) <= scalar.high * 64
        # Two roundings of a form cost a step at most, and the bound is no wider than that at the corners.
        assert (scalar.high - scalar.low) * 64 <= max(words) - min(words) + 2
        assert all(word % (1 << min(scalar.zeros, 20)) == 0 for word in words)


def test_scalars_are_made_once_and_kept_by_the_number_of_their_form(reference):
    scalars = scalars_of(reference)
    assert scalars.known == {}
    assert scalars.scalar(3) is scalars.scalar(3)
    assert list(scalars.known) == [3]


def test_a_factor_has_the_used_weights_over_one_denominator(reference):
    scalars = scalars_of(reference)
    # 1/3 is used as 21/64; reading through it rounds by half a step at most and errs by |21/64 - 1/3|.
    factor = scalars.factor(1)
    assert (factor.terms, factor.shift) == ([(0, 21)], 6)
    assert factor.rounding == 1 / 128
    assert factor.change == pytest.approx(float(Fraction(1, 3) - Fraction(21, 64)))
    # 5/4 has enough trailing zeros only after the word that is read; it is a float, so nothing changes.
    assert scalars.factor(2).change == 0


NAMED = [
    "u = kp*e + ki*i - 2*kp",
    "y = (kp*e + ki)^2 + kp*ki*e*i + 1/2",
    "y = ki*(e*i - kp)^3",
    "y = kp*e^3 - ki*e",
]


@pytest.mark.parametrize("text", NAMED)
def test_bounds_hold_for_all_values_of_named_weights(text):
    """Random words in the ranges of the weights and in the box, and their corners, against the same over the
    rationals."""
    ring, rng = FixedPoint(32, 10), np.random.default_rng(1)
    outputs = parse_formula(f"weight kp = 0.1 in -1/2:1; weight ki = 3/4 in 1/4:3/4; {text}")
    program = compile_formula(outputs).program
    box = [(Fraction(-1), Fraction(1, 2))] * len(program.inputs)
    found = bound(program, ring, box)
    ends = [(round(low * 1024), round(high * 1024)) for low, high in program.weight_ranges()]
    worst = 0.0
    for number in range(60):
        words = [int(rng.choice(pair)) if number < 20 else int(rng.integers(pair[0], pair[1] + 1)) for pair in ends]
        tuned = replace(program, named=(), weights=tuple(Fraction(word, 1024) for word in words))
        inputs = rng.integers(-1024, 513, (50, len(box)))
        inputs[:20] = rng.choice([-1024, 512], (20, len(box)))
        sent = ring.decode_all(run(tuned, ring, inputs).outputs[:, 0])
        rational = Exact().encode_all([[Fraction(int(word), 1024) for word in row] for row in inputs])
        exact = run(tuned, Exact(), rational).outputs[:, 0]
        worst = max(worst, *(abs(float(a - b)) for a, b in zip(sent, exact, strict=True)))
        registers = trace(tuned, ring, inputs) / 1024
        assert (registers >= found.ranges[:, 0]).all()
        assert (registers <= found.ranges[:, 1]).all()
    (error,) = found.errors.values()
    assert worst <= error <= 6 * worst


def test_the_range_of_a_weight_must_fit():
    program = compile_formula(parse_formula("weight kp = 1 in 0:200; y = kp*x")).program
    with pytest.raises(InputError, match=r"the range of weight kp: 200 does not fit fixed:16\.8"):
        bound(program, FixedPoint(16, 8), [(Fraction(0), Fraction(1))])
    assert Analysis(program, FixedPoint(32, 8), [(Fraction(0), Fraction(1, 2))]).bits_needed() == 17
