"""Parallel equals sequential over every ring; in fixed point it is what the lanes combine to, within the stated
distance."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skinny.model.parallel.combine import distance, run_lanes
from skinny.model.parallel.image import ImageOptions, build_image
from skinny.model.program.forms import Input, Linear, Weight
from skinny.model.program.program import Mode
from skinny.model.rings import Boolean, Exact, FixedPoint, Modular, PrimeField
from skinny.model.run.golden import run, trace

TRUE = [Modular(16), Modular(32), Modular(3), PrimeField(8191), PrimeField(251), PrimeField(2), Boolean()]


def elements_of(rng, ring, shape):
    low, high = {Boolean: (0, 2), PrimeField: (0, getattr(ring, "p", 0))}.get(
        type(ring), (-(1 << ring.bits - 1), 1 << ring.bits - 1)
    )
    return rng.integers(low, high, shape).astype(ring.element_dtype)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(TRUE), st.integers(3, 6), st.integers(0, 40), st.integers(2, 8), st.integers(0, 2**32))
def test_parallel_is_sequential(random_program, ring, width, length, lanes, seed):
    rng = np.random.default_rng(seed)
    largest = 1 if ring.bits < 3 else 3
    modes = [Mode.ADD, Mode.ASSIGN] if seed % 3 == 0 else []
    program = random_program(rng, width, length, largest=largest, restarts=bool(seed % 2), modes=modes)
    image = build_image(program, ring, ImageOptions(lanes=lanes, threads=width))
    elements = elements_of(rng, ring, (70, len(program.inputs)))
    assert np.array_equal(run_lanes(image, elements), run(program, ring, elements).outputs)


def rounded(ring, a, b):
    """A product of plain integers, rounded half up and wrapped."""
    raw = (a * b * 2 + (1 << ring.frac)) >> (ring.frac + 1)
    return (raw + (1 << ring.bits - 1)) % (1 << ring.bits) - (1 << ring.bits - 1)


def wrapped(ring, a):
    return (a + (1 << ring.bits - 1)) % (1 << ring.bits) - (1 << ring.bits - 1)


def plain_combination(image, x):
    """The engine's outputs for one inference, in plain integers: lane 0 from the start vector, then the matrix of each
    lane, row by row, and vector times matrix."""
    ring, program = image.config.ring, image.program
    weights = program.quantise(ring).tolist()
    width = program.width

    def scalar(form):
        match form:
            case Input(u):
                return int(x[u])
            case Weight(k):
                return weights[k]
            case Linear(terms, bias):
                total = sum(rounded(ring, weights[k], int(x[u])) for k, u in terms)
                return wrapped(ring, total + (0 if bias is None else weights[bias]))

    def advance(registers, code):
        for dst, src, sign, form in zip(*(column.tolist() for column in code.arrays()[:4]), strict=True):
            product = rounded(ring, scalar(program.forms[form]), registers[src])
            registers[dst] = wrapped(ring, registers[dst] + sign * product)
        return registers

    unit, sign = (-(1 << ring.frac), -1) if ring.frac == ring.bits - 1 else (1 << ring.frac, 1)
    state = advance([ring.encode(value) for value in program.start], image.lanes[0].program.code)
    for lane in image.lanes[1:]:
        units = [[unit * (t == r) for r in range(width)] for t in range(width)]
        matrix = [advance(unit, lane.program.code) for unit in units]
        state = [
            wrapped(ring, sum(sign * rounded(ring, state[t], matrix[t][j]) for t in range(width))) for j in range(width)
        ]
    return [state[output.register] for output in program.outputs]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([(16, 8), (32, 20), (6, 3), (12, 0)]), st.integers(3, 5), st.integers(2, 5), st.integers(0, 2**32)
)
def test_fixed_point_is_the_combination(random_program, form, width, lanes, seed):
    ring, rng = FixedPoint(*form), np.random.default_rng(seed)
    program = random_program(rng, width, 25, largest=2, denominators=(1, 2, 3))
    image = build_image(program, ring, ImageOptions(lanes=lanes, threads=width))
    elements = elements_of(rng, ring, (3, len(program.inputs)))
    assert run_lanes(image, elements).tolist() == [plain_combination(image, x) for x in elements]


def exceeds(program, ring, elements):
    """Whether a register comes near the limits of the word in the exact run of any inference."""
    limit = Fraction(1 << (ring.bits - 1), 1 << ring.frac) / 2
    exact = np.array([[Fraction(int(x), 1 << ring.frac) for x in row] for row in elements], dtype=object)
    return any(abs(value) > limit for value in trace(program, Exact(), exact).ravel())


def small_case(random_program, seed):
    """A program and inputs that stay within the word, sequentially and from every unit vector."""
    rng = np.random.default_rng(seed)
    ring = FixedPoint(32, int(rng.integers(4, 14)))
    width = int(rng.integers(3, 6))
    while True:
        program = random_program(rng, width, int(rng.integers(5, 60)), 2, (2, 3, 4), restarts=True)
        image = build_image(program, ring, ImageOptions(lanes=int(rng.integers(2, 6)), threads=width))
        elements = rng.integers(-(1 << ring.frac), (1 << ring.frac) + 1, (20, len(program.inputs)))
        if not any(exceeds(part, ring, elements) for lane in image.lanes for part in [lane.program, program]):
            return image, elements


@pytest.mark.parametrize("seed", range(20))
def test_distance_holds(random_program, seed):
    image, elements = small_case(random_program, seed)
    ring = image.config.ring
    found = np.abs(run_lanes(image, elements) - run(image.program, ring, elements).outputs) / (1 << ring.frac)
    assert (found <= distance(image, elements)).all()


def test_distance_is_not_idle(random_program):
    # It would be no bound if it were ten times smaller, and is small against the outputs.
    most = 0.0
    for seed in range(8):
        image, elements = small_case(random_program, seed)
        found = np.abs(run_lanes(image, elements) - run(image.program, image.config.ring, elements).outputs)
        allowed = distance(image, elements) * (1 << image.config.ring.frac)
        most = max(most, float((found[allowed > 0] / allowed[allowed > 0]).max(initial=0)))
    assert most > 0.1


def test_distance_over_a_true_ring_is_zero(random_program):
    program = random_program(np.random.default_rng(1))
    image = build_image(program, Modular(16), ImageOptions(lanes=2))
    assert not distance(image, np.zeros((4, len(program.inputs)), dtype=np.int64)).any()


def test_formats_without_one(random_program):
    # Unit vectors hold minus one there, and the combiner subtracts.
    rng = np.random.default_rng(3)
    ring = FixedPoint(16, 15)
    for lanes in (2, 4):
        program = random_program(rng, 3, 20)
        weights = tuple(Fraction(int(n), 64) for n in rng.integers(-9, 10, len(program.weights)))
        program = replace(program, start=(0, -1, 0), weights=weights)
        image = build_image(program, ring, ImageOptions(lanes=lanes, threads=3))
        elements = rng.integers(-4000, 4000, (9, len(program.inputs)))
        assert run_lanes(image, elements).tolist() == [plain_combination(image, x) for x in elements]


def test_golden_run_of_a_core(random_program):
    program = random_program(np.random.default_rng(2))
    image = build_image(program, Modular(16), ImageOptions())
    elements = np.ones((3, len(program.inputs)), dtype=np.int64)
    assert np.array_equal(image.golden(elements), run(program, Modular(16), elements).outputs)


def test_an_order_that_is_not_the_programs_is_noticed(random_program):
    # The checks above can fail: the same lanes combined in another order give another result.
    program = random_program(np.random.default_rng(7), 3, 40)
    image = build_image(program, Modular(16), ImageOptions(lanes=4, threads=3))
    elements = elements_of(np.random.default_rng(1), Modular(16), (20, len(program.inputs)))
    first, a, b, last = image.lanes
    swapped = replace(image, lanes=(first, b, a, last))
    assert not np.array_equal(run_lanes(swapped, elements), run_lanes(image, elements))
