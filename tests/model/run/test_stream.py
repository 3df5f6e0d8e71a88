"""The golden run of streams against the equations of filters, solved sample by sample with exact fractions."""

import random
from fractions import Fraction

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.program.text import loads
from skinny.model.rings import Boolean, Exact, FixedPoint, Modular, PrimeField
from skinny.model.run.golden import run, trace
from skinny.model.run.stream import begin_streams, run_stream, runs_of

#: s <- 3/4 s + x, sent with the value before; the restart between the outputs clears R0 and spares R2.
SMOOTHER = """\
skinny 1
width 3
contract clean
start 0 1 5/2
state s = R2
inputs x
weight w[0] = 3/4
weight w[1] = 1
R0 += w[1]*R2
emit old = R0 restart
R0 += w[0]*R2
R0 += x*R1
R2 = w[1]*R0
emit y = R2
end
"""
#: Two words a sample, and the products of the newest ones with those of the sample before.
WINDOW = """\
skinny 1
width 3
contract clean
start 0 1 0
window 4 hop 2
inputs b a b[t-1] a[t-1]
R2 += a*R1
R0 += b[t-1]*R2
emit y = R0
end
"""
RINGS = [Modular(8), Modular(64), PrimeField(251), Boolean(), FixedPoint(16, 6), Exact()]


def samples_of(ring, streams, count, words, seed=1):
    chance = random.Random(seed)
    numbers = [chance.randrange(2 if isinstance(ring, Boolean) else 50) for _ in range(streams * count * words)]
    return ring.encode_all([Fraction(n) for n in numbers]).reshape(streams, count, words)


def test_state_is_the_recurrence_in_exact_fractions():
    ring = Exact()
    samples = samples_of(ring, 3, 12, 1)
    found = run_stream(loads(SMOOTHER), ring, samples)
    for stream in range(3):
        s = Fraction(5, 2)
        for sample in range(12):
            old, s = s, Fraction(3, 4) * s + Fraction(int(samples[stream, sample, 0]))
            assert [Fraction(v) for v in found.outputs[stream, sample]] == [old, s]
        assert Fraction(found.state.registers[stream, 0]) == s


def test_a_window_waits_until_it_is_full():
    samples = samples_of(Exact(), 2, 6, 2)
    found = run_stream(loads(WINDOW), Exact(), samples)
    assert found.outputs.shape == (2, 5, 1)
    for stream in range(2):
        expected = [samples[stream, t, 0] * samples[stream, t - 1, 1] for t in range(1, 6)]
        assert found.outputs[stream, :, 0].tolist() == expected


def test_a_window_is_padded_with_zeros_when_that_is_asked_for():
    program, samples = loads(WINDOW), samples_of(Exact(), 2, 6, 2)
    found = run_stream(program, Exact(), samples, begin_streams(program, Exact(), 2, padded=True))
    assert found.outputs[:, 0, 0].tolist() == [0, 0]
    assert found.outputs[:, 1:].tolist() == run_stream(program, Exact(), samples).outputs.tolist()


def test_a_window_that_samples_do_not_fill_evenly_ends_with_the_newest_word():
    text = WINDOW.replace("inputs b a b[t-1] a[t-1]", "inputs c b a c[t-1]").replace("hop 2", "hop 3")
    program = loads(text.replace("b[t-1]*R2", "c[t-1]*R2"))
    samples = samples_of(Modular(16), 1, 5, 3)
    found = run_stream(program, Modular(16), samples).outputs
    assert found[0, :, 0].tolist() == [int(samples[0, t, 0]) * int(samples[0, t - 1, 2]) for t in range(1, 5)]


@pytest.mark.parametrize("ring", RINGS, ids=lambda ring: ring.name)
@pytest.mark.parametrize("text", [SMOOTHER.replace("3/4", "1").replace("5/2", "1"), WINDOW])
def test_any_chunking_gives_the_same(ring, text):
    program = loads(text)
    samples = samples_of(ring, 70, 9, len(program.samples))
    whole = run_stream(program, ring, samples)
    chance = random.Random(7)
    for _ in range(3):
        cuts = sorted(chance.choices(range(10), k=3))
        state, pieces = None, []
        for piece in np.split(samples, cuts, axis=1):
            found = run_stream(program, ring, piece, state)
            pieces.append(found.outputs)
            state = found.state
        assert np.concatenate(pieces, axis=1).tolist() == whole.outputs.tolist()
        assert state.registers.tolist() == whole.state.registers.tolist()
        assert state.words.tolist() == whole.state.words.tolist()


