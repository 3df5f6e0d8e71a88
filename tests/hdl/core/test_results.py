"""The result FIFO: order, latency and a full memory."""

import numpy as np
import pytest
from amaranth.sim import Simulator
from skinny.hdl.core.results import ResultFIFO
from skinny.model.machine.isa import CoreConfig
from skinny.model.rings import Modular


@pytest.mark.parametrize("seed", range(3))
def test_words_come_out_in_order_three_cycles_later_at_the_earliest(seed):
    rng = np.random.default_rng(seed)
    fifo = ResultFIFO(CoreConfig(Modular(8), threads=2, fifo=8))
    pushed, got, valid = [], [], []
    ended = 0

    async def bench(ctx):
        nonlocal ended
        for cycle in range(600):
            # As many as the memory has words may wait; for a while nothing is taken.
            push = len(pushed) - len(got) < 8 and rng.random() < 0.6
            ready = cycle % 100 > 40 and rng.random() < 0.7
            ctx.set(fifo.push, push)
            ctx.set(fifo.o.ready, ready)
            assert ctx.get(fifo.empty) <= (len(pushed) == len(got))
            if ctx.get(fifo.o.valid) and len(valid) == len(got):
                valid.append(cycle)
            if ctx.get(fifo.o.valid) and ready:
                word = fifo.o.payload
                got.append((cycle, ctx.get(word.data), ctx.get(word.last)))
                assert ctx.get(fifo.taken) == ended
                ended = got[-1][2]
            else:
                assert ctx.get(fifo.taken) == ended
                ended = 0
            if push:
                word = (int(rng.integers(256)), int(rng.integers(2)))
                ctx.set(fifo.word, {"data": word[0], "last": word[1], "fault": 0})
                pushed.append((cycle, *word))
            await ctx.tick()

    simulator = Simulator(fifo)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert len(got) > 100
    assert [word[1:] for word in got] == [word[1:] for word in pushed[: len(got)]]
    taken = [-1, *(word[0] for word in got)]
    assert valid == [max(pushed[n][0] + 3, taken[n] + 1) for n in range(len(valid))]


def test_the_fifo_marks_what_comes_after_an_alarm(bench):
    fifo = ResultFIFO(CoreConfig(Modular(8), threads=2, fifo=8, guard=True))

    async def drive(ctx):
        ctx.set(fifo.push, 1)
        await ctx.tick().repeat(3)
        assert (ctx.get(fifo.o.valid), ctx.get(fifo.o.p.fault), ctx.get(fifo.mismatch)) == (1, 0, 0)
        ctx.set(fifo.alarm, 1)
        assert (ctx.get(fifo.o.p.fault), ctx.get(fifo.mismatch)) == (1, 0)

    bench.simulate(fifo, drive)
