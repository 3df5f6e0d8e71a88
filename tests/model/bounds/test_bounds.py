"""Bounds against runs in plain Python integers and fractions, at random, corner and hill-climbed inputs."""

import random
import time
from fractions import Fraction

import numpy as np
import pytest
from skinny.model.bounds.bounds import bound
from skinny.model.errors import InputError
from skinny.model.program.forms import Input, Linear, Weight
from skinny.model.program.program import Output
from skinny.model.rings import FixedPoint
from skinny.model.run import golden

THIRDS = (Fraction(1, 3), Fraction(-7, 10), Fraction(5, 4))


def errors_at(program, ring, raw):
    """Errors of a batch, the exact value in doubles: good enough to search with."""
    x = raw / 2**ring.frac
    w = [float(v) for v in program.weights]
    scalars = []
    for form in program.forms:
        match form:
            case Input(u):
                scalars.append(x[:, u])
            case Weight(k):
                scalars.append(np.full(len(x), w[k]))
            case Linear(terms, bias):
                scalars.append(sum(w[k] * x[:, u] for k, u in terms) + (0 if bias is None else w[bias]))
    registers = [np.full(len(x), float(v)) for v in program.start]
    for dst, src, sign, form in zip(*(c.tolist() for c in program.code.arrays()[:4]), strict=True):
        registers[dst] = registers[dst] + sign * scalars[form] * registers[src]
    actual = golden.run(program, ring, raw)[0][:, 0] / 2**ring.frac
    return np.abs(actual - registers[program.outputs[0].register])


