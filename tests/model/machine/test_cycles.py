"""The cycle model: values against the golden run, cycles against a timetable worked out by hand."""

from dataclasses import replace
from time import process_time

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.machine.assemble import assemble
from skinny.model.machine.cycles import (
    batch_sizes,
    execute,
    overhead,
    results,
    retire_delay,
    retirements,
    start_cycle,
    timetable,
)
from skinny.model.machine.image import Waits
from skinny.model.machine.isa import CoreConfig, Op
from skinny.model.program.forms import Input
from skinny.model.program.program import Columns, Mode, Output, Program
from skinny.model.rings import Boolean, FixedPoint, Modular, PrimeField
from skinny.model.run import golden

RINGS = [Modular(8), Modular(32), FixedPoint(16, 8), FixedPoint(32, 20), PrimeField(31), PrimeField(97), Boolean()]


def random_elements(rng, ring, shape):
    if isinstance(ring, Boolean):
        low, top = 0, 2
    elif isinstance(ring, PrimeField):
        low, top = 0, ring.p
    else:
        low, top = -(1 << ring.bits - 1), 1 << ring.bits - 1
    return rng.integers(low, top, shape).astype(ring.element_dtype)


def two_words(threads, fifo=64):
    """``R0 += x·R1``, ``emit R0``; one input."""
    program = Program(3, ("x",), (), (Input(0),), Columns.of([0], [1], [1], [0]), (Output("y", 0, 1),))
    return assemble(program, CoreConfig.fit(program, Modular(8), threads=threads, fifo=fifo))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ring", RINGS, ids=repr)
@pytest.mark.parametrize("pure", [True, False])
def test_values_are_those_of_the_golden_run(random_program, ring, seed, pure):
    rng = np.random.default_rng(seed)
    options = {} if pure else {"modes": list(Mode) if ring.signed else [Mode.ADD, Mode.ASSIGN], "sums": True}
    program = random_program(
        rng, width=3 + seed, length=40, largest=1 if ring.bits == 1 else 5, restarts=seed > 0, **options
    )
    config = CoreConfig.fit(program, ring, slices=8)
    image = assemble(program, config)
    inputs = random_elements(rng, ring, (40, len(program.inputs)))
    ran = execute(image, config.pack(inputs))
    assert not ran.faults.any()
    op = config.decode(image.words)["op"]
    sent = config.unpack(ran.values[op == Op.EMIT].T, 40)
    assert (sent == golden.run(program, ring, inputs).outputs).all()
    # After each apply the golden trace shows the value in the register that was written.
    trace = golden.trace(program, ring, inputs)
    to_sum = config.decode(image.words)["dst"] == config.width
    applied = config.unpack(ran.values[np.isin(op, [1, 2, 3]) & ~to_sum].T, 40)
    steps = np.arange(len(program))
    assert (trace[steps + 1, :, program.code.dst[steps]] == applied.T).all()


def test_a_batch_cycle_by_cycle():
    """Two threads, three vectors: one full batch, one that ends early, from cycle 0, worked out by hand.

    Words are accepted in cycles 0, 1, 2. Batch 0 starts in 1 + 2 = 3, batch 1 when batch 0 has issued all four of its
    instructions, in 3 + 4 = 7. Instructions retire 2 + 4 = 6 cycles after issue, results are valid two cycles later.
    """
    image = two_words(threads=2)
    vectors = np.array([[5], [6], [7]], dtype=np.uint64)
    sizes = batch_sizes(3, 2)
    assert sizes == [2, 1]
    plan = timetable(image, sizes)
    assert plan.accepted.tolist() == [0, 1, 2]
    assert plan.starts.tolist() == [3, 7]
    ran = execute(image, vectors)
    retired = retirements(image, ran, plan.starts, sizes)
    columns = (retired.cycle, retired.vector, retired.thread, retired.pc, retired.op, retired.dst, retired.value)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == [
        (9, 0, 0, 0, 1, 0, 5),
        (10, 1, 1, 0, 1, 0, 6),
        (11, 0, 0, 1, 6, 0, 5),
        (12, 1, 1, 1, 6, 0, 6),
        (13, 2, 0, 0, 1, 0, 7),
        (15, 2, 0, 1, 6, 0, 7),
    ]
    words = results(image, ran, plan.starts, sizes)
    assert list(zip(*(column.tolist() for column in words), strict=True)) == [
        (11, 0, 1, 5, False, False),
        (12, 1, 1, 6, True, False),
        (15, 2, 1, 7, True, False),
    ]
    assert plan.valid.tolist() == [14, 15, 18]
    assert plan.taken.tolist() == [14, 15, 18]
    # The second batch takes the cycles of the thread without a vector, too: its last word retires in 7 + 3 + 6.
    assert plan.busy.tolist() == [3, 17]


def test_busy_falls_between_batches_that_come_late():
    # Words in cycles 0, 1, 12, 13: batches start in 3 and 15, an instruction is the last of its batch 3 + 6 cycles on.
    plan = timetable(two_words(threads=2), [2, 2], Waits(gaps=[0, 0, 10, 0]))
    assert plan.busy.tolist() == [3, 13, 15, 25]
    # A batch that starts when the one before has just retired leaves no gap.
    plan = timetable(two_words(threads=2), [2, 2], Waits(gaps=[0, 0, 8, 0]))
    assert (plan.starts.tolist(), plan.busy.tolist()) == ([3, 13], [3, 23])


