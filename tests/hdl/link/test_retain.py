"""Retained results: found under their positions, freed by position, and no more than there is room for."""

import gc

import pytest
from skinny.hdl.link.retain import RetainedResults
from skinny.model.machine.isa import CoreConfig
from skinny.model.rings import Modular

CONFIG = CoreConfig(Modular(8))


def test_results_wait_until_they_are_freed(bench):
    retained = RetainedResults(CONFIG, 4)

    async def free(ctx, upto):
        ctx.set(retained.upto, upto)
        ctx.set(retained.free, 1)
        await ctx.tick()
        ctx.set(retained.free, 0)
        await ctx.tick()
        return ctx.get(retained.first), ctx.get(retained.end)

    async def push(ctx, *words):
        for word in words:
            ctx.set(retained.i.payload, {"data": word, "last": word & 1, "fault": 0})
            ctx.set(retained.i.valid, 1)
            assert ctx.get(retained.i.ready)
            await ctx.tick()
        ctx.set(retained.i.valid, 0)

    async def drive(ctx):
        await push(ctx, 10, 11, 12, 13)
        assert not ctx.get(retained.i.ready)
        assert await free(ctx, 5) == (0, 4)  # that position is not there yet
        assert await free(ctx, 3) == (3, 4)
        assert await free(ctx, 2) == (3, 4)  # older than what was said before
        await push(ctx, 14, 15, 16)
        assert not ctx.get(retained.i.ready)
        for position in range(3, 7):
            ctx.set(retained.position, position)
            await ctx.tick().repeat(2)
            assert (ctx.get(retained.word.data), ctx.get(retained.word.last)) == (10 + position, position & 1)
        ctx.set(retained.clear, 1)
        await ctx.tick()
        assert (ctx.get(retained.first), ctx.get(retained.end), ctx.get(retained.i.ready)) == (0, 0, 1)

    bench.simulate(retained, drive)


@pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")
def test_bad_depths():
    for depth in (0, 1, 6, 1 << 15):
        with pytest.raises(ValueError, match=f"the depth must be a power of two, 2 to 16384, not {depth}"):
            RetainedResults(CONFIG, depth)
    gc.collect()  # what was refused is gone before the next test, which may not say so
