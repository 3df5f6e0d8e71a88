"""The core in Amaranth's simulator: every retirement, result and handshake in the cycle the model says."""

import dataclasses
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from amaranth.back import verilog
from amaranth.hdl import ClockDomain, Module, Signal
from amaranth.sim import Simulator
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from skinny.hdl.core.core import Core
from skinny.model.machine.assemble import assemble
from skinny.model.machine.cycles import batch_sizes, execute, overhead, results, retirements, timetable
from skinny.model.machine.image import Waits
from skinny.model.machine.isa import CoreConfig, Op, Setting, Space
from skinny.model.program.forms import Input, Linear, Weight
from skinny.model.program.program import Columns, Output, Program
from skinny.model.rings import Boolean, FixedPoint, Modular, PrimeField
from skinny.model.run import golden
from skinny.sim.check.scenarios import load_steps, reset_steps
from skinny.sim.check.steps import ResetCore, RunStimulus
from skinny.sim.check.stimulus import Stimulus, random_stimulus
from skinny.sim.simulators import amaranth as amaranth_simulator

RINGS = [
    Modular(1),
    Modular(16),
    Modular(32),
    FixedPoint(16, 8),
    FixedPoint(32, 31),
    PrimeField(2),
    PrimeField(31),
    PrimeField(97),
    PrimeField(2**31 - 1),
    Boolean(),
]
THREADS = [1, 2, 3, 4, 6]
#: Widths and units go round, so that each meets every ring and every number of threads.
SIZES = list(product([3, 4, 8], [True, False]))


def expect_equal(image, vectors, sizes, record, job):
    """Everything that was recorded is what the cycle model says."""
    ran = execute(image, vectors)
    plan = timetable(image, sizes, Waits(job.gaps, job.stalls))
    assert record.accepted == plan.accepted.tolist()
    retired = retirements(image, ran, plan.starts, sizes)
    columns = (retired.cycle, retired.thread, retired.pc, retired.op, retired.dst, retired.value, retired.fault)
    expected = list(zip(*(column.tolist() for column in columns), strict=True))
    for got, wanted in zip(record.retired, expected, strict=False):
        assert got == wanted, image.describe(wanted[2])
    assert len(record.retired) == len(expected)
    words = results(image, ran, plan.starts, sizes)
    assert record.results == list(zip(words.data.tolist(), words.last.tolist(), words.fault.tolist(), strict=True))
    assert record.valid == plan.valid.tolist()
    assert record.taken == plan.taken.tolist()
    assert record.fault == bool(retired.fault.any())


def check_core(rng, image, vectors, waits, steps=()):
    """Every cycle of a run is as the model says, then every cycle of the ``steps``."""
    stimulus = random_stimulus(rng, image, vectors, 0.6, 0.8, 0.2) if waits else Stimulus.steady(image, vectors)
    amaranth_simulator.run_steps(Core(image.config, image), [ResetCore(), RunStimulus(stimulus), *steps])


