"""Registers in memory: every retirement, result and handshake in the cycle the model says, from the fewest threads that
are legal on, and not with fewer."""

import dataclasses

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from skinny.hdl.core.core import Core
from skinny.hdl.core.deep_datapath import DeepDatapath
from skinny.model.errors import CheckError
from skinny.model.machine.assemble import assemble
from skinny.model.machine.isa import ONE, CoreConfig, Op
from skinny.model.rings import Boolean, FixedPoint, Modular, PrimeField
from skinny.sim.check.generate import golden_words, random_program, random_vectors
from skinny.sim.check.scenarios import load_steps, reset_steps
from skinny.sim.check.steps import ResetCore, RunStimulus
from skinny.sim.check.stimulus import Stimulus, random_stimulus
from skinny.sim.simulators import amaranth as amaranth_simulator

#: Every ring with each pipeline at its shortest thread count or above.
SIZES = [
    (Modular(1), 6, 5, {"guard": True}),
    (Modular(16), 7, 6, {"relu": True, "argmax": 4}),
    (FixedPoint(16, 8), 8, 7, {"guard": True, "relu": True}),
    (FixedPoint(12, 5), 9, 8, {"attention": False}),
    (PrimeField(2), 6, 8, {"check": False}),
    (PrimeField(31), 7, 9, {"guard": True}),
    (PrimeField(97), 11, 10, {"guard": True}),
    (Boolean(), 10, 9, {"guard": True}),
]


def check_core(image, stimulus, steps=()):
    amaranth_simulator.run_steps(Core(image.config, image), [ResetCore(), RunStimulus(stimulus), *steps])


def without_checks(image):
    words = image.words[image.config.decode(image.words)["op"] != Op.CHECK]
    return dataclasses.replace(image, words=words, instructions=np.full(len(words), -1))


def config_of(ring, pipeline, threads, width=5, **units):
    sizes = {"depth": 128, "inputs": 5, "weights": 6, "fifo": 256, "slices": 7}
    return CoreConfig(ring, width, threads, registers="memory", pipeline=pipeline, **(sizes | units))


@pytest.mark.parametrize(("ring", "pipeline", "threads", "units"), SIZES, ids=lambda each: str(each))
def test_random_words_run_as_the_model_says(bench, ring, pipeline, threads, units):
    """Malformed words among them, whose sizes are no powers of two; then resets in the middle, and other programs."""
    rng = np.random.default_rng(pipeline)
    config = config_of(ring, pipeline, threads, **units)
    image = bench.random_image(rng, config, 24, malformed=not config.argmax)
    vectors = bench.random_words(rng, config, (threads + 3, config.inputs))
    before, after = (bench.random_image(rng, config, length) for length in (5, 8))
    # Loading would make good what a check finds.
    before, after = (without_checks(each) for each in (before, after))
    few = vectors[:4]
    steps = [*reset_steps(rng, before, few), *load_steps(rng, before, after, few, few)]
    check_core(image, random_stimulus(rng, image, vectors, 0.6, 0.8, 0.2), steps)


@pytest.mark.parametrize("pipeline", range(6, 10))
def test_one_thread_less_than_the_shortest_reads_before_the_write(bench, pipeline):
    """R2 ← R2 + x·R1 again and again: each instruction needs the result of the one before."""
    for threads, good in ((pipeline - 1, True), (pipeline - 2, False)):
        config = config_of(Modular(8), pipeline, pipeline - 1)
        # A configuration refuses this; the hardware is built all the same.
        object.__setattr__(config, "threads", threads)
        words = [config.encode(Op.APPLY_X, dst=2, src=ONE, flag=number == 0) for number in range(4)]
        words += [config.encode(Op.APPLY_X, dst=2, src=2, u=1, flag=1), config.encode(Op.EMIT, dst=2, neg=1)]
        image = bench.image_of(config, words, [0], [], 2)
        vectors = np.array([[3 + n, 5] for n in range(threads)], dtype=np.uint64)
        if good:
            check_core(image, Stimulus.steady(image, vectors))
        else:
            with pytest.raises(CheckError, match="expected"):
                check_core(image, Stimulus.steady(image, vectors))


@pytest.mark.parametrize("reads", ["factor", "summand", "output"])
def test_a_register_that_was_not_assigned_holds_no_zero_in_the_model(bench, reads):
    """The assembler refuses such programs. The model has poison there, so that it differs from any core."""
    config = config_of(Modular(16), 7, 6)
    word = {
        "factor": config.encode(Op.APPLY_X, dst=0, src=3, flag=1),
        "summand": config.encode(Op.APPLY_X, dst=3, src=ONE),
        "output": config.encode(Op.EMIT, dst=3),
    }[reads]
    image = bench.image_of(config, [word, config.encode(Op.EMIT, dst=3, neg=1)], [0], [], 1)
    with pytest.raises(CheckError, match="expected"):
        check_core(image, Stimulus.steady(image, np.ones((3, 1), dtype=np.uint64)))


@settings(deadline=None, max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    size=st.sampled_from([size for size in SIZES if size[0] != Modular(1)]),
    width=st.sampled_from([3, 17, 64, 1024]),
    seed=st.integers(0, 2**32 - 1),
)
def test_random_programs_of_all_units(size, width, seed):
    """Results are also those of the golden run, which knows nothing of words."""
    ring, pipeline, threads, units = size
    rng = np.random.default_rng(seed)
    config = config_of(ring, pipeline, threads, width, **units)
    image = assemble(random_program(rng, config, 12, outputs=3, inputs=3), config)
    vectors = random_vectors(rng, image, threads + 2)
    stimulus = random_stimulus(rng, image, vectors, 0.2, 0.3, 0.3)
    check_core(image, stimulus)
    predicted = image.predict(vectors, stimulus.sizes)
    assert sorted(predicted.data.tolist()) == sorted(golden_words(image, vectors).reshape(-1).tolist())
    assert not predicted.fault.any()


def test_a_datapath_alone_retires_after_its_pipeline(bench):
    """R3 ← x·R1 of one thread, then its square: the second finds the result of the first."""
    config = config_of(Modular(16), 7, 6)
    datapath = DeepDatapath(config)
    retired = []

    async def drive(ctx):
        words = {
            0: {"op": Op.APPLY_X, "dst": 3, "src": ONE, "flag": 1},
            6: {"op": Op.APPLY_X, "dst": 3, "src": 3, "flag": 1},
        }
        for cycle in range(13):
            tag = {"live": cycle in words, "valid": cycle in words, "first": cycle == 0, "thread": 4, "pc": cycle}
            ctx.set(datapath.tag, tag)
            ctx.set(datapath.word, words.get(cycle, {}))
            ctx.set(datapath.x, 21 if cycle in (2, 8) else 0)
            if ctx.get(datapath.retire.valid):
                report = datapath.retire
                retired.append((cycle, *(ctx.get(each) for each in (report.thread, report.pc, report.value))))
            await ctx.tick()

    bench.simulate(datapath, drive)
    assert retired == [(5, 4, 0, 21), (11, 4, 6, 21 * 21)]