def test_streams_do_not_know_of_each_other():
    program, ring = loads(SMOOTHER), FixedPoint(16, 6)
    samples = samples_of(ring, 5, 8, 1)
    together = run_stream(program, ring, samples).outputs
    for stream in range(5):
        assert run_stream(program, ring, samples[stream : stream + 1]).outputs.tolist() == [together[stream].tolist()]


def test_what_is_no_stream_is_refused_by_name():
    program, ring = loads(SMOOTHER), Modular(16)
    with pytest.raises(InputError, match=r"a single run needs .* but this one has the state s"):
        run(program, ring, ring.encode_all([1]).reshape(1, 1))
    with pytest.raises(InputError, match="but this one has a window of 4 words"):
        run(loads(WINDOW), ring, ring.encode_all([1, 1, 1, 1]).reshape(1, 4))
    plain = loads(WINDOW.replace("window 4 hop 2\n", "").replace("[t-1]", "1"))
    with pytest.raises(InputError, match="but this one keeps nothing"):
        run_stream(plain, ring, samples_of(ring, 1, 1, 4))
    with pytest.raises(InputError, match=r"shape \(streams, samples, 2\), not \(1, 2, 4\)"):
        run_stream(loads(WINDOW), ring, samples_of(ring, 1, 2, 4))
    state = begin_streams(loads(WINDOW), ring, 3)
    with pytest.raises(InputError, match="registers of the state must have the shape"):
        run_stream(loads(WINDOW), ring, samples_of(ring, 2, 2, 2), state)


def test_a_restart_spares_the_state_that_was_written_before_it():
    early = SMOOTHER.replace("emit old = R0 restart", "R2 += x*R1\nemit old = R0 restart")
    samples = samples_of(Exact(), 1, 6, 1)
    found = run_stream(loads(early), Exact(), samples).outputs[0]
    s = Fraction(5, 2)
    for x, (old, y) in zip(samples[0, :, 0], found, strict=True):
        assert Fraction(old) == s
        s = Fraction(3, 4) * (s + Fraction(x)) + Fraction(x)
        assert Fraction(y) == s


@pytest.mark.parametrize("text", [SMOOTHER, WINDOW])
def test_the_traces_of_all_samples_are_the_stream(text):
    """Each begins where the one before ended, and sends what the stream sends; the restart spares the state."""
    program, ring = loads(text), FixedPoint(16, 6)
    samples = samples_of(ring, 1, 7, len(program.samples))
    inputs, starts = runs_of(program, ring, samples[0], begin_streams(program, ring, 1))
    registers = trace(program, ring, inputs, starts)
    sent = np.stack([registers[output.at, :, output.register] for output in program.outputs], axis=1)
    assert sent.tolist() == run_stream(program, ring, samples).outputs[0].tolist()
    kept = [register for _, register in program.state]
    assert registers[-1, :-1, kept].tolist() == registers[0, 1:, kept].tolist()
    assert registers[0, 0].tolist() == [ring.encode(value) for value in program.start]


def test_a_window_that_never_fills_has_no_runs():
    program, ring = loads(WINDOW), Modular(16)
    inputs, starts = runs_of(program, ring, samples_of(ring, 1, 1, 2)[0], begin_streams(program, ring, 1))
    assert (inputs.shape, starts.shape) == ((0, 4), (0, 3))


def test_a_watched_stream_marks_the_samples_in_which_a_value_wraps():
    """s <- 3/4 s + x in 8 bits with 2 behind the point, so that s is below 32 or wraps."""
    ring = FixedPoint(8, 2)
    program = loads(SMOOTHER.replace("5/2", "0"))
    samples = np.full((2, 4, 1), 20 << 2, dtype=np.int64)
    samples[1] = 0
    found = run_stream(program, ring, samples, watched=True)
    s, wraps = Fraction(0), []
    for _ in range(4):
        s = Fraction(3, 4) * s + 20
        wraps.append(s >= 32)
        s = (s + 32) % 64 - 32
    assert wraps == [False, True, False, False]
    assert found.wrapped.tolist() == [wraps, [False] * 4]
    assert run_stream(program, ring, samples).wrapped is None
