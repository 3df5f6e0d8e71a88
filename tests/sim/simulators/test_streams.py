"""Streams on the core: registers keep their contents from run to run, and every cycle is that of the cycle model."""

from dataclasses import replace

import numpy as np
import pytest
from skinny.hdl.core import core as core_module
from skinny.hdl.core import datapath as datapath_module
from skinny.hdl.core import deep_datapath as deep_module
from skinny.hdl.core.sequencer import Sequencer
from skinny.model.errors import CheckError
from skinny.model.machine.assemble import assemble
from skinny.model.machine.isa import ONE, CoreConfig, Op, Space
from skinny.model.rings import FixedPoint
from skinny.sim.check.generate import random_program, random_vectors
from skinny.sim.check.steps import LoadImage, ResetCore, RunStimulus
from skinny.sim.check.stimulus import random_stimulus
from skinny.sim.simulators.amaranth import run_steps


def steps_for(seed, config, kinds=tuple(Space)):
    """Random samples of a random program with random state; then again after a reset, while words of the image are
    written that are of ``kinds``."""
    rng = np.random.default_rng(seed)
    image = assemble(random_program(rng, config, int(rng.integers(1, 9)), outputs=2), config)
    if not config.deep:
        image = replace(image, state=tuple(np.flatnonzero(rng.random(config.width) < 0.6).tolist()))
    vectors = random_vectors(rng, image, 24)
    if seed % 4 == 3 and config.deep:
        # A check that fails in some samples taints the stream.
        register = min({0, *range(2, config.width)} - set(image.state))
        take = config.encode(Op.APPLY_X, dst=register, src=ONE, flag=1, u=config.input_field(0))
        words = np.insert(image.words, len(image.state), [take, config.encode(Op.CHECK, dst=register)])
        image = replace(image, words=words, instructions=np.full(len(words), -1))
        vectors[:, 0] *= rng.random(24) < 0.2
    elif seed % 4 == 3:
        image = replace(image, words=np.append(np.uint64(0), image.words[1:]))  # so does a malformed word
    stimulus = random_stimulus(rng, image, vectors, 0.3, 0.3, 0.6)
    same = [write for write in image.loads() if write.space in kinds]
    loads = [same[at] for at in rng.integers(0, len(same), 6)]
    busy = replace(stimulus, loads=loads, pauses=rng.integers(0, 60, 6))
    return [ResetCore(), LoadImage(image), RunStimulus(stimulus), ResetCore(), RunStimulus(busy)]


def config_for(threads, **units):
    size = {"width": 4, "depth": 128, "inputs": 5, "weights": 12, "fifo": 16}
    return CoreConfig(FixedPoint(9, 4), threads=threads, state=True, **size | units)


@pytest.mark.parametrize("threads", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(
    "units", [{}, {"assign": True, "sums": True, "relu": True, "guard": True}], ids=["pure", "all"]
)
def test_random_streams_match_in_every_cycle(threads, units):
    config = config_for(threads, **units)
    for seed in (threads, threads + 6):
        run_steps(core_module.Core(config), steps_for(seed, config))


MEMORY = {"registers": "memory", "width": 24, "weights": 16}


@pytest.mark.parametrize(
    ("threads", "units"),
    [
        (6, {}),
        (8, {"pipeline": 9, "attention": False}),
        (6, {"relu": True, "argmax": 4, "guard": True, "repeat": 2}),
        (5, {"pipeline": 6, "window": True, "inputs": 8}),
    ],
    ids=["plain", "long pipeline", "all", "window"],
)
def test_random_streams_in_memory_match_in_every_cycle(threads, units):
    config = config_for(threads, **MEMORY | units)
    for seed in (threads, threads + 6, 3):
        run_steps(core_module.Core(config), steps_for(seed, config))


def broken_sequencer(change):
    """A sequencer that is right but for what ``change`` does to its tag."""

    class Wrong(Sequencer):
        def elaborate(self, platform):
            m = super().elaborate(platform)
            change(m, self.tag)
            return m

    return Wrong


@pytest.mark.parametrize(
    ("place", "name", "wrong"),
    [
        (datapath_module, "may_write", lambda tag: tag.live),
        (core_module, "renews", lambda item: 1),
        (core_module, "renews", lambda item: 0),
        (core_module, "Sequencer", broken_sequencer(lambda m, tag: m.d.comb.__iadd__(tag.goes_on.eq(0)))),
        (core_module, "Sequencer", broken_sequencer(lambda m, tag: m.d.comb.__iadd__(tag.goes_on.eq(1)))),
    ],
    ids=[
        "state changed by a thread without a vector",
        "state lost when a weight is loaded",
        "state kept when a program is loaded",
        "state lost between batches",
        "state never begun",
    ],
)
def test_a_core_with_broken_state_is_caught(monkeypatch, place, name, wrong):
    expect_caught(monkeypatch, config_for(4), place, name, wrong)


@pytest.mark.parametrize(
    ("place", "name", "wrong"),
    [
        (deep_module, "may_write", lambda tag, control: tag.live & (~control.begin | ~tag.goes_on)),
        (deep_module, "may_write", lambda tag, control: tag.valid),
        (deep_module, "may_write", lambda tag, control: tag.valid & (~control.begin | ~tag.goes_on)),
        (deep_module, "forgets", lambda tag: tag.first),
        (core_module, "renews", lambda item: 1),
        (core_module, "renews", lambda item: 0),
    ],
    ids=[
        "state changed by a thread without a vector",
        "state begun in each run",
        "state not begun by a thread without a vector",
        "a fault forgotten between batches",
        "state lost when a weight is loaded",
        "state kept when a program is loaded",
    ],
)
def test_a_core_with_broken_state_in_memory_is_caught(monkeypatch, place, name, wrong):
    expect_caught(monkeypatch, config_for(6, **MEMORY), place, name, wrong)


def expect_caught(monkeypatch, config, place, name, wrong):
    kinds = (Space.WEIGHTS,) if name == "renews" and wrong(None) else (Space.PROGRAM,)
    monkeypatch.setattr(place, name, wrong)
    caught = []
    for seed in (0, 1, 2, 3, 4):
        try:
            run_steps(core_module.Core(config), steps_for(seed, config, kinds))
        except CheckError as error:
            caught.append(str(error))
    assert caught
    assert all(message.startswith("cycle ") for message in caught)