def without_checks(image):
    words = image.words[image.config.decode(image.words)["op"] != Op.CHECK]
    return dataclasses.replace(image, words=words, instructions=np.full(len(words), -1))


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("ring", RINGS, ids=repr)
def test_random_words_run_as_the_model_says(bench, ring, threads):
    number = RINGS.index(ring) * len(THREADS) + THREADS.index(threads)
    rng = np.random.default_rng(number)
    width, attention = SIZES[number % len(SIZES)]
    check = bool(number % 4)
    config = CoreConfig(ring, width, threads, 64, 5, 6, attention, check, fifo=8 * 1 << threads.bit_length(), slices=7)
    image = bench.random_image(rng, config, 24)
    vectors = bench.random_words(rng, config, (3 * threads + (threads + 1) // 2, config.inputs))
    # Loading would make good what a check finds.
    before, after = (without_checks(bench.random_image(rng, config, length)) for length in (5, 8))
    few = vectors[: 2 * threads]
    steps = [*reset_steps(rng, before, few), *load_steps(rng, before, after, few, few)]
    check_core(rng, image, vectors, True, [ResetCore(), RunStimulus(Stimulus.steady(image, vectors)), *steps])


NETWORKS = [
    (FixedPoint(16, 8), 3, 4, {"assign": True, "sums": True, "relu": True, "argmax": 32}),
    (Modular(7), 4, 5, {"assign": True, "relu": True, "argmax": 32, "attention": False}),
    (FixedPoint(9, 8), 4, 2, {"assign": True, "sums": True, "relu": True, "guard": True}),
    (Modular(8), 5, 1, {"assign": True, "sums": True, "relu": True}),
    (PrimeField(31), 3, 3, {"sums": True}),
    (Boolean(), 4, 2, {"assign": True, "sums": True}),
    (FixedPoint(12, 3), 8, 6, {"argmax": 32, "guard": True}),
]


@pytest.mark.parametrize(("ring", "width", "threads", "units"), NETWORKS)
@pytest.mark.parametrize("malformed", [False, True])
def test_random_words_of_other_units_run_as_the_model_says(bench, ring, width, threads, units, malformed):
    rng = np.random.default_rng(width + threads)
    config = CoreConfig(ring, width, threads, 128, 5, 6, fifo=128, slices=7, **units)
    image = bench.random_image(rng, config, 80, malformed)
    check_core(rng, image, bench.random_words(rng, config, (3 * threads + 1, config.inputs)), True)


@pytest.mark.parametrize(("threads", "length"), [(1, 1), (1, 2), (2, 1), (1, 3), (3, 1)])
def test_programs_shorter_than_the_pipeline_run_each_batch_once(bench, threads, length):
    config = CoreConfig(Modular(8), threads=threads, inputs=1, weights=1)
    words = [config.encode(Op.APPLY_X, dst=0, src=1)] * (length - 1) + [config.encode(Op.EMIT, neg=1)]
    image = bench.image_of(config, words, [], [7, 1, 0], 1)
    check_core(np.random.default_rng(0), image, np.arange(6 * threads, dtype=np.uint64)[:, None], False)


@pytest.mark.parametrize(("width", "threads"), [(16, 16), (3, 5), (5, 7)])
def test_large_and_odd_cores(bench, width, threads):
    rng = np.random.default_rng(width)
    config = CoreConfig(FixedPoint(12, 5), width, threads, 100, 3, 4, fifo=128)
    image = bench.random_image(rng, config, 40)
    check_core(rng, image, bench.random_words(rng, config, (2 * threads + 1, 3)), True)


@pytest.mark.parametrize("threads", [1, 3, 4])
@pytest.mark.parametrize("attention", [True, False])
def test_malformed_words_fault_and_change_nothing(bench, threads, attention):
    # Sizes that are no powers of two, so that every field can be past its end.
    rng = np.random.default_rng(threads)
    config = CoreConfig(Modular(8), 3, threads, 256, 5, 6, attention, check=attention, fifo=256)
    image = bench.random_image(rng, config, 160, malformed=True)
    assert image.config.malformed(image.words).sum() > 40
    check_core(rng, image, bench.random_words(rng, config, (threads + 1, 5)), False)


MALFORMED = {
    "unknown operation": {"op": Op.NONE, "dst": 0, "src": 1},
    "dst past the end": {"op": Op.APPLY_X, "dst": 3, "src": 1},
    "src past the end": {"op": Op.APPLY_W, "dst": 0, "src": 3},
    "dst = src": {"op": Op.APPLY_S, "dst": 1, "src": 1},
    "input past the end": {"op": Op.APPLY_X, "dst": 0, "src": 1, "u": 5},
    "weight past the end": {"op": Op.APPLY_W, "dst": 0, "src": 1, "k": 6},
    "attended input past the end": {"op": Op.ATTEND, "u": 7, "flag": 1},
    "attended weight past the end": {"op": Op.ATTEND, "k": 6, "flag": 1},
    "bias past the end": {"op": Op.BIAS, "k": 7, "flag": 1},
    "emitted register past the end": {"op": Op.EMIT, "dst": 3, "flag": 1},
}


@pytest.mark.parametrize("case", MALFORMED)
def test_each_malformed_word(bench, case):
    """Registers and accumulator are dumped before and after; the word changes none and raises ``fault`` once."""
    config = CoreConfig(Modular(16), 3, 2, 64, 5, 6)
    dump = [config.encode(Op.EMIT, dst=r) for r in range(3)]
    prepare = [config.encode(Op.ATTEND, k=1, u=2, flag=1), config.encode(Op.APPLY_W, dst=2, src=1, k=3)]
    sum_to_0 = config.encode(Op.APPLY_S, dst=0, src=1)
    last = config.encode(Op.EMIT, dst=0, neg=1)
    bad = config.encode(**MALFORMED[case])
    image = bench.image_of(config, [*prepare, *dump, bad, *dump, sum_to_0, last], [1, 2, 3, 4, 5, 6], [7, 1, 9], 5)
    vectors = np.arange(10, dtype=np.uint64).reshape(2, 5) + np.uint64(20)
    emits = 14 + 2 * (MALFORMED[case]["op"] == Op.EMIT)
    (record,) = bench.run_jobs(Core(config, image), bench.Job(bench.stream_of(vectors, [2]), emits))
    by_thread = [[r for r in record.results[t::2] if not (r[0] == 0 and emits > 14)] for t in range(2)]
    for x, rows in zip(vectors.tolist(), by_thread, strict=True):
        state = [7, 1, 9 + 4]
        assert [data for data, _, _ in rows] == [*state, *state, 7 + 2 * x[2]]
        assert [fault for _, _, fault in rows] == [0] * 3 + [1] * 4
    assert [(pc, fault) for _, _, pc, _, _, _, fault in record.retired if fault] == [(5, 1), (5, 1)]
    assert record.fault


def cubic() -> Program:
    """y = (a + 2b + 1)^2 · a in four instructions and an attention form; z = the form, after a restart."""
    forms = (Linear(((0, 0), (1, 1)), 0), Input(0), Weight(0))
    code = Columns.of([2, 2, 0, 0, 2], [1, 1, 2, 1, 1], [1, -1, 1, 1, 1], [0, 2, 1, 2, 0])
    return Program(
        width=3,
        inputs=("a", "b"),
        weights=(Fraction(1), Fraction(2)),
        forms=forms,
        code=code,
        outputs=(Output("y", 0, 3), Output("z", 2, 3, True), Output("t", 2, 5)),
    )


@pytest.mark.parametrize("ring", [Modular(16), FixedPoint(16, 4), PrimeField(8191), PrimeField(251)], ids=repr)
def test_results_are_those_of_the_golden_run(bench, ring):
    program = cubic()
    config = CoreConfig.fit(program, ring)
    image = assemble(program, config)
    inputs = ring.encode_all([[a, b] for a in range(-3, 4) for b in range(-2, 3)])
    vectors = config.pack(inputs)
    job = bench.Job(bench.stream_of(vectors, batch_sizes(35, 4)), 35 * 3)
    (record,) = bench.run_jobs(Core(config, image, rom=True), job)
    got = np.zeros((35, 3), dtype=np.uint64)
    data = iter(record.results)
    for first in range(0, 35, 4):
        for output in range(3):
            for vector in range(first, min(first + 4, 35)):
                got[vector, output] = next(data)[0]
    assert config.unpack(got, 35).tolist() == golden.run(program, ring, inputs).outputs.tolist()
    expect_equal(image, vectors, batch_sizes(35, 4), record, job)


def test_all_input_pairs_of_a_four_bit_ring(bench):
    ring = Modular(4)
    program = cubic()
    config = CoreConfig.fit(program, ring, threads=3)
    image = assemble(program, config)
    inputs = ring.encode_all(np.array(list(product(range(16), repeat=2))))
    vectors = config.pack(inputs)
    sizes = batch_sizes(256, 3)
    job = bench.Job(bench.stream_of(vectors, sizes), 256 * 3)
    (record,) = bench.run_jobs(Core(config, image), job)
    expect_equal(image, vectors, sizes, record, job)
    wanted = golden.run(program, ring, inputs).outputs
    emits = config.decode(image.words)["op"] == Op.EMIT
    assert (config.unpack(execute(image, vectors).values[emits].T, 256) == wanted).all()


def test_self_check_passes_and_notices_a_lost_step(bench):
    ring = FixedPoint(16, 8)
    program = cubic().parts()[0]
    config = CoreConfig.fit(program, ring, threads=2, depth=64)
    rng = np.random.default_rng(5)
    vectors = bench.random_words(rng, config, (4, 2))
    image = assemble(program, config, self_check=True)
    job = bench.Job(bench.stream_of(vectors, [2, 2]), 12)
    assert not bench.run_jobs(Core(config, image), job)[0].fault
    image.words[-3] ^= np.uint64(config.encode(Op.NONE, neg=1))
    (record,) = bench.run_jobs(Core(config, image), job)
    assert record.fault
    assert {pc for _, _, pc, _, _, _, fault in record.retired if fault} == {len(image) - 2}


def test_hundred_batches_keep_the_multiplier_busy(bench):
    """At least 99 % of all cycles of 100 batches multiply, and a batch takes exactly l·T cycles."""
    rng = np.random.default_rng(0)
    config = CoreConfig(Modular(16), inputs=8, weights=8)
    words = [config.encode(Op.APPLY_X, dst=n % 3, src=(n + 1) % 3, u=n % 8) for n in range(200)]
    image = bench.image_of(config, [*words, config.encode(Op.EMIT, neg=1)], [0] * 8, [0, 1, 0], 8)
    core = Core(config, image)
    stream = bench.stream_of(bench.random_words(rng, config, (400, 8)), [4] * 100)
    m = Module()
    m.submodules.core = core
    cycle, worked, finished = Signal(20), Signal(20), Signal(8)
    work = core.retire.valid & (core.retire.op >= Op.APPLY_X) & (core.retire.op <= Op.BIAS)
    m.d.sync += [cycle.eq(cycle + 1), worked.eq(worked + work)]
    m.d.sync += finished.eq(finished + (core.o.valid & core.o.payload.last))
    seen = []

    async def drive(ctx):
        ctx.set(core.i.valid, 1)
        for data, _ in stream:
            ctx.set(core.i.payload, {"data": data, "last": 0})
            await ctx.tick().until(core.i.ready)
        ctx.set(core.i.valid, 0)

    async def watch(ctx):
        ctx.set(core.o.ready, 1)
        for batch in range(100):
            await ctx.tick().until(finished == batch)
            seen.append((ctx.get(cycle), ctx.get(worked)))

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(drive)
    simulator.add_testbench(watch)
    simulator.run()
    cycles, multiplications = np.diff(np.array(seen), axis=0).T
    assert set(cycles[1:].tolist()) == {201 * 4}
    assert set(multiplications[1:].tolist()) == {200 * 4}
    assert multiplications[1:].sum() / cycles[1:].sum() >= 0.99


@pytest.mark.parametrize("threads", [1, 4])
def test_latency_of_one_batch_is_the_published_constant(bench, threads):
    config = CoreConfig(Modular(8), threads=threads, inputs=2, weights=2)
    words = [config.encode(Op.APPLY_X, dst=0, src=1)] * 9 + [config.encode(Op.EMIT, neg=1)]
    image = bench.image_of(config, words, [], [0, 1, 0], 2)
    vectors = np.ones((threads, 2), dtype=np.uint64)
    (record,) = bench.run_jobs(Core(config, image), bench.Job(bench.stream_of(vectors, [threads]), threads))
    assert record.valid[-1] - record.accepted[-1] == 10 * threads + overhead(config)
    assert overhead(config) == threads + 8


def test_many_programs_over_the_load_port(bench):
    """A core without initial contents runs program after program, in one simulation."""
    rng = np.random.default_rng(9)
    config = CoreConfig(FixedPoint(16, 8), 4, 3, 32, 3, 4)
    jobs, images, inputs = [], [], []
    for _ in range(100):
        image = bench.random_image(rng, config, int(rng.integers(1, 16)))
        vectors = bench.random_words(rng, config, (4, 3))
        job = bench.Job(bench.stream_of(vectors, [3, 1]), 4 * len(image.outputs), loads=list(image.loads()))
        jobs.append(job)
        images.append(image)
        inputs.append(vectors)
    records = bench.run_jobs(Core(config), *jobs)
    for image, vectors, job, record in zip(images, inputs, jobs, records, strict=True):
        expect_equal(image, vectors, [3, 1], record, job)


@pytest.mark.parametrize("offered", [3, 20, 44, 45, 60])
def test_load_waits_while_busy_and_holds_back_the_next_batch(bench, offered):
    """Two batches of two vectors. A weight is offered when the first batch starts, in the middle of it, in the last
    cycle in which that holds back the second, and later."""
    config = CoreConfig(Modular(8), threads=2, inputs=1, weights=1)
    words = [config.encode(Op.APPLY_W, dst=0, src=1)] * 20 + [config.encode(Op.EMIT, neg=1)]
    image = bench.image_of(config, words, [1], [0, 1, 0], 1)
    core = Core(config, image)
    # By hand. The words come in cycles 0 … 3, so the first batch starts in cycle 3 and the second 42 cycles later, if
    # nothing holds it back. Of one that starts in cycle t the last instruction retires in cycle t + 47, and the last
    # result is taken three cycles later; if something was written before that, the next batch starts three cycles on.
    held = offered < 3 + 42
    second = 3 + 47 + 3 + 3 if held else 3 + 42
    taken = 3 + 48 if held else second + 48
    busy = {*range(3, 3 + 48), *range(second, second + 48)}
    seen, moved = [], []

    async def drive(ctx):
        ctx.set(core.o.ready, 1)
        ctx.set(core.load.payload, {"space": Space.WEIGHTS, "address": 0, "data": 3})
        for cycle in range(160):
            ctx.set(core.i.valid, cycle < 4)
            ctx.set(core.load.valid, cycle >= offered and not moved)
            assert ctx.get(core.busy) == (cycle in busy)
            assert ctx.get(core.load.ready) == (cycle not in busy)
            if ctx.get(core.load.valid) and ctx.get(core.load.ready):
                moved.append(cycle)
            if ctx.get(core.o.valid):
                seen.append(ctx.get(core.o.payload.data))
            await ctx.tick()

    bench.simulate(core, drive)
    assert moved == [taken]
    # The first batch ran with the old weight, the second, if it was held back, with the new one.
    assert seen == [20, 20, *([60, 60] if held else [20, 20])]


@st.composite
def word_lists(draw, config):
    """Up to twenty words of any bits, the emit of the last output after them."""
    words = draw(st.lists(st.integers(0, (1 << config.word_bits) - 1), max_size=20))
    emits = [word for word in words if word & 7 == Op.EMIT]
    kept = [word for word in words if word & 7 != Op.EMIT or emits.index(word) < 10]
    mark = config.encode(Op.NONE, neg=1)
    kept = [word & ~mark if word & 7 == Op.EMIT else word for word in kept]
    return [*kept, config.encode(Op.EMIT, dst=draw(st.integers(0, 2)), neg=1)]


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_words_on_any_inputs(bench, data):
    """Hypothesis chooses ring, threads, words and inputs, so that what fails is small."""
    ring = data.draw(st.sampled_from([Modular(4), FixedPoint(5, 2), PrimeField(5), PrimeField(7), Boolean()]))
    threads = data.draw(st.sampled_from([1, 2, 3, 4, 6]))
    config = CoreConfig(ring, 3, threads, 32, 2, 3, data.draw(st.booleans()), data.draw(st.booleans()), 256, 4)
    element = st.integers(0, (ring.p if isinstance(ring, PrimeField) else 1 << config.bits) - 1)
    words = data.draw(word_lists(config))
    weights, start = (
        data.draw(st.lists(element, min_size=3, max_size=3)),
        data.draw(st.lists(element, min_size=3, max_size=3)),
    )
    image = bench.image_of(config, words, weights, start, 2)
    rows = data.draw(st.lists(st.tuples(element, element), min_size=1, max_size=2 * threads))
    check_core(np.random.default_rng(len(rows)), image, np.array(rows, dtype=np.uint64), data.draw(st.booleans()))


def test_reset_keeps_what_was_loaded_and_drops_what_runs(bench):
    rng = np.random.default_rng(3)
    config = CoreConfig(Modular(16), threads=4, depth=32, inputs=2, weights=4)
    image = bench.random_image(rng, config, 12)
    vectors = bench.random_words(rng, config, (5, 2))
    core = Core(config)
    m = Module()
    m.submodules.core = core
    m.domains.sync = domain = ClockDomain()
    job = bench.Job(bench.stream_of(vectors, [4, 1]), 5 * len(image.outputs))
    records = []

    async def drive(ctx):
        await bench.send_loads(ctx, core, image.loads())
        ctx.set(core.i.valid, 1)
        await ctx.tick().repeat(17)
        ctx.set(core.i.valid, 0)
        assert ctx.get(core.busy)
        ctx.set(domain.rst, 1)
        await ctx.tick()
        ctx.set(domain.rst, 0)
        assert not ctx.get(core.busy)
        records.append(await bench.run_job(ctx, core, job))

    bench.simulate(m, drive)
    expect_equal(image, vectors, [4, 1], records[0], job)


def test_fault_stays_until_something_is_loaded(bench):
    config = CoreConfig(Modular(8), threads=1, inputs=1, weights=1)
    image = bench.image_of(config, [0, config.encode(Op.EMIT, neg=1)], [], [0, 1, 0], 1)
    fine = (Space.PROGRAM, 0, config.encode(Op.APPLY_X, dst=0, src=1))
    jobs = [bench.Job([(5, False)], 1), bench.Job([(6, False)], 1), bench.Job([(7, False)], 1, loads=[fine])]
    records = bench.run_jobs(Core(config, image), *jobs)
    assert [record.fault for record in records] == [True, True, False]
    assert [record.results for record in records] == [[(0, 1, 1)], [(0, 1, 1)], [(7, 1, 0)]]


def test_a_program_without_a_last_result_does_not_hang_the_core(bench):
    config = CoreConfig(Modular(8), threads=2, inputs=1, weights=1, fifo=4)
    image = bench.image_of(config, [config.encode(Op.EMIT, dst=1)], [], [0, 1, 0], 1)
    assert image.settings[Setting.BATCHES] == 2
    words = bench.stream_of(np.zeros((20, 1), dtype=np.uint64), [2] * 10)
    (record,) = bench.run_jobs(Core(config, image), bench.Job(words, 20))
    assert record.results == [(1, 0, 0)] * 20


def test_last_inside_a_vector_means_nothing(bench):
    config = CoreConfig(Modular(8), threads=2, inputs=2, weights=1)
    words = [config.encode(Op.APPLY_X, dst=0, src=1, u=1), config.encode(Op.EMIT, neg=1)]
    image = bench.image_of(config, words, [], [0, 1, 0], 2)
    (record,) = bench.run_jobs(Core(config, image), bench.Job([(1, True), (2, False), (3, True), (4, True)], 2))
    assert record.results == [(2, 0, 0), (4, 1, 0)]


def test_a_core_with_rom_has_no_load_port(bench):
    config = CoreConfig(Modular(8), depth=4, weights=2, inputs=2)
    image = bench.image_of(config, [config.encode(Op.EMIT)], [1, 2], [0, 1, 0], 1)
    assert "load__" not in verilog.convert(Core(config, image, rom=True))
    assert "load__" in verilog.convert(Core(config, image))


def test_verilog_does_not_change_from_run_to_run():
    config = CoreConfig(FixedPoint(16, 8))
    assert verilog.convert(Core(config)) == verilog.convert(Core(config))
