"""The combiner alone against the golden one."""

import numpy as np
import pytest
from skinny.hdl.parallel.combiner import Combiner
from skinny.model.machine.cycles import hardware_words, packed_words
from skinny.model.machine.isa import CoreConfig
from skinny.model.parallel.combine import combine_column
from skinny.model.parallel.lane_cycles import combine_stages
from skinny.model.parallel.segments import EngineConfig
from skinny.model.rings import Boolean, FixedPoint, Modular, PrimeField

SMALL = {"depth": 32, "inputs": 4, "weights": 4, "check": False, "fifo": 64}
RINGS = [Modular(16), FixedPoint(16, 8), FixedPoint(12, 11), PrimeField(8191), PrimeField(251), Boolean()]


@pytest.mark.parametrize("ring", RINGS, ids=repr)
@pytest.mark.parametrize("threads", [3, 7])
def test_columns(bench, ring, threads):
    """Two lanes: lane 0 sends an output and its registers; lane 1 two columns that are combined and one that is copied,
    a word now and then late. A fault sticks to its vector."""
    config = EngineConfig(CoreConfig(ring, threads=threads, **SMALL), 2)
    core, width, vectors = config.core, config.core.width, config.vectors
    rng = np.random.default_rng(threads)

    first, columns = (bench.random_words(rng, core, shape) for shape in ((1 + width, vectors), (3, vectors, width)))
    faulty = vectors - 1
    expected = [(value, 0, 0) for value in first[0].tolist()]
    for number, column in enumerate(columns):
        for v in range(vectors):
            value = int(column[v, 0])
            if number < 2:
                state, entries = (packed_words(core, words[:, None]) for words in (first[1:, v], column[v]))
                value = int(hardware_words(core, combine_column(ring, state, entries, config.unit[1])[None])[0, 0])
            expected.append((value, int(number == 2 and v == vectors - 1), int(v == faulty and number > 0)))
    sent = [
        [(int(w), n == width and v == vectors - 1, 0) for n, row in enumerate(first) for v, w in enumerate(row)],
        [
            (int(w), (n, v, t) == (2, vectors - 1, width - 1), (n, v, t) == (1, faulty, 0))
            for n, rows in enumerate(columns)
            for v, row in enumerate(rows)
            for t, w in enumerate(row)
        ],
    ]
    found = []
    dut = Combiner(config)

    async def drive(ctx):
        ctx.set(dut.count, vectors - 1)
        for port, values in ((dut.sent, (1, 3)), (dut.combined, (0, 2))):
            for n, value in enumerate(values):
                ctx.set(port[n], value)
        for cycle in range(400):
            ctx.set(dut.room, cycle >= 5)
            for lane, queue in enumerate(sent):
                offered = bool(queue) and rng.random() < 0.7
                ctx.set(dut.lanes[lane].valid, offered)
                if offered:
                    data, last, fault = queue[0]
                    ctx.set(dut.lanes[lane].payload, {"data": data, "last": last, "fault": fault})
            for lane, queue in enumerate(sent):
                if ctx.get(dut.lanes[lane].ready):
                    assert cycle >= 5
                    queue.pop(0)
            if ctx.get(dut.push):
                found.append(tuple(ctx.get(dut.word[name]) for name in ("data", "last", "fault")))
            await ctx.tick()
            if not any(sent) and not ctx.get(dut.live):
                break

    bench.simulate(dut, drive)
    assert found == expected


def test_stages_grow_with_the_threads():
    assert [combine_stages(CoreConfig(Modular(16), threads=t)) for t in (3, 4, 5, 16)] == [2, 3, 4, 4]
