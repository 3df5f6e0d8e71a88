"""Long runs of streams in RTL, bit for bit those of the golden run: any batch ends, sources and sinks that wait, T
streams at once and one alone, with resets and loads in between.

``SKINNY_SAMPLES=100000 python -m pytest tests/sim/simulators/test_long_streams.py`` makes them as long as that; by
default they are short.
"""

import os
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from skinny.model.machine.assemble import fit_image
from skinny.model.machine.isa import Space
from skinny.model.program.text import loads
from skinny.model.rings import FixedPoint
from skinny.model.run.stream import run_stream
from skinny.sim.check.record import outputs
from skinny.sim.check.stimulus import Stimulus
from skinny.sim.simulators.bulk import BulkCore

SAMPLES = int(os.environ.get("SKINNY_SAMPLES", "600"))
RING = FixedPoint(16, 12)

#: Two biquads in series, transposed direct form II; w[0] is one.
BIQUADS = """\
skinny 1
width 7
contract clean
start 0 1 1/4 0 0 -1/8 0
state a = R2
state b = R3
state c = R5
state d = R6
inputs x
weight w[0] = 1
weight w[1] = 27/400
weight w[2] = 27/200
weight w[3] = 8/7
weight w[4] = -7/17
weight w[5] = 3/10
weight w[6] = -1/10
weight w[7] = 1
weight w[8] = -4/5
form f[0] = w[1]*x + w[0]*R2
form f[1] = w[2]*x + w[3]*R0 + w[0]*R3
form f[2] = w[1]*x + w[4]*R0
form f[3] = w[5]*R0 + w[0]*R5
form f[4] = w[6]*R0 + w[7]*R4 + w[0]*R6
form f[5] = w[5]*R0 + w[8]*R4
R0 = f[0]*R1
R2 = f[1]*R1
R3 = f[2]*R1
R4 = f[3]*R1
R5 = f[4]*R1
R6 = f[5]*R1
emit y = R4
end
"""

#: An Elman cell of two units with relu; w[0] is one.
CELL = """\
skinny 1
width 6
contract clean
start 0 1 0 1/2 0 0
state h = R2
state g = R3
inputs p q
weight w[0] = 1
weight w[1] = 7/10
weight w[2] = -3/5
weight w[3] = 1/2
weight w[4] = 9/10
weight w[5] = 1/16
form f[0] = w[3]*p + w[1]*R2 + w[2]*R3 + w[5]
form f[1] = w[2]*q + w[4]*R2 + w[3]*R3
R4 = relu(f[0]*R1)
R5 = relu(f[1]*R1)
R2 = w[0]*R4
R3 = w[0]*R5
emit y = R2
emit z = R3
end
"""

#: The same cell with a window of two samples.
WINDOW = CELL.replace("inputs p q\n", "window 4 hop 2\ninputs q p q[t-1] p[t-1]\n").replace(
    "w[2]*q +", "w[2]*q + w[5]*p[t-1] +"
)


def random_waits(rng, count):
    """One word in five waits, one in fifty for long."""
    return np.where(rng.random(count) < 0.2, rng.choice([1, 2, 3, 5, 90], count, p=[0.3, 0.2, 0.2, 0.2, 0.1]), 0)


def random_steps(rng, program):
    """What comes before the parts of a run, each kind again and again. A stimulus does not count the words that came in
    for a window before it, so that there all streams begin anew."""
    kinds = ["reset", "load"] if program.window else ["go on", "weights", "go on", "reset", "weights", "load"]
    while True:
        yield from rng.permutation(kinds).tolist()


@pytest.mark.parametrize("alone", [False, True], ids=["T streams", "one stream alone"])
@pytest.mark.parametrize("text", [BIQUADS, CELL, WINDOW], ids=["biquads", "cell", "cell with a window"])
def test_a_long_run_is_the_golden_one(text, alone):
    program = loads(text)
    image = fit_image(program, RING, registers="flipflops")
    threads = image.config.threads
    # Every second load of weights sets them anew, while the streams go on.
    weights = tuple(value * 15 / 16 for value in program.weights)
    other = replace(program, weights=(program.weights[0], *weights[1:]))
    tunings = [(tuned, fit_image(tuned, RING, registers="flipflops")) for tuned in (program, other)]
    core = BulkCore(image.config, image)
    rng = np.random.default_rng(len(text))
    states, done, tuning = [None] * threads, 0, 0
    for part, step in enumerate(random_steps(rng, program)):
        if done == SAMPLES:
            assert part >= 10
            break
        if step == "weights":
            tuning = 1 - tuning
            writes = [write for write in tunings[tuning][1].loads() if write.space == Space.WEIGHTS]
            core.load(SimpleNamespace(loads=lambda writes=writes: iter(writes)))
        elif step == "load":
            core.load(tunings[tuning][1])
        elif step == "reset":
            core.reset()
        if step in ("load", "reset"):
            states = [None] * threads
        tuned, now = tunings[tuning]

        count = min(SAMPLES - done, int(rng.integers(1, SAMPLES // 10)))
        sizes = [1] * count if alone else rng.integers(1, threads + 1, count).tolist()
        elements = rng.integers(-6000, 6000, (sum(sizes), now.vector))
        stimulus = Stimulus(now, now.config.pack(elements), sizes)
        gaps, stalls = (random_waits(rng, n) for n in (elements.size, stimulus.results))
        same = [write for write in now.loads() if write.space == Space.WEIGHTS]
        words = [same[at] for at in rng.integers(0, len(same), 20)]
        stimulus = replace(stimulus, gaps=gaps, stalls=stalls, loads=words, pauses=rng.integers(0, 40, 20))
        record = core.run(stimulus, trace=False)
        assert record.extra == 0
        found = outputs(stimulus, record)

        thread = np.concatenate([np.arange(size) for size in sizes])
        ran = np.concatenate([np.arange(size) for size in stimulus.runs])
        for t in range(threads):
            golden = run_stream(tuned, RING, elements[thread == t][None], states[t])
            states[t] = golden.state
            assert (now.config.to_words(golden.outputs[0]) == found[ran == t]).all()
        done += count


def test_an_oscillator_of_two_applies_keeps_its_amplitude():
    """``R0 += w·R1``, ``R1 -= w·R0`` on one stream alone: plain integers give the same words, and the amplitude neither
    grows nor falls."""
    samples = 2 * max(SAMPLES, 10_000)
    program = loads(
        "skinny 1\nwidth 3\ncontract clean\nstart 0 4 0\nstate s = R0\nstate c = R1\ninputs x\n"
        "weight w[0] = 1/8\nR0 += w[0]*R1\nR1 -= w[0]*R0\nemit y = R0\nend\n"
    )
    image = fit_image(program, RING)
    core = BulkCore(image.config, image)
    stimulus = Stimulus(image, np.zeros((samples, 1), dtype=np.uint64), [1] * samples)
    found = outputs(stimulus, core.run(stimulus, trace=False))[:, 0].astype(np.uint16).view(np.int16)
    a, b, expected = 0, 4 << 12, []
    for _ in range(samples):
        a += (512 * b + 2048) >> 12
        b -= (512 * a + 2048) >> 12
        expected.append(a)
    assert found.tolist() == expected
    peaks = np.abs(found.reshape(-1, 1000).astype(int)).max(axis=1)
    assert peaks.max() - peaks.min() <= 0.01 * peaks.max()
    assert image.steps == 3
