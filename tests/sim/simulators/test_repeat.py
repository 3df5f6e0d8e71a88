"""A core that repeats does in every cycle what the cycle model says, and a broken repeat unit is caught."""

from dataclasses import replace

import numpy as np
import pytest
from amaranth import Cat, Module
from skinny.hdl.core import core as core_module
from skinny.hdl.core import sequencer as sequencer_module
from skinny.hdl.core.core import Core
from skinny.hdl.core.repeat import Loops, Mover
from skinny.model.errors import CheckError
from skinny.model.machine.assemble import assemble
from skinny.model.machine.isa import ONE, CoreConfig, Op, Sending
from skinny.model.machine.repeat import END_BITS, STATE_BITS, payload_at, repeat_word, step_word
from skinny.model.rings import FixedPoint, Modular, PrimeField
from skinny.sim.check.generate import random_program
from skinny.sim.check.steps import LoadImage, ResetCore, RunStimulus
from skinny.sim.check.stimulus import Stimulus, random_stimulus
from skinny.sim.simulators.amaranth import run_steps

SMALL = {"depth": 128, "inputs": 5, "weights": 6, "fifo": 128}
CORES = {
    "one level": CoreConfig(Modular(8), repeat=1, **SMALL),
    "two levels": CoreConfig(FixedPoint(16, 8), repeat=2, **SMALL),
    "units": CoreConfig(Modular(9), 5, 5, assign=True, sums=True, relu=True, argmax=16, repeat=2, **SMALL),
    "wide words": CoreConfig(PrimeField(251), 8, 6, 64, 64, 1024, repeat=2),
    "memory": CoreConfig(FixedPoint(16, 8), 16, 8, registers="memory", relu=True, argmax=16, repeat=2, **SMALL),
    "long pipeline": CoreConfig(PrimeField(251), 5, 8, registers="memory", pipeline=9, repeat=1, **SMALL),
    "state": CoreConfig(Modular(8), state=True, repeat=2, **SMALL),
    "guard": CoreConfig(Modular(9), 5, 5, argmax=16, guard=True, repeat=2, **SMALL),
    "guard, one level": CoreConfig(FixedPoint(16, 8), guard=True, repeat=1, **SMALL),
    "guard, memory": CoreConfig(FixedPoint(16, 8), 16, 6, registers="memory", guard=True, argmax=16, repeat=2, **SMALL),
    "guard, state": CoreConfig(Modular(8), state=True, guard=True, repeat=2, **SMALL),
}


def random_word(rng, config):
    """Any word that is no output, also one that means nothing."""
    sizes = {"neg": 2, "flag": 2, "relu": 2, "dst": config.width, "src": config.width}
    sizes |= {"u": config.inputs, "k": config.weights}
    fields = {name: int(rng.integers(sizes[name])) for name in config.fields if name in sizes}
    return config.encode(int(rng.integers(1, 6)), **fields)


def emit(rng, config, last=0):
    sending = {"src": int(Sending.DECIDE)} if config.argmax and last else {}
    return config.encode(Op.EMIT, dst=int(rng.integers(config.width)), neg=last, flag=int(rng.integers(2)), **sending)


def random_step(rng, config, level):
    moved = {name: int(rng.integers(-3, 4)) for name in config.moving if name in "uk" or not config.argmax}
    return step_word(config, level, moved)


def loop(rng, config, level, begin, body, rounds):
    """A loop whose first word has the address ``begin``; its step is missing now and then."""
    head = [random_step(rng, config, level)] if rng.integers(4) else []
    return [*head, repeat_word(config, level, begin + len(head) + len(body), rounds), *body]


