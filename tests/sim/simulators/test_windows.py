"""Windows on the core: threads read their last words, and every cycle is that of the cycle model."""

import re
from dataclasses import replace

import numpy as np
import pytest
from skinny.hdl.core import core as core_module
from skinny.hdl.core import window_buffer as buffer_module
from skinny.hdl.core.windows import Windows
from skinny.model.errors import CheckError
from skinny.model.machine.assemble import assemble, fit_image
from skinny.model.machine.isa import CoreConfig, Space
from skinny.model.program.text import loads
from skinny.model.rings import FixedPoint
from skinny.model.run.stream import run_stream
from skinny.sim.check.generate import random_program, random_vectors
from skinny.sim.check.record import expect, outputs
from skinny.sim.check.steps import LoadImage, ResetCore, RunStimulus
from skinny.sim.check.stimulus import Stimulus, random_stimulus
from skinny.sim.simulators.amaranth import run_steps
from skinny.sim.simulators.bulk import BulkCore

right = buffer_module.place_of
ALL = {"state": True, "assign": True, "sums": True, "relu": True, "guard": True}


def config_for(threads, **units):
    sizes = {"width": 4, "depth": 128, "inputs": 8, "weights": 12, "fifo": 16}
    return CoreConfig(FixedPoint(9, 4), threads=threads, window=True, **sizes, **units)


def random_image(rng, config, hop=None):
    """A random program with a random window, or now and then with none, and random state."""
    image = assemble(random_program(rng, config, int(rng.integers(1, 9)), outputs=2), config)
    if config.state:
        image = replace(image, state=tuple(np.flatnonzero(rng.random(config.width) < 0.6).tolist()))
    if hop is None and rng.random() < 0.2:
        return image
    window = int(rng.choice([4, 8]))
    return replace(image, window=window, vector=int(rng.integers(1, window + 1)) if hop is None else hop)


def steps_for(seed, config, hop=None):
    """Random samples of a random image; then again after a reset, while words of it are written; then, without a reset,
    samples of another image that is loaded."""
    rng = np.random.default_rng(seed)
    image, other = random_image(rng, config, hop), random_image(rng, config, hop)
    stimulus = random_stimulus(rng, image, random_vectors(rng, image, 24), 0.3, 0.3, 0.6)
    same = [write for write in image.loads() if seed % 2 or write.space != Space.WEIGHTS]
    words = [same[at] for at in rng.integers(0, len(same), 6)]
    busy = replace(stimulus, loads=words, pauses=rng.integers(0, 60, 6))
    after = random_stimulus(rng, other, random_vectors(rng, other, 12), 0.3, 0.3, 0.6)
    return [
        *(ResetCore(), LoadImage(image), RunStimulus(stimulus)),
        *(ResetCore(), RunStimulus(busy), LoadImage(other), RunStimulus(after)),
    ]


@pytest.mark.parametrize(
    ("threads", "units"),
    [
        *((1, {}), (2, ALL), (3, {}), (4, ALL), (5, ALL)),
        *((6, {"registers": "memory", "guard": True}), (8, {"registers": "memory", "repeat": 2})),
        (4, ALL | {"repeat": 2}),
    ],
    ids=["1", "2-all", "3", "4-all", "5-all", "6-memory-guard", "8-memory-repeat", "4-all-repeat"],
)
def test_random_windows_match_in_every_cycle(threads, units):
    config = config_for(threads, **units)
    for seed in (threads, threads + 8):
        run_steps(core_module.Core(config), steps_for(seed, config))


class NeverWaits(Windows):
    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.comb += self.full.eq(1)
        return m


class Advances(Windows):
    """A thread that passes by goes on by a word."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        with m.If(self.passing):
            m.d.comb += self.place.eq(self.front[:-1] + 1)
        return m


@pytest.mark.parametrize(
    ("place", "name", "wrong"),
    [
        (buffer_module, "place_of", lambda newest, u: right(newest, u) - 1),
        (buffer_module, "place_of", lambda newest, u: right(newest, ~u)),
        (core_module, "renews", lambda item: 0),
        (core_module, "renews", lambda item: 1),
        (buffer_module, "Windows", NeverWaits),
        (buffer_module, "Windows", Advances),
    ],
    ids=[
        "window base off by one",
        "window read forwards",
        "window kept when a program is loaded",
        "window lost when a weight is loaded",
        "first run that does not wait",
        "window changed by a thread without a vector",
    ],
)
def test_a_core_with_a_broken_window_is_caught(monkeypatch, place, name, wrong):
    config = config_for(4)
    monkeypatch.setattr(place, name, wrong)
    caught = []
    for seed in (1, 2, 3):
        try:
            run_steps(core_module.Core(config), steps_for(seed, config, hop=1 + seed % 3))
        except CheckError as error:
            caught.append(str(error))
    assert caught
    assert all(message.startswith("cycle ") for message in caught)


def test_streams_with_window_and_state_give_the_words_of_the_golden_run():
    """A product of sums of samples that adds up: T streams at once, then one stream alone."""
    ring = FixedPoint(16, 8)
    program = loads(
        "skinny 1\nwidth 3\ncontract clean\nstart 0 1 0\nstate s = R2\nwindow 4 hop 1\n"
        "inputs x x[t-1] x[t-2] x[t-3]\nR0 += x*R1\nR0 += x[t-3]*R1\nR2 += x[t-1]*R0\nemit y = R2\nend\n"
    )
    image = fit_image(program, ring, registers="flipflops")
    core = BulkCore(image.config, image)
    rng = np.random.default_rng(0)
    for streams in (image.config.threads, 1):
        samples = rng.integers(-500, 500, (streams, 300, 1))
        core.reset()
        stimulus = Stimulus(image, image.config.pack(samples.swapaxes(0, 1).reshape(-1, 1)), [streams] * 300)
        found = outputs(stimulus, core.run(stimulus, trace=False)).reshape(-1, streams).T
        assert (found == image.config.to_words(run_stream(program, ring, samples).outputs[:, :, 0])).all()


def test_the_guard_finds_upsets_of_windows_and_of_what_streams_keep():
    """A flipped bit of what says where windows are, which registers are kept and whether streams go on raises a fault,
    or changes nothing: results are never wrong in silence."""
    config = config_for(4, guard=True, state=True)
    rng = np.random.default_rng(5)
    image = replace(random_image(rng, config, hop=2), window=8, state=(0, 2))
    core = BulkCore(config, image, exposed=True)
    names = r"windows|ends|setting|goes_on|went_on|inputs.*\.(u|thread|passing|some|\w*ended)$"
    held = [n for n, e in enumerate(core.state.elements) if re.search(names, f"{e.scope}.{e.name.strip()}")]
    held = [n for n in held if not re.search("guard|copy", core.state.elements[n].scope)]
    stimulus = random_stimulus(rng, image, random_vectors(rng, image, 40), 0.3, 0.3, 0.4)
    expected = expect(stimulus)
    found, harmless, where = 0, 0, set()
    for cycle in rng.integers(1, expected.cycles, 400).tolist():
        core.reset()
        core.load(image)
        number = int(rng.choice(held))
        element = core.state.elements[number]
        core.flip(number, int(rng.integers(element.words)), int(rng.integers(element.bits)), cycle)
        record = core.run(stimulus, trace=False, cycles=3 * expected.cycles)
        if record.fault >= 0:
            found += 1
            where.add(element.name)
        else:
            assert (record.results["data"] == expected.results["data"]).all(), (element, cycle)
            harmless += 1
    assert found > 50
    assert harmless > 50
    assert len(where) > len(held) / 3