@pytest.mark.parametrize(
    ("pauses", "loaded", "starts"),
    [
        ([2], [2], [4, 8]),  # while the first batch could start: a cycle later, and the second follows without a gap
        ([3], [13], [3, 18]),  # too late for that; taken when the first retired, whose last result is taken in cycle 15
        ([6], [13], [3, 18]),  # the last cycle that holds back the second batch
        ([7], [17], [3, 7]),
        ([0, 0, 5], [0, 1, 17], [3, 7]),
        ([0, 1, 0], [0, 2, 3], [5, 9]),
        ([6, 0, 9], [13, 14, 28], [3, 18]),  # results have to be taken, then the next batch runs
    ],
)
def test_no_batch_starts_while_something_is_offered_at_load(pauses, loaded, starts):
    """Worked out by hand from docs/isa.md, two batches as above."""
    plan = timetable(two_words(threads=2), [2, 2], Waits(pauses=pauses))
    assert (plan.loaded.tolist(), plan.starts.tolist()) == (loaded, starts)


@pytest.mark.parametrize("threads", [1, 2, 4, 16])
def test_the_constant(threads):
    image = two_words(threads)
    plan = timetable(image, [threads], begin=100)
    assert retire_delay(image.config) == threads + 4
    assert overhead(image.config) == threads + 8
    assert plan.valid[-1] - plan.accepted[-1] == len(image) * threads + threads + 8


def test_batches_follow_without_a_gap_until_inputs_or_room_are_missing():
    image = two_words(threads=4)
    assert np.diff(timetable(image, [4] * 10).starts).tolist() == [8] * 9
    # A sink that holds the first result for 100 cycles: seven batches fit the counter, the eighth waits for the first.
    plan = timetable(image, [4] * 10, Waits(stalls=[100] + [0] * 39))
    assert image.batches == 7
    assert np.diff(plan.starts).tolist()[:6] == [8] * 6
    assert plan.starts[7] == plan.taken[3] + 3
    # A slow source: a batch starts two cycles after its last word.
    plan = timetable(image, [4] * 3, Waits(gaps=[9] * 12))
    assert plan.starts.tolist() == (plan.accepted[3::4] + 2).tolist()


def test_the_start_rule():
    image = two_words(threads=4)
    assert start_cycle(image, 10) == 12
    assert start_cycle(image, 10, before=9) == 17
    assert start_cycle(image, 10, before=9, taken=30) == 33


def test_check_faults_where_a_register_differs_and_stains_what_follows(random_program):
    rng = np.random.default_rng(7)
    ring = FixedPoint(16, 8)
    program = random_program(rng, length=25, denominators=(1, 2, 3))
    config = CoreConfig.fit(program, ring, depth=512)
    image = assemble(program, config, self_check=True)
    vectors = config.pack(random_elements(rng, ring, (200, len(program.inputs))))
    assert not execute(image, vectors).faults.any()
    # A step of the inverse that is lost: the last word before the check gets the wrong sign.
    image.words[-3] ^= np.uint64(config.encode(Op.NONE, neg=1))
    ran = execute(image, vectors)
    assert not np.delete(ran.faults, -2, axis=0).any()
    assert ran.faults[-2].mean() > 0.9
    # The status word, which comes last, tells of it.
    status = results(image, ran, [0], [200])
    assert np.array_equal(status.fault[-200:], ran.faults[-2])
    assert not status.fault[:-200].any()


def test_malformed_words_fault_write_nothing_and_stain_the_results():
    image = two_words(threads=2)
    image.words[0] = 0
    ran = execute(image, np.array([[5], [6]], dtype=np.uint64))
    assert ran.values.tolist() == [[0, 0], [0, 0]]
    assert ran.faults.tolist() == [[True, True], [False, False]]
    assert results(image, ran, [0], [2]).fault.tolist() == [True, True]


def test_wrong_shapes_are_refused():
    with pytest.raises(InputError, match=r"^the vectors must have the shape \(vectors, 1\), not \(3, 2\)$"):
        execute(two_words(2), np.zeros((3, 2), dtype=np.uint64))


def test_a_hundred_thousand_cycles_take_no_time():
    config = CoreConfig(Modular(16), depth=1024, inputs=1, weights=1)
    program = Program(
        3,
        ("x",),
        (),
        (Input(0),),
        Columns.of(*(np.tile(c, 250) for c in ([0, 2], [1, 0], [1, -1], [0, 0]))),
        (Output("y", 0, 500),),
    )
    image = assemble(program, config)
    vectors = np.arange(200, dtype=np.uint64)[:, None]
    before = process_time()
    plan = timetable(image, [4] * 50)
    retired = retirements(image, execute(image, vectors), plan.starts, [4] * 50)
    assert len(retired.cycle) == 501 * 200
    assert process_time() - before < 1


@pytest.mark.parametrize("count", [1, 2, 5])
def test_the_number_of_the_largest_is_sent_a_cycle_later(random_program, count):
    rng = np.random.default_rng(count)
    program = random_program(rng, length=20)
    sent = tuple(
        Output(f"y{n}", int(rng.integers(3)), int(at)) for n, at in enumerate(sorted(rng.integers(0, 21, count)))
    )
    program = replace(program, outputs=sent)
    inputs = random_elements(rng, Modular(8), (40, len(program.inputs)))
    rows = golden.run(program, Modular(8), inputs).outputs.tolist()
    numbers = [int(row[0] > 0) if count == 1 else row.index(max(row)) for row in rows]
    chosen = replace(program, argmax="best")
    config = CoreConfig.fit(chosen, Modular(8))
    image = assemble(chosen, config)
    sizes = batch_sizes(40, 4)
    found = results(image, execute(image, config.pack(inputs)), timetable(image, sizes).starts, sizes)
    assert found.data.tolist() == numbers
    assert found.last.tolist() == [False, False, False, True] * 10
    plain = two_words(4)
    assert overhead(config) == overhead(plain.config) + 1 == 4 + 9
    when = timetable(image, [4])
    (address,) = image.emit_steps
    assert when.valid[0] - when.starts[0] == address * 4 + retire_delay(config) + 4
