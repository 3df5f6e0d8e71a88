"""A core that repeats does in every cycle what the cycle model says, and a broken repeat unit is caught."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from skinny.hdl.core import core as core_module
from skinny.hdl.core import repeat as repeat_module
from skinny.hdl.core import sequencer as sequencer_module
from skinny.hdl.core.core import Core
from skinny.model.errors import CheckError
from skinny.model.machine.assemble import assemble, fit_image
from skinny.model.machine.isa import ONE, CoreConfig, Op, Sending
from skinny.model.machine.repeat import repeat_word, step_word
from skinny.model.program.forms import Linear, Weight
from skinny.model.program.program import Columns, Mode, Output, Program
from skinny.model.rings import FixedPoint, Modular, PrimeField
from skinny.model.run.golden import run
from skinny.sim.check.generate import random_program
from skinny.sim.check.record import outputs
from skinny.sim.check.steps import LoadImage, ResetCore, RunStimulus
from skinny.sim.check.stimulus import Stimulus, random_elements, random_stimulus
from skinny.sim.simulators.amaranth import run_steps
from skinny.sim.simulators.bulk import BulkCore
from skinny.sim.simulators.cocotb_runner import run_testbench

SMALL = {"depth": 128, "inputs": 5, "weights": 6, "fifo": 128}
NETWORK = {"relu": True, "argmax": 16, **SMALL}
CORES = {
    "one level": CoreConfig(Modular(8), repeat=1, **SMALL),
    "two levels": CoreConfig(FixedPoint(16, 8), repeat=2, **SMALL),
    "wide words": CoreConfig(PrimeField(251), 8, 6, 64, 64, 1024, repeat=2),
    "long pipeline": CoreConfig(PrimeField(251), 5, 8, registers="memory", pipeline=9, repeat=1, **SMALL),
    "guard, units": CoreConfig(Modular(9), 5, 5, guard=True, assign=True, sums=True, repeat=2, **NETWORK),
    "guard, state": CoreConfig(Modular(8), state=True, guard=True, repeat=2, **SMALL),
    "guard, memory": CoreConfig(FixedPoint(16, 8), 16, 6, registers="memory", guard=True, repeat=2, **NETWORK),
}
#: Registers in memory, two levels: what rolled networks need.
MEMORY = CoreConfig(FixedPoint(16, 8), 16, 6, registers="memory", repeat=2, **NETWORK)


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
    # A loop whose step nobody sets.
    words += [repeat_word(config, 0, len(words) + 1, 3), config.encode(Op.APPLY_X, dst=0, src=2, u=1)]
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
    # A loop that the run leaves open; the next one must not meet its end.
    return [*words, repeat_word(config, 0, 1, 3)]


def looped_image(rng, config):
    image = assemble(random_program(rng, config, 3, outputs=1, inputs=4), config, roll=False)
    words = np.array(looped_words(rng, config), dtype=np.uint64)
    image = replace(image, words=words, instructions=np.full(len(words), -1))
    return replace(image, outputs=tuple(f"y{n}" for n in range(len(image.emit_steps))))


def steps_of(rng, config, make_vectors, count=2):
    steps = [ResetCore()]
    for number in range(count):
        image = looped_image(rng, config)
        vectors = make_vectors(rng, image, 2 * config.threads + 1)
        waits = random_stimulus(rng, image, vectors, 0.5, 0.5, 0.5) if number else Stimulus.steady(image, vectors)
        steps += [LoadImage(image), RunStimulus(waits)]
    return steps


@pytest.mark.parametrize("config", CORES.values(), ids=CORES.keys())
def test_loops_run_as_the_cycle_model_says(config, make_vectors):
    run_steps(Core(config), steps_of(np.random.default_rng(7), config, make_vectors))


def test_loops_run_in_the_other_simulators(make_vectors):
    rng = np.random.default_rng(5)
    core = BulkCore(MEMORY)
    assert len(list(core.do(steps_of(rng, MEMORY, make_vectors, 20)))) == 20
    images = [looped_image(rng, MEMORY) for _ in range(2)]
    job = [(image, make_vectors(rng, image, 2 * MEMORY.threads + 1)) for image in images]
    run_testbench(Core(MEMORY), job, ["matches_model", "load_waits_while_busy"])


def test_a_rolled_program_gives_what_the_program_does():
    # Two layers, whose sums are loops in loops.
    rng = np.random.default_rng(3)
    forms = [Linear(tuple((8 * n + u, u) for u in range(8)), 8 * n) for n in range(4)]
    forms += [Linear((), 8 * n, tuple((Weight(8 * n + r), 2 + r) for r in range(4))) for n in range(3)]
    code = Columns.of(range(2, 9), [1] * 7, [1] * 7, range(7), [Mode.RELU] * 4 + [Mode.ASSIGN] * 3)
    weights = tuple(Fraction(int(n), 64) for n in rng.integers(-60, 60, 32))
    sent = tuple(Output(f"y{n}", 6 + n, 7, False) for n in range(3))
    program = Program(9, tuple(f"x{u}" for u in range(8)), weights, tuple(forms), code, sent)
    image = fit_image(program, FixedPoint(16, 8), roll=True)
    assert image.rolled
    assert image.config.deep
    elements = random_elements(rng, image.config.ring, (300, 8))
    steps = [ResetCore(), LoadImage(image), RunStimulus(Stimulus.steady(image, image.config.pack(elements)))]
    (record,) = BulkCore(image.config).do(steps)
    found = image.config.unpack(outputs(steps[-1].stimulus, record), 300)
    assert (found == run(program, FixedPoint(16, 8), elements).outputs).all()


BROKEN = {
    "an inner round too many": ("rounds[1:].any()", "(rounds if level == 0 else rounds[1:]).any()"),
    "an outer round too many": ("rounds[1:].any()", "(rounds if level == 1 else rounds[1:]).any()"),
    "a step of the wrong index": ("+ self.step[name]", '+ self.step[{"u": "k", "k": "u"}.get(name, name)]'),
    "a step of the wrong register": ("+ self.step[name]", '+ self.step["src" if name == "dst" else name]'),
    "loops left open": ("[opened.eq(0), step.eq(0)]", "step.eq(0)"),
    "steps left over": ("[opened.eq(0), step.eq(0)]", "opened.eq(0)"),
    "offsets left over": ("Mux(self.first, 0, offset[name] + self.step[name])", "offset[name] + self.step[name]"),
    "the end of a loop that is over": ("hit.eq(opened & ", "hit.eq("),
    "outer loops first": ("self.turn & hit & ~Cat(hits).any() if hits else", ""),
    "a last output in each round": ("m.d.sync += held.neg.eq(0)", "pass"),
    "malformed before the step": (
        "word[name] + Mux(onto_sum, 0, offset[name])",
        "Mux((word[name] + offset[name])[: len(word[name])] < 5, word[name] + offset[name], word[name])",
    ),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_unit_is_caught(monkeypatch, make_vectors, broken):
    config = replace(CORES["two levels"], width=5)
    steps = steps_of(np.random.default_rng(7), config, make_vectors)
    old, new = BROKEN[broken]
    text = Path(repeat_module.__file__).read_text()
    assert text.count(old) == 1
    wrong = {"__name__": repeat_module.__name__, "__package__": repeat_module.__package__}
    exec(compile(text.replace(old, new), broken, "exec"), wrong)
    monkeypatch.setattr(sequencer_module, "Loops", wrong["Loops"])
    monkeypatch.setattr(core_module, "Mover", wrong["Mover"])
    with pytest.raises(CheckError, match=r"cycle \d+"):
        run_steps(Core(config), steps)
