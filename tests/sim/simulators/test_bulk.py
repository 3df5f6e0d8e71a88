"""The verilated core retires in every cycle what the cycle model says."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from skinny.model.machine.assemble import assemble
from skinny.model.machine.cycles import overhead
from skinny.model.machine.isa import CoreConfig, Op
from skinny.model.program.forms import Input, Linear, Weight
from skinny.model.program.program import Columns, Mode, Output, Program
from skinny.model.rings import Boolean, FixedPoint, Modular, PrimeField
from skinny.model.run import golden
from skinny.sim.check.divergence import first_divergence
from skinny.sim.check.generate import random_program
from skinny.sim.check.record import expect, outputs, utilisation
from skinny.sim.check.scenarios import load_steps, reset_steps
from skinny.sim.check.steps import LoadImage, ResetCore, RunStimulus
from skinny.sim.check.stimulus import Stimulus, random_stimulus
from skinny.sim.simulators.bulk import BulkCore

EXAMPLES = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def runs(draw, config):
    """A program, vectors as hardware words, and what source and sink do. Of registers in memory a program uses a few,
    which it assigns first."""
    inputs, weights = draw(st.integers(1, config.inputs)), draw(st.integers(1, config.weights))
    words = st.integers(0, (1 << config.bits) - 1)
    if isinstance(config.ring, PrimeField):
        words = st.integers(0, config.ring.p - 1)
    ks, us = st.integers(0, weights - 1), st.integers(0, inputs - 1)
    written = [0, 2, 3, config.width - 1] if config.deep else list(range(config.width))
    register, source = st.sampled_from(written), st.sampled_from([1, *written] if config.deep else written)
    scalars = [st.builds(Input, us), st.builds(Weight, ks)]
    if config.attention:
        pairs = st.lists(st.tuples(ks, us), max_size=3).map(tuple)
        factors = st.builds(Input, us) | st.builds(Weight, ks)
        terms = st.tuples(factors, source)
        sums = st.lists(terms, max_size=3 if config.sums else 0).map(tuple)
        scalars.append(st.builds(Linear, pairs, st.none() | ks, sums))
    forms = [*[Input(0)] * config.deep, *draw(st.lists(st.one_of(scalars), min_size=1, max_size=6))]
    first = [(register, 1, 1, 0, Mode.ASSIGN) for register in written] if config.deep else []
    modes = st.sampled_from(list(Mode)[: 1 + config.assign + config.relu])
    step = st.tuples(register, source, st.sampled_from([1, -1]), st.integers(0, len(forms) - 1), modes)

    def means_something(step):
        dst, src, _, form, mode = step
        return mode != Mode.ADD or (dst != src and dst not in getattr(forms[form], "registers", ()))

    code = first + draw(st.lists(step.filter(means_something), max_size=8))
    places = sorted([*draw(st.lists(st.integers(len(first), len(code)), max_size=2)), len(code)])
    restarts = st.just(False) if config.deep else st.booleans()
    program = Program(
        width=config.width,
        inputs=tuple(f"x{u}" for u in range(inputs)),
        weights=(0,) * weights,
        forms=tuple(forms),
        code=Columns.of(*zip(*code, strict=True)) if code else Columns.empty(),
        outputs=tuple(Output(f"y{n}", draw(register), at, draw(restarts)) for n, at in enumerate(places)),
        start=tuple(draw(st.lists(st.integers(0, 1), min_size=config.starts, max_size=config.starts))),
        argmax=draw(st.sampled_from(["", "number"])) if config.argmax else "",
    )
    image = dataclasses.replace(
        assemble(program, config),
        weights=np.array(draw(st.lists(words, min_size=weights, max_size=weights)), dtype=np.uint64),
    )
    sizes = draw(st.lists(st.integers(1, config.threads), min_size=1, max_size=4))
    count = sum(sizes)
    vectors = np.array(
        draw(st.lists(words, min_size=count * inputs, max_size=count * inputs)), dtype=np.uint64
    ).reshape(count, inputs)

    def waits(length):
        few = st.lists(st.integers(0, 60), min_size=length, max_size=length)
        return draw(st.none() | few.map(lambda cycles: np.array(cycles, dtype=np.int64)))

    plain = Stimulus(image, vectors, sizes)
    return Stimulus(image, vectors, sizes, waits(vectors.size), waits(plain.results))


@EXAMPLES
@given(data=st.data())
def test_any_program_matches(data, config, bulk, differs):
    stimulus = data.draw(runs(config))
    core = bulk(config)
    core.load(stimulus.image)
    assert differs(core, stimulus) is None


@pytest.mark.parametrize("number", [0, 1], ids=["t1", "t2"])
def test_the_shortest_programs_match(number, bulk, differs, make_image, make_vectors, rng, configs):
    # Batches follow each other faster than an input buffer is released.
    config = configs[number]
    core = bulk(config)
    image = make_image(rng, config, 0, inputs=1)
    core.load(image)
    assert differs(core, random_stimulus(rng, image, make_vectors(rng, image, 20), early=1)) is None


@pytest.mark.parametrize(("idle", "stall"), list(itertools.product((0, 0.5), repeat=2)))
def test_long_programs_match(config, bulk, differs, make_image, make_vectors, rng, idle, stall):
    core = bulk(config)
    image = make_image(rng, config, 14, outputs=3)
    core.load(image)
    assert differs(core, random_stimulus(rng, image, make_vectors(rng, image, 60), idle, stall, 0.3)) is None


@pytest.mark.parametrize("ring", [Modular(4), FixedPoint(4, 2), PrimeField(13)], ids=repr)
def test_every_pair_of_inputs(ring, bulk, differs, rng):
    config = CoreConfig(ring, depth=64, inputs=2, weights=8)
    core = bulk(config)
    values = range(ring.p if isinstance(ring, PrimeField) else 16)
    vectors = np.array(list(itertools.product(values, values)), dtype=np.uint64)
    for _ in range(20):
        image = assemble(random_program(rng, config, 20, inputs=2), config)
        core.load(image)
        assert differs(core, Stimulus.steady(image, vectors)) is None


def test_results_are_the_golden_ones(config, bulk, make_image, make_vectors, rng):
    # The cycle model is not asked here.
    image = make_image(rng, config, 16, outputs=2)
    core = bulk(config)
    core.load(image)
    stimulus = Stimulus.steady(image, make_vectors(rng, image, 33))
    found = outputs(stimulus, core.run(stimulus, trace=False))
    batch = 33 * config.slices if isinstance(config.ring, Boolean) else 33
    expected = golden.run(image.program, config.ring, config.unpack(stimulus.vectors, batch)).outputs
    assert np.array_equal(config.unpack(found, batch), expected)


def test_hundred_programs_in_one_simulation(bulk, differs, make_image, make_vectors, rng, main_config):
    core = bulk(main_config)
    for number in range(100):
        if number % 10 == 0:
            core.reset()
        image = make_image(rng, main_config, int(rng.integers(1, 20)), outputs=int(rng.integers(1, 4)))
        core.load(image)
        assert differs(core, random_stimulus(rng, image, make_vectors(rng, image, 10), 0.2, 0.2, 0.2)) is None


@pytest.mark.parametrize("rom", [False, True])
def test_initial_contents(differs, make_image, make_vectors, rng, main_config, rom):
    image = make_image(rng, main_config, 20, outputs=2)
    core = BulkCore(main_config, image, rom=rom)
    assert differs(core, random_stimulus(rng, image, make_vectors(rng, image, 20), 0.3, 0.3, 0.3)) is None


def test_a_batch_takes_length_times_threads_and_a_constant(config, bulk, make_image, make_vectors, rng):
    core = bulk(config)
    for length in (1, 5, 15):
        image = make_image(rng, config, length)
        core.load(image)
        record = core.run(Stimulus.steady(image, make_vectors(rng, image, config.threads)))
        assert record.results["valid"][-1] - record.accepted[-1] == len(image) * config.threads + overhead(config)
    constant = config.pipeline + 4 if config.deep else config.threads + 8
    assert overhead(config) == constant + bool(config.argmax)


def test_the_multiplier_works_in_every_cycle(rng, make_vectors, bulk):
    config = CoreConfig(FixedPoint(16, 8), depth=256, inputs=8, weights=8, attention=False)
    core = bulk(config)
    image = assemble(random_program(rng, config, 200), config)
    core.load(image)
    record = core.run(Stimulus.steady(image, make_vectors(rng, image, 4 * 100)))
    assert record.worked == 200 * 400
    assert utilisation(record) >= 0.99
    starts = record.trace["cycle"][(record.trace["pc"] == 0) & (record.trace["thread"] == 0)]
    assert set(np.diff(starts)) == {len(image) * 4}


def test_every_malformed_word_raises_fault_and_changes_nothing(bulk, make_image, make_vectors, rng, main_config):
    core = bulk(main_config)
    every = np.arange(1 << main_config.word_bits, dtype=np.uint64)
    bad = rng.permutation(every[main_config.malformed(every)])
    assert len(bad) > 1000
    image = make_image(rng, main_config, 12)
    vectors = make_vectors(rng, image, 4)
    core.load(image)
    clean = outputs(Stimulus.steady(image, vectors), core.run(Stimulus.steady(image, vectors)))
    quiet = bad[main_config.decode(bad)["op"] != Op.EMIT]
    for part in np.array_split(quiet, len(quiet) // 30):
        words = np.concatenate([image.words[:5], part, image.words[5:]])
        words = words[: main_config.depth]
        mixed = dataclasses.replace(image, words=words, instructions=np.full(len(words), -1))
        core.load(mixed)
        stimulus = Stimulus.steady(mixed, vectors)
        record = core.run(stimulus)
        assert first_divergence(stimulus, expect(stimulus), record) is None
        inserted = (record.trace["pc"] >= 5) & (record.trace["pc"] < 5 + len(part))
        assert (record.trace["fault"] == inserted).all()
        assert record.fault == record.trace["cycle"][inserted][0] + 1
        assert np.array_equal(outputs(stimulus, record), clean)
        assert record.results["fault"].all()


def test_malformed_emits_keep_results_in_step(bulk, differs, make_image, make_vectors, rng, main_config):
    core = bulk(main_config)
    image = make_image(rng, main_config, 6, outputs=2)
    words = image.words.copy()
    at = int(np.flatnonzero(main_config.decode(words)["op"] == Op.EMIT)[0])
    words[at] = main_config.encode(Op.EMIT, dst=3)
    broken = dataclasses.replace(image, words=words)
    core.load(broken)
    assert differs(core, Stimulus.steady(broken, make_vectors(rng, image, 9))) is None
    core.load(image)
    assert differs(core, Stimulus.steady(image, make_vectors(rng, image, 9))) is None


def test_fault_falls_with_a_load_and_with_reset(bulk, make_image, make_vectors, rng, main_config):
    core = bulk(main_config)
    image = make_image(rng, main_config, 6)
    bad = dataclasses.replace(image, words=np.concatenate([[np.uint64(0)], image.words]))
    vectors = make_vectors(rng, image, 4)
    core.load(bad)
    first = core.run(Stimulus.steady(bad, vectors)).fault
    assert first > 0
    assert core.run(Stimulus.steady(bad, vectors)).fault == 0
    core.reset()
    assert core.run(Stimulus.steady(bad, vectors)).fault == first
    core.load(image)
    assert core.run(Stimulus.steady(image, vectors)).fault == -1


def test_self_check_of_many_runs_raises_nothing(bulk, make_vectors, rng, configs):
    # Cores of every ring, with and without the guard; reset and loading in between.
    for config, number in itertools.product((each for each in configs if each.check), range(4)):
        core = bulk(config)
        if number % 2:
            core.reset()
        image = assemble(random_program(rng, config, 5, outputs=2, reversible=True), config, self_check=True)
        core.load(image)
        stimulus = random_stimulus(rng, image, make_vectors(rng, image, 2000), stall=0.1 * number, early=0.1)
        record = core.run(stimulus, trace=False)
        assert (record.fault, len(record.results), record.results["fault"].any()) == (-1, image.emits * 2000, False)


def test_resets_and_loads_in_the_middle_of_runs(config, bulk, make_image, make_vectors, rng):
    for _ in range(3):
        image, other = (make_image(rng, config, int(rng.integers(1, 20)), outputs=2) for _ in range(2))
        vectors, after = (make_vectors(rng, each, 12) for each in (image, other))
        list(bulk(config).do([*reset_steps(rng, image, vectors), *load_steps(rng, image, other, vectors, after)]))


def test_a_reset_in_any_cycle(bulk, make_image, make_vectors, rng, configs):
    for config in (each for each in configs if each.guard):
        image = make_image(rng, config, 12)
        stimuli = [random_stimulus(rng, image, make_vectors(rng, image, 8), 0.2, 0.2, 0.2) for _ in range(2)]
        for cycles in range(0, 80, 2):
            list(
                bulk(config).do(
                    [LoadImage(image), RunStimulus(stimuli[0], cycles), ResetCore(), RunStimulus(stimuli[1])]
                )
            )


def test_what_is_cut_off_is_not_seen(bulk, make_image, make_vectors, rng, main_config):
    # By hand: a word is offered in every cycle, a batch is 4 vectors of 4 words, and starts in cycle 17.
    image = make_image(rng, main_config, 4)
    core = bulk(main_config)
    core.reset()
    core.load(image)
    stimulus = Stimulus.steady(image, make_vectors(rng, image, 8))
    for cycles, accepted, busy in ((0, 0, []), (1, 1, []), (17, 17, []), (18, 18, [17])):
        record = core.run(stimulus, cycles=cycles)
        core.reset()
        assert (record.accepted.tolist(), record.busy.tolist()) == (list(range(accepted)), busy)
        assert (len(record.results), len(record.trace)) == (0, 0)
    first = int(expect(stimulus).results["valid"][0])
    held = dataclasses.replace(stimulus, stalls=np.full(stimulus.results, 9))
    record = core.run(held, cycles=first + 1)
    assert record.results[["valid", "taken"]].tolist() == [(first, -1)]
    core.reset()


def test_a_flipped_register_bit_raises(rng, make_image, make_vectors, main_config):
    # A flip is noticed unless it hits a value that is replaced before anyone reads it; then nothing else changes.
    core = BulkCore(main_config, exposed=True)
    numbers = {element.name.strip(): number for number, element in enumerate(core.state.elements)}
    image = make_image(rng, main_config, 6, self_check=True)
    core.load(image)
    stimulus = Stimulus.steady(image, make_vectors(rng, image, 4))
    expected = expect(stimulus)
    first = expected.trace["cycle"][0]
    noticed = 0
    for _ in range(300):
        register = f"r{rng.integers(3)}_{rng.integers(4)}"
        cycle = int(rng.integers(first, expected.cycles - 4 * 4))
        core.flip(numbers[register], 0, int(rng.integers(16)), cycle)
        record = core.run(stimulus)
        if record.fault >= 0:
            noticed += 1
        else:
            assert first_divergence(stimulus, expected, record) is None
        core.reset()
    assert noticed > 200
    assert first_divergence(stimulus, expected, core.run(stimulus)) is None


@pytest.mark.parametrize(
    ("scope", "register"),
    [(".guard", "word_parity"), (".datapath.echo", "different"), (".results.memory", "data")],
)
def test_the_guard_marks_all_that_comes_after_a_finding(rng, make_image, make_vectors, main_config, scope, register):
    # What is found lasts a cycle; the mark stays, over batches and runs, until something is loaded.
    config = dataclasses.replace(main_config, check=True, guard=True)
    core = BulkCore(config, exposed=True)
    (number,) = (
        n
        for n, element in enumerate(core.state.elements)
        if element.scope.endswith(scope) and element.name.strip() == register
    )
    image = make_image(rng, config, 6, self_check=True)
    core.load(image)
    stimulus = Stimulus.steady(image, make_vectors(rng, image, 16))
    results = expect(stimulus).results
    # The first word of the second batch, when it leaves; three cycles before, when it retires, it is compared.
    place = len(results) // 4
    cycle = int(results["valid"][place])
    core.flip(number, 0, 0, cycle - 2 if scope == ".datapath.echo" else cycle)
    faults = core.run(stimulus).results["fault"]
    assert not faults[:place].any()
    assert faults[place + config.threads :].all()
    assert core.run(stimulus).results["fault"].all()
    core.load(image)
    assert not core.run(stimulus).results["fault"].any()
