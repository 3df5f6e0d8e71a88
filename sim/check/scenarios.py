"""Steps for any simulator with resets and writes at the load port in the middle of a run, which a core must bear."""

from __future__ import annotations

import dataclasses

import numpy as np
from skinny.model.machine.image import MachineImage, Waits
from skinny.model.machine.isa import Words

from .generate import random_program
from .record import expect
from .steps import CoreStep, LoadImage, ResetCore, RunStimulus
from .stimulus import Stimulus, random_stimulus

__all__ = ["load_steps", "reset_steps"]

#: A sink that takes as long as this never takes a result.
NEVER = 1 << 30


def reset_steps(rng: np.random.Generator, image: MachineImage, vectors: Words) -> list[CoreStep]:
    """Steps with two resets: one in a random cycle while results wait, then one of a core that is full up to its input
    buffers, after which the first batch is complete with its first word. The run after a reset is checked from its
    first cycle."""
    stimulus = random_stimulus(rng, image, vectors, 0.3, 0.3, 0.5)
    steps: list[CoreStep] = [
        LoadImage(image),
        _cut(stimulus, int(rng.integers(stimulus.results)), rng),
        ResetCore(),
        RunStimulus(stimulus),
    ]
    shortest = _shortest(rng, image)
    # As many vectors as all result FIFOs and both input buffers hold, and one more.
    count = shortest.batches + max(lane.batches for lane in shortest.lanes) + 3
    alone = Stimulus(shortest, np.resize(vectors, (count, 1)), [1] * count)
    return [*steps, LoadImage(shortest), _cut(alone, 0), ResetCore(), RunStimulus(alone)]


def _shortest(rng: np.random.Generator, image: MachineImage) -> MachineImage:
    """A program of one input for the same hardware that only sends a register, one in memory when it was assigned."""
    program = random_program(rng, image.config, 0, inputs=1)
    if image.config.deep:
        return image.reassemble(program)
    # Some fixed-point formats have no one, but all rings have minus one.
    return image.reassemble(dataclasses.replace(program, start=(-1,) * program.width))


def _cut(stimulus: Stimulus, result: int, rng: np.random.Generator | None = None) -> RunStimulus:
    """A run whose sink never takes a ``result``, cut in a random cycle while it waits or, without ``rng``, when nothing
    is accepted or retires any more."""
    stalls = np.zeros(stimulus.results, dtype=np.int64) if stimulus.stalls is None else stimulus.stalls.copy()
    stalls[result] = NEVER
    stimulus = dataclasses.replace(stimulus, stalls=stalls)
    expected = expect(stimulus, cycles=NEVER)
    assert expected.trace is not None
    first = int(expected.results["valid"][result]) + 1
    last = max(first, int(expected.accepted[-1]) + 1, int(expected.trace["cycle"][-1]) + 1)
    return RunStimulus(stimulus, last if rng is None else int(rng.integers(first, last + 1)))


def load_steps(
    rng: np.random.Generator, image: MachineImage, other: MachineImage, vectors: Words, after: Words
) -> list[CoreStep]:
    """Steps in which words of ``image`` are written again while it runs on ``vectors``, which delays batches that wait
    and changes nothing; then all words of ``other`` are offered while the last batch runs, which must not change that
    batch. In the end ``other`` runs on ``after``."""
    stimulus = random_stimulus(rng, image, vectors, 0.1, 0.3, 0.3)
    length = image.steps * image.config.threads
    same = list(image.loads())
    words = [same[at] for at in rng.integers(0, len(same), 12)]
    pauses = np.where(rng.random(12) < 0.5, rng.integers(0, 2 * length, 12), 0)
    busy = dataclasses.replace(stimulus, loads=words, pauses=pauses)
    new = list(other.loads())
    assert stimulus.gaps is not None
    assert stimulus.stalls is not None
    waits = Waits(stimulus.gaps.tolist(), stimulus.stalls.tolist())
    start = image.timetable(stimulus.sizes, waits).starts[-1]
    pauses = np.where(rng.random(len(new)) < 0.2, rng.integers(0, 4, len(new)), 0)
    pauses[0] = start + rng.integers(length)
    late = dataclasses.replace(stimulus, loads=new, pauses=pauses)
    # Streams would go on with the second run.
    between = [ResetCore()] if image.config.streams else []
    return [
        LoadImage(image),
        RunStimulus(busy),
        *between,
        RunStimulus(late),
        RunStimulus(random_stimulus(rng, other, after, 0.3, 0.3, 0.3)),
    ]
