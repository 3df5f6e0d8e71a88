"""Loading while results of an earlier program wait: none of them is lost, whatever the two programs send."""

import numpy as np
import pytest
from skinny.hdl.core.core import Core
from skinny.model.machine.isa import CoreConfig, Op
from skinny.model.rings import Modular


def image_with(bench, config, outputs):
    """A program that sends its input ``outputs`` times."""
    words = [config.encode(Op.APPLY_X, dst=0, src=1), *[config.encode(Op.EMIT)] * (outputs - 1)]
    return bench.image_of(config, [*words, config.encode(Op.EMIT, neg=1)], [0], [0, 1, 0], 1)


@pytest.mark.parametrize("outputs", [(1, 2), (2, 1), (1, 4), (4, 1)])
@pytest.mark.parametrize("threads", [1, 4])
def test_results_of_the_program_before_are_never_overwritten(bench, threads, outputs):
    """As many batches as the FIFO has room for wait when the other program comes, and its vectors are there already."""
    config = CoreConfig(Modular(8), threads=threads, depth=8, inputs=1, weights=1, fifo=4 * threads)
    before, after = (image_with(bench, config, count) for count in outputs)
    core = Core(config)
    first = np.arange(before.batches * threads) + 1
    second = np.arange(2 * threads) + 101
    got = []

    async def drive(ctx):
        await bench.send_loads(ctx, core, before.loads())

        async def offer(words):
            ctx.set(core.i.valid, 1)
            for word in words.tolist():
                ctx.set(core.i.payload, {"data": word, "last": 0})
                await ctx.tick().until(core.i.ready)
            ctx.set(core.i.valid, 0)

        await offer(first)
        await ctx.tick().repeat(30 * threads)
        assert not ctx.get(core.busy)
        await bench.send_loads(ctx, core, after.loads())
        await offer(second)
        await ctx.tick().repeat(30 * threads)
        ctx.set(core.o.ready, 1)
        for _ in range(80 * threads):
            if ctx.get(core.o.valid):
                got.append(ctx.get(core.o.payload.data))
            await ctx.tick()

    bench.simulate(core, drive)
    wanted = []
    for words, count in ((first, outputs[0]), (second, outputs[1])):
        for batch in words.reshape(-1, threads).tolist():
            wanted += batch * count
    assert got == wanted
