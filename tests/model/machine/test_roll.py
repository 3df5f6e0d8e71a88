"""Rolled words issue what flat ones do, and the cycle model runs them alike."""

from fractions import Fraction

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.machine.assemble import assemble, fit_image
from skinny.model.machine.isa import CoreConfig, Op
from skinny.model.machine.repeat import loop_words, next_state, repeat_word, round_states, step_word, unroll
from skinny.model.machine.roll import roll
from skinny.model.machine.rolling import Layout, roll_words
from skinny.model.program.forms import Linear
from skinny.model.program.program import Columns, Mode, Output, Program
from skinny.model.rings import FixedPoint

DEEP = CoreConfig(FixedPoint(16, 8), 64, 8, 4096, 64, 4096, relu=True, registers="memory", repeat=2)
FLIPFLOPS = CoreConfig(FixedPoint(16, 8), depth=4096, weights=4096, repeat=2)


def dense(config, inputs, outputs, first, base, rng, relu):
    for j in range(outputs):
        yield config.encode(Op.APPLY_W, dst=1, src=1, k=int(rng.integers(99)), flag=1)
        for i in range(inputs):
            k = int(rng.integers(99))
            if first is None:
                yield config.encode(Op.ATTEND, dst=1, u=i, k=k)
            else:
                yield config.encode(Op.APPLY_W, dst=1, src=first + i, k=k)
        yield config.encode(Op.APPLY_S, dst=base + j, src=1, flag=1, relu=relu)


def test_all_rounds_have_a_state_of_their_own():
    states = round_states()
    assert len(set(states[2:])) == len(states) - 2 == 2047
    assert all(next_state(states[rounds]) == states[rounds - 1] for rounds in range(3, 2049))


@pytest.mark.parametrize("rounds", [2, 3, 64, 2048])
def test_a_body_is_issued_once_for_each_round(rounds):
    body = FLIPFLOPS.encode(Op.APPLY_X, dst=0, src=1, u=5)
    words = [step_word(FLIPFLOPS, 0, {"u": 3}), repeat_word(FLIPFLOPS, 0, 2, rounds), body]
    trace = unroll(np.array(words, dtype=np.uint64), FLIPFLOPS)
    assert trace.addresses.tolist() == [0, 1] + [2] * rounds
    assert FLIPFLOPS.decode(trace.words[2:])["u"].tolist() == [(5 + 3 * n) % 64 for n in range(rounds)]


def test_a_network_becomes_loops_in_loops():
    rng = np.random.default_rng(1)
    words = [*dense(DEEP, 64, 16, None, 2, rng, 1), *dense(DEEP, 16, 10, 2, 18, rng, 0)]
    words += [DEEP.encode(Op.EMIT, dst=18 + j, neg=j == 9) for j in range(10)]
    flat = Layout(np.array(words, dtype=np.uint64), np.arange(len(words)), tuple(range(99)))
    rolled = roll_words(flat, DEEP)
    assert (len(words), len(rolled.words)) == (1246, 17)
    issued = unroll(rolled.words, DEEP).words
    issued = issued[~loop_words(DEEP, issued)]
    fields, wanted = DEEP.decode(issued), DEEP.decode(flat.words)
    for name in ("op", "neg", "flag", "relu"):
        assert (fields[name] == wanted[name]).all()
    takes = np.isin(wanted["op"], (Op.APPLY_W, Op.ATTEND))
    assert (np.array(rolled.sources)[fields["k"][takes]] == wanted["k"][takes]).all()
    assert (fields["src"][wanted["op"] == Op.APPLY_W] == wanted["src"][wanted["op"] == Op.APPLY_W]).all()


@pytest.mark.parametrize("seed", range(8))
def test_words_of_random_repeats_are_issued_as_they_were(seed):
    rng = np.random.default_rng(seed)
    words = []
    for _ in range(6):
        body = [
            (int(rng.integers(1, 3)), *(int(n) for n in rng.integers(0, (3, 3, 64, 999))))
            for _ in range(rng.integers(1, 9))
        ]
        steps = rng.integers(0, (2, 2, 64, 999)).tolist()
        for n in range(rng.integers(1, 40)):
            for op, *fields in body:
                values = {
                    name: (value + n * step) % (1 << FLIPFLOPS.fields[name])
                    for name, value, step in zip(("dst", "src", "u", "k"), fields, steps, strict=True)
                }
                words.append(FLIPFLOPS.encode(op, flag=1, **values))
    flat = np.array(words, dtype=np.uint64)
    rolled = roll(flat, FLIPFLOPS, FLIPFLOPS.weights)  # proves itself
    assert len(rolled.words) < len(flat)