def looped_words(rng, config):
    """Words with loops after each other and in each other; bodies of one word, and bodies that end together."""

    def some(most):
        return [random_word(rng, config) for _ in range(rng.integers(most))]

    # Registers in memory, and their accumulator, hold nothing until they are assigned.
    assigned = range(config.width if config.deep else 0)
    words = [config.encode(Op.APPLY_W, dst=n, src=ONE, flag=1, k=n % config.weights) for n in assigned]
    words += some(3)
    for _ in range(2):
        before = [*some(4), emit(rng, config)]
        rounds = int(rng.integers(2, 5))
        head = len(words) + 2 * (config.repeat == 2) + len(before)
        inner_body = [random_word(rng, config), *some(4)]
        if config.repeat == 1:
            words += before
            words += loop(rng, config, 0, len(words), inner_body, int(rng.integers(2, 9)))
            continue
        inner = loop(rng, config, 0, head, inner_body, int(rng.integers(2, 7)))
        body = [*before, *inner, *some(3)]
        words += [random_step(rng, config, 1), repeat_word(config, 1, len(words) + 1 + len(body), rounds), *body]
        words += some(3)
    # The last word ends a loop: only in its last round it is the last output.
    words += [random_step(rng, config, 0), repeat_word(config, 0, len(words) + 2, 3), emit(rng, config, 1)]
    return words


def looped_image(rng, config):
    image = assemble(random_program(rng, config, 3, outputs=1, inputs=4), config, roll=False)
    words = np.array(looped_words(rng, config), dtype=np.uint64)
    image = replace(image, words=words, instructions=np.full(len(words), -1))
    return replace(image, outputs=tuple(f"y{n}" for n in range(len(image.emit_steps))))


def steps_of(rng, config, make_vectors, count=3):
    steps = [ResetCore()]
    for number in range(count):
        image = looped_image(rng, config)
        vectors = make_vectors(rng, image, 3 * config.threads + 1)
        waits = random_stimulus(rng, image, vectors, 0.5, 0.5, 0.5) if number else Stimulus.steady(image, vectors)
        steps += [LoadImage(image), RunStimulus(waits)]
    return steps


@pytest.mark.parametrize("config", CORES.values(), ids=CORES.keys())
def test_loops_run_as_the_cycle_model_says(config, make_vectors):
    run_steps(Core(config), steps_of(np.random.default_rng(7), config, make_vectors))


def one_round_more(level):
    """Loops of ``level`` take a repeat for one of another round."""

    class Wrong(Loops):
        def elaborate(self, platform):
            m = Module()
            m.submodules.right = right = Loops(self.config)
            m.d.comb += [getattr(right, name).eq(getattr(self, name)) for name in ("turn", "over", "pc", "word")]
            m.d.comb += [getattr(self, name).eq(getattr(right, name)) for name in ("back", "begin", "looping", "step")]
            payload = self.word.as_value()[payload_at(self.config) :]
            state = payload[END_BITS:][:STATE_BITS]
            with m.If((self.word.op == Op.NONE) & ~self.word.neg & (payload[END_BITS + STATE_BITS] == level)):
                changed = right.word.as_value()[payload_at(self.config) + END_BITS :][:STATE_BITS]
                m.d.comb += changed.eq(Cat(state[1:], state[0] ^ state[9]))
            return m

    return Wrong


@pytest.mark.parametrize("level", [0, 1])
def test_a_round_too_many_is_caught(monkeypatch, make_vectors, level):
    config = CORES["two levels"]
    steps = steps_of(np.random.default_rng(7), config, make_vectors, 1)
    monkeypatch.setattr(sequencer_module, "Loops", one_round_more(level))
    with pytest.raises(CheckError, match=r"cycle \d+"):
        run_steps(Core(config), steps)


class Swapped(Mover):
    """Moves inputs by the step of weights, and weights by that of inputs."""

    def elaborate(self, platform):
        m = Module()
        m.submodules.right = right = Mover(self.config)
        m.d.comb += [getattr(right, name).eq(getattr(self, name)) for name in ("first", "step", "looping", "word")]
        m.d.comb += [right.step.u.eq(self.step.k), right.step.k.eq(self.step.u), self.word_o.eq(right.word_o)]
        return m


def test_a_step_of_the_wrong_index_is_caught(monkeypatch, make_vectors):
    config = CORES["one level"]
    steps = steps_of(np.random.default_rng(7), config, make_vectors, 1)
    monkeypatch.setattr(core_module, "Mover", Swapped)
    with pytest.raises(CheckError, match=r"cycle \d+"):
        run_steps(Core(config), steps)
