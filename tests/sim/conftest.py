"""Cores of every ring, built once in a process, and programs and steps for them."""

import dataclasses
from functools import cache

import numpy as np
import pytest
from skinny.model.machine.assemble import assemble
from skinny.model.machine.isa import CoreConfig
from skinny.model.rings import Boolean, FixedPoint, Modular, PrimeField
from skinny.sim.check.divergence import first_divergence
from skinny.sim.check.generate import random_program
from skinny.sim.check.record import expect
from skinny.sim.check.scenarios import load_steps, reset_steps
from skinny.sim.check.steps import LoadImage, ResetCore, RunStimulus
from skinny.sim.check.stimulus import random_elements, random_stimulus
from skinny.sim.simulators.bulk import BulkCore

#: Every ring; widths 3, 4, 8; threads 1, 2, 3, 4, 6; with and without attention and guard; then cores with the units
#: that pure programs do not need, and with registers in memory. Odd sizes leave room for words that mean nothing.
SMALL = {"depth": 64, "inputs": 5, "weights": 6}
#: Forms with registers are longer.
NETWORK = {"assign": True, "sums": True, "relu": True, **SMALL, "depth": 256}
CONFIGS = [
    CoreConfig(Modular(16), width=3, threads=1, guard=True, **SMALL),
    CoreConfig(Modular(32), width=4, threads=2, attention=False, guard=True, **SMALL),
    CoreConfig(Modular(5), width=8, threads=3, **SMALL),
    CoreConfig(FixedPoint(16, 8), width=3, threads=4, **SMALL),
    CoreConfig(FixedPoint(32, 30), width=8, threads=6, check=False, **SMALL),
    CoreConfig(FixedPoint(12, 0), width=4, threads=1, attention=False, **SMALL),
    CoreConfig(PrimeField(8191), width=3, threads=6, guard=True, **SMALL),
    CoreConfig(PrimeField((1 << 31) - 1), width=8, threads=2, **SMALL),
    CoreConfig(PrimeField(251), width=4, threads=4, attention=False, **SMALL),
    CoreConfig(PrimeField(65521), width=3, threads=3, **SMALL),
    CoreConfig(Boolean(), width=3, threads=2, slices=64, **SMALL),
    CoreConfig(Boolean(), width=4, threads=4, slices=1, attention=False, guard=True, **SMALL),
    CoreConfig(FixedPoint(16, 8), width=3, threads=4, guard=True, argmax=8, **NETWORK),
    CoreConfig(Modular(9), width=4, threads=1, **NETWORK),
    CoreConfig(PrimeField(251), width=5, threads=2, **NETWORK | {"relu": False}),
    CoreConfig(FixedPoint(16, 8), width=64, threads=6, guard=True, argmax=8, registers="memory", **NETWORK),
    CoreConfig(PrimeField(251), width=5, threads=8, registers="memory", pipeline=9, **NETWORK | {"relu": False}),
]
MAIN = CONFIGS[3]


def name_of(config):
    extra = ("" if config.attention else "-plain") + "-guard" * config.guard
    extra += "".join(f"-{unit}" for unit in ("assign", "sums", "relu", "argmax") if getattr(config, unit))
    extra += "-memory" * config.deep
    return f"{config.ring.name}-w{config.width}-t{config.threads}{extra}"


@cache
def loadable(config):
    return BulkCore(config)


@pytest.fixture(params=CONFIGS, ids=name_of)
def config(request):
    return request.param


@pytest.fixture(scope="session")
def configs():
    return CONFIGS


@pytest.fixture
def main_config():
    return MAIN


@pytest.fixture(scope="session")
def bulk():
    """The simulated core of a configuration, empty and loadable, built once."""
    return loadable


@pytest.fixture(scope="session")
def make_image():
    """A random program, assembled: ``make_image(rng, config, length)``."""

    def make(rng, config, length=20, outputs=1, self_check=False, inputs=4):
        program = random_program(
            rng, config, length, outputs=outputs, inputs=inputs, restart=not self_check, reversible=self_check
        )
        return assemble(program, config, self_check=self_check)

    return make


@pytest.fixture(scope="session")
def make_vectors():
    """Random hardware words for an image."""

    def make(rng, image, count):
        config = image.config
        rows = count * config.slices if isinstance(config.ring, Boolean) else count
        return config.pack(random_elements(rng, config.ring, (rows, image.vector)))

    return make


@pytest.fixture(scope="session")
def differs():
    """The first divergence of a bulk run, or None."""

    def run(core, stimulus):
        return first_divergence(stimulus, expect(stimulus), core.run(stimulus))

    return run


@pytest.fixture
def scenarios(make_image, make_vectors, main_config):
    """Two programs with a source and a sink that wait, with resets and with loads in mid-run."""
    rng = np.random.default_rng(5)
    images = [make_image(rng, main_config, length, outputs=2) for length in (3, 14)]
    short, long = (make_vectors(rng, image, 14) for image in images)
    runs = [LoadImage(images[1]), RunStimulus(random_stimulus(rng, images[1], long, 0.5, 0.5, 0.5))]
    return [ResetCore(), *runs, *reset_steps(rng, images[0], short), *load_steps(rng, *images, short, long)]


@pytest.fixture
def steps(make_image, make_vectors):
    """Programs loaded one after the other, run with and without waiting, some after a reset, one with a fault."""

    def make(config, programs):
        rng = np.random.default_rng(7)
        out = [ResetCore()]
        for number in range(programs):
            image = make_image(rng, config, int(rng.integers(2, 8)), outputs=1 + number % 2)
            if number % 5 == 3:
                image = dataclasses.replace(image, words=np.concatenate([[np.uint64(0)], image.words]))
                out.append(ResetCore())
            wait = 0.5 * (number % 2)
            vectors = make_vectors(rng, image, 6)
            out += [LoadImage(image), RunStimulus(random_stimulus(rng, image, vectors, wait, wait, 0.5))]
        return out

    return make


@pytest.fixture
def rng(request):
    return np.random.default_rng(sum(request.node.name.encode()))