def worst_input(reference, program, ring, box, seed, rounds=150, crowd=256):
    """Hill climbing on the grid from corners and random inputs; the better half displaces the other now and then."""
    rng = np.random.default_rng(seed)
    low, high = np.array(reference.raw_box(ring, box)).T
    x = rng.integers(low, high + 1, size=(crowd, len(low)))
    near = rng.integers(0, 6, size=(crowd // 2, len(low)))
    x[: crowd // 2] = np.clip(np.where(rng.random(near.shape) < 0.5, high - near, low + near), low, high)
    error = errors_at(program, ring, x)
    everyone = np.arange(crowd)
    for number in range(rounds):
        at = rng.integers(0, len(low), crowd)
        far = int((high - low).max()) // 8 + 1
        step = np.where(rng.random(crowd) < 0.5, rng.integers(-4, 5, crowd), rng.integers(-far, far + 1, crowd))
        moved = x.copy()
        moved[everyone, at] = np.clip(moved[everyone, at] + step, low[at], high[at])
        new = errors_at(program, ring, moved)
        better = new > error
        x[better], error[better] = moved[better], new[better]
        if number % 50 == 49:
            order = np.argsort(-error)
            x[order[crowd // 2 :]], error[order[crowd // 2 :]] = x[order[: crowd // 2]], error[order[: crowd // 2]]
    return x[int(np.argmax(error))].tolist()


def error_at(reference, program, ring, raw):
    value = reference.ref_run(program, ring.frac, raw)[1]["y"]
    return abs(
        Fraction(value, 1 << ring.frac)
        - reference.ref_exact(program, [Fraction(v, 1 << ring.frac) for v in raw])[1]["y"]
    )


def test_one_rounding_costs_half_a_step(reference):
    product = reference.program_of([(2, 1, 1, 0), (0, 2, 1, 1)], "xz", [], [Input(0), Input(1)])
    found = bound(product, FixedPoint(16, 8), [(-1, 1), (-1, 1)])
    assert found.errors == {"y": pytest.approx(2**-9, rel=1e-9)}
    assert found.errors["y"] >= 2**-9
    assert found.low.tolist() == [-1, -1]
    assert found.high.tolist() == [1, 1]
    assert found.ranges.tolist() == [[-1, 1], [1, 1], [-1, 1]]
    assert found.safe


def test_rounding_of_a_weight_counts(reference):
    scaled = reference.program_of([(0, 1, 1, 0)], "", [Fraction(1, 3)], [Weight(0)])
    found = bound(scaled, FixedPoint(8, 4), [])
    assert found.errors["y"] == pytest.approx(float(Fraction(1, 3) - Fraction(5, 16)), rel=1e-9)


def test_the_floats_of_the_analysis_are_accounted_for(reference):
    # Every weight rounds to zero, so nothing but the exact value is left as error, and it is no float. What floats can
    # lose is bounded by sums over the graph in which every scalar counts as one at least, while these weights are below
    # 1/2: forty of them in a row make that seven million times 2^-50 of the value, 6.3e-9.
    rng = random.Random(0)
    weights = [Fraction(rng.randint(1, 99), 200 + rng.randint(1, 99)) for _ in range(40)]
    code = [(dst, src, 1, k) for k, (dst, src) in enumerate([(2, 1), (0, 2), (2, 0), (0, 1)] * 10)]
    chain = reference.program_of(code, "", weights, [Weight(k) for k in range(40)])
    exact = reference.ref_exact(chain, [])[1]["y"]
    assert exact <= Fraction(bound(chain, FixedPoint(8, 0), []).errors["y"]) <= exact * Fraction(10**8 + 1, 10**8)


def test_roundings_of_a_form_multiply(reference):
    # Eight products of 1/4 are rounded to 1/2 each: the form is 4 where it should be 2, its square 16 instead of 4.
    form = Linear(tuple((0, u) for u in range(8)))
    square = reference.program_of([(2, 1, 1, 0), (0, 2, 1, 0)], "abcdefgh", [Fraction(1, 2)], [form])
    found = bound(square, FixedPoint(8, 1), [(0, Fraction(1, 2))] * 8)
    assert error_at(reference, square, FixedPoint(8, 1), [1] * 8) == 12
    assert 12 <= found.errors["y"] <= 13


def test_integers_are_exact(reference):
    whole = reference.program_of([(2, 1, 1, 0), (0, 2, 3 - 4, 1)], "x", [Fraction(-3)], [Input(0), Weight(0)])
    found = bound(whole, FixedPoint(16, 8), [(Fraction(1, 4), 2)])
    assert found.errors == {"y": 0}
    assert (found.low[-1], found.high[-1]) == (0.75, 6)


def test_uncomputed_values_cancel(reference):
    f_word = [(0, 2, 1, 1)]
    g_word = [(2, 1, 1, 0)]
    once = reference.reversed_block(f_word) + g_word + f_word + reference.reversed_block(g_word)
    # Stepwise intervals would double with every round; x·z is added and taken away 30 times, and once more added.
    code = (once + reference.reversed_block(once)) * 30 + once
    found = bound(reference.program_of(code, "xz", [], [Input(0), Input(1)]), FixedPoint(16, 8), [(-1, 1), (-1, 1)])
    assert np.abs(found.ranges).max() <= 1 + 2**-7
    assert found.errors["y"] == pytest.approx(2**-9, rel=1e-6)


def test_equal_products_round_equally(reference):
    # x·z is built twice in the same way: the difference is zero bit for bit.
    code = [(2, 1, 1, 0), (0, 2, 1, 1), (0, 2, -1, 1)]
    assert (
        bound(reference.program_of(code, "xz", [], [Input(0), Input(1)]), FixedPoint(16, 8), [(-1, 1)] * 2).errors["y"]
        == 0
    )


def test_names_what_is_read(reference):
    powers = reference.program_of([(2, 1, 1, 0), (0, 2, 1, 0), (2, 0, 1, 0)], "x", [], [Input(0)])
    found = bound(powers, FixedPoint(8, 4), [(-3, 3)])
    # x² is read by the third instruction, before it is sent.
    assert found.overflow == (2, 0, None, 0, 9)
    assert not found.safe
    assert bound(powers, FixedPoint(9, 4), [(-3, 3)]).safe
    # x³ + x in R2 is never read: nothing but the square must fit.
    assert bound(powers, FixedPoint(8, 4), [(Fraction(-11, 4), 1)]).safe


def test_names_the_output(reference):
    twice = reference.program_of([(0, 1, 1, 0), (0, 1, 1, 0)], "x", [], [Input(0)])
    assert bound(twice, FixedPoint(8, 4), [(-4, Fraction(63, 16))]).safe
    assert bound(twice, FixedPoint(8, 4), [(0, 4)]).overflow == (None, 0, "y", 0, 8)


def test_an_output_comes_before_the_instruction_after_it(reference):
    code = [(0, 1, 1, 0), (0, 1, 1, 0), (2, 0, 1, 0)]
    program = reference.program_of(code, "x", [], [Input(0)], outputs=(Output("a", 0, 2), Output("b", 2, 3)))
    assert bound(program, FixedPoint(8, 4), [(0, 4)]).overflow == (None, 0, "a", 0, 8)
    later = reference.program_of(code, "x", [], [Input(0)], outputs=(Output("b", 2, 3),))
    assert bound(later, FixedPoint(8, 4), [(0, 4)]).overflow == (2, 0, None, 0, 8)


def test_a_restart_brings_the_start_vector_back(reference):
    """What a register held before the restart is not what is read after it."""
    code = [(0, 1, 1, 0)] * 3 + [(2, 0, 1, 0)]
    outputs = (Output("a", 1, 3, restart=True), Output("b", 2, 4))
    program = reference.program_of(code, "x", [], [Input(0)], outputs=outputs)
    assert bound(program, FixedPoint(8, 4), [(0, 7)]).safe


def test_sums_may_wrap(reference):
    # R0 goes up to 4·7 = 28, beyond the 8 of the word, and comes back before it is sent.
    code = [(0, 1, 1, 0)] * 4 + [(0, 1, -1, 0)] * 3
    program = reference.program_of(code, "x", [], [Input(0)])
    ring = FixedPoint(8, 4)
    found = bound(program, ring, [(-7, 7)])
    assert found.safe
    assert found.high[3] == 28
    assert golden.run(program, ring, np.array([[112], [-112], [3]])).outputs.tolist() == [[112], [-112], [3]]


def test_the_accumulator_must_fit(reference):
    form = Linear(((0, 0), (0, 1)), 0)
    attending = reference.program_of([(0, 1, 1, 0)], "ab", [Fraction(3)], [form])
    assert bound(attending, FixedPoint(8, 4), [(0, 1)] * 2).overflow == (0, None, None, 3, 9)
    assert bound(attending, FixedPoint(9, 4), [(0, 1)] * 2).safe


def test_a_hopeless_program_ends(reference):
    doubling = [(2, 1, 1, 0), (1, 2, 1, 0)] * 2000
    found = bound(reference.program_of(doubling, "", [Fraction(2)], [Weight(0)]), FixedPoint(32, 8), [])
    assert found.overflow is not None
    assert found.high[-1] == np.inf


def test_an_empty_program(reference):
    found = bound(reference.program_of([], "x", [], []), FixedPoint(8, 4), [(0, 1)])
    assert found.safe
    assert found.errors == {"y": 0}


@pytest.mark.parametrize("seed", range(40))
def test_never_exceeded_by_any_program(reference, seed):
    rng = random.Random(seed)
    program, frac = reference.random_program(rng, rng.randint(1, 14)), rng.randint(0, 8)
    ends = [sorted(Fraction(rng.randint(-12, 12), 8) for _ in range(2)) for _ in program.inputs]
    found = bound(program, FixedPoint(32, frac), ends)
    for raw in reference.some_inputs(rng, reference.raw_box(FixedPoint(32, frac), ends), 60):
        reference.assert_within(program, found, frac, raw)


@pytest.mark.parametrize("seed", range(16))
def test_safe_programs_are_those_of_a_wide_machine(reference, seed):
    """In every format that is called safe, at corners and random inputs, what the machine sends is what a machine with
    unlimited words sends, and its registers are equal modulo 2^bits after each instruction, wrapped or not."""
    rng = random.Random(seed)
    program = reference.random_program(rng, 10)
    ends = [(-1, 1)] * len(program.inputs)
    for bits in range(6, 20):
        ring = FixedPoint(bits, 3)
        try:
            found = bound(program, ring, ends)
        except InputError:
            continue
        if not found.safe:
            continue
        raw = list(reference.some_inputs(rng, reference.raw_box(ring, ends), 30))
        sent = [list(reference.ref_run(program, 3, row)[1].values()) for row in raw]
        assert golden.run(program, ring, np.array(raw)).outputs.tolist() == sent
        for row in raw:
            wide, narrow = reference.ref_run(program, 3, row)[0], reference.ref_run(program, 3, row, bits)[0]
            assert [(a - b) % (1 << bits) for a, b in zip(wide, narrow, strict=True)] == [0] * len(wide)


def test_wraps_do_happen_in_safe_programs(reference):
    """The test above is not about programs that never wrap."""
    wrapped = 0
    for seed in range(16):
        rng = random.Random(seed)
        program = reference.random_program(rng, 10)
        ring, ends = FixedPoint(12, 3), [(-30, 30)] * len(program.inputs)
        if bound(program, ring, ends).safe:
            rows = list(reference.some_inputs(rng, reference.raw_box(ring, ends), 30))
            wrapped += any(not -2048 <= v < 2048 for row in rows for v in reference.ref_run(program, 3, row)[0])
            sent = [list(reference.ref_run(program, 3, row)[1].values()) for row in rows]
            assert golden.run(program, ring, np.array(rows)).outputs.tolist() == sent
    assert wrapped


def test_exhaustively_on_a_small_grid(reference):
    """Every input of a grid: nothing exceeds the bounds, in any register."""
    rng = random.Random(3)
    for _ in range(2):
        program = reference.polynomial_program(rng, 2, inputs=2, contract="in-place")
        found = bound(program, FixedPoint(16, 4), [(-1, 1)] * 2)
        for a in range(-16, 17):
            for b in range(-16, 17):
                reference.assert_within(program, found, 4, [a, b])


@pytest.mark.parametrize(
    ("monomials", "weights", "box"),
    [
        (3, (), (-1, 1)),
        (10, (), (0, 1)),
        (10, THIRDS, (-1, 1)),
        (20, THIRDS, (Fraction(-1, 2), 2)),
        (35, THIRDS, (-1, 1)),
        (35, (), (-2, 2)),
    ],
)
def test_within_eight_times_the_worst_error_found(reference, monomials, weights, box):
    ring = FixedPoint(28, 10)
    program = reference.polynomial_program(random.Random(monomials), monomials, weights=weights)
    found = bound(program, ring, [box] * 4)
    assert found.safe
    worst = worst_input(reference, program, ring, [box] * 4, seed=monomials)
    reference.assert_within(program, found, ring.frac, worst)
    assert found.errors["y"] <= 8 * error_at(reference, program, ring, worst)


@pytest.mark.parametrize("layers", [2, 4])
def test_within_eight_times_with_attention(reference, layers):
    ring = FixedPoint(28, 10)
    program = reference.attention_program(random.Random(layers), layers)
    found = bound(program, ring, [(-1, 1)] * 4)
    worst = worst_input(reference, program, ring, [(-1, 1)] * 4, seed=layers)
    reference.assert_within(program, found, ring.frac, worst)
    assert found.errors["y"] <= 8 * error_at(reference, program, ring, worst)


@pytest.mark.parametrize(("monomials", "weights", "contract"), [(4000, (), "clean"), (500, THIRDS, "in-place")])
def test_long_sums_do_not_explode(reference, monomials, weights, contract):
    program = reference.polynomial_program(random.Random(1), monomials, inputs=32, weights=weights, contract=contract)
    began = time.process_time()
    found = bound(program, FixedPoint(32, 12), [(-1, 1)] * 32)
    assert time.process_time() - began < 20
    assert found.safe
    # Each monomial is at most 5/4; while one is computed, a copy of the sum is held as well.
    assert np.abs(found.ranges).max() <= 4 * monomials
    assert found.errors["y"] <= monomials**2 * 2**-10
    for raw in reference.some_inputs(random.Random(2), [(-4096, 4096)] * 32, 2):
        reference.assert_within(program, found, 12, raw)