@pytest.mark.parametrize("register", range(2, 40))
def test_an_offset_makes_no_register_look_like_the_accumulator(register):
    """After the loop over registers 2 to 17 the offset is 15, with which 16 would be stored as 1."""
    words = [DEEP.encode(Op.APPLY_W, dst=2 + n, src=1, k=n, flag=1) for n in range(16)]
    words += [DEEP.encode(Op.APPLY_X, dst=register, src=40, u=n) for n in range(40)]
    rolled = roll(np.array(words, dtype=np.uint64), DEEP, DEEP.weights)
    assert len(rolled.words) <= 8
    issued = unroll(rolled.words, DEEP).words
    issued = DEEP.decode(issued[~loop_words(DEEP, issued)])
    assert issued["dst"].tolist() == [*range(2, 18), *[register] * 40]
    assert issued["u"][16:].tolist() == list(range(40))


def test_a_table_that_is_read_again_and_again_keeps_its_weights():
    """A loop over few weights that all rounds share, and one over weights that are shared by chance, which get words of
    their own."""
    rng = np.random.default_rng(0)
    shared = [FLIPFLOPS.encode(Op.ATTEND, u=(n // 8 + n % 8) % 64, k=n % 8) for n in range(400)]
    chance = [FLIPFLOPS.encode(Op.ATTEND, u=n, k=int(rng.integers(8, 20))) for n in range(60)]
    words = np.array([*shared, FLIPFLOPS.encode(Op.APPLY_S, dst=0, src=1), *chance], dtype=np.uint64)
    rolled = roll(words, FLIPFLOPS, 20)
    assert len(rolled.words) <= 10
    assert len(rolled.sources) <= 20 + 60
    issued = unroll(rolled.words, FLIPFLOPS).words
    issued = FLIPFLOPS.decode(issued[~loop_words(FLIPFLOPS, issued)])
    wanted = FLIPFLOPS.decode(words)
    attends = wanted["op"] == Op.ATTEND
    assert (rolled.sources[issued["k"][attends]] == wanted["k"][attends]).all()


@pytest.fixture
def program():
    """A linear classifier of ten classes with bias and argmax; its weights have few values, so that they are shared."""
    rng = np.random.default_rng(3)
    weights = tuple(Fraction(n, 16) for n in range(-20, 21))
    draws = iter(rng.integers(len(weights), size=650).tolist())
    forms = tuple(Linear(tuple((next(draws), u) for u in range(64)), next(draws)) for _ in range(10))
    code = Columns.of([0] * 10, [1] * 10, [1] * 10, range(10), [Mode.ASSIGN] * 10)
    outputs = tuple(Output(f"y{n}", 0, n + 1, False) for n in range(10))
    return Program(3, tuple(f"x{u}" for u in range(64)), weights, forms, code, outputs, argmax="best")


def test_a_classifier_takes_ten_words(program):
    image = fit_image(program, FixedPoint(16, 8), roll=True, registers="flipflops")
    assert len(image) <= 10


def test_a_core_that_does_not_repeat_cannot_hold_a_rolled_program(program):
    with pytest.raises(InputError, match="the core does not repeat"):
        assemble(program, CoreConfig.fit(program, FixedPoint(16, 8)), roll=True)


def test_a_rolled_image_gives_what_the_flat_one_does(program):
    ring = FixedPoint(16, 8)
    flat = fit_image(program, ring)
    rolled = fit_image(program, ring, roll=True)
    assert flat.steps == len(flat) > len(rolled)
    assert rolled.steps == flat.steps + int(loop_words(rolled.config, rolled.issued).sum())
    vectors = np.random.default_rng(1).integers(0, 1 << 16, (5, flat.vector), dtype=np.uint64)
    expected, found = flat.predict(vectors, [4, 1]), rolled.predict(vectors, [4, 1])
    assert (expected.data == found.data).all()
    assert (expected.last == found.last).all()
    assert not found.fault.any()
    assert "repeat 0" in rolled.listing()


def test_a_program_that_does_not_fit_flat_is_rolled(program):
    ring = FixedPoint(16, 8)
    assert not fit_image(program, ring).rolled
    small = fit_image(program, ring, depth=16)
    assert small.rolled
    with pytest.raises(InputError, match="do not fit a memory of 16"):
        fit_image(program, ring, depth=16, roll=False)
