"""Windows: places count up for each thread on its own, a window is full when its words have come, and empties."""

import numpy as np
import pytest
from skinny.hdl.core.windows import Windows
from skinny.model.machine.isa import CoreConfig
from skinny.model.rings import Modular

WORDS = 8


def config_for(threads):
    return CoreConfig(Modular(8), threads=threads, depth=16, inputs=WORDS, window=True)


@pytest.mark.parametrize("threads", [1, 3, 4])
@pytest.mark.parametrize("size", [1, 4, 8])
def test_places_and_fullness_are_those_of_a_count_for_each_thread(bench, threads, size):
    rng = np.random.default_rng(10 * threads + size)
    windows = Windows(config_for(threads))
    ring = 2 * WORDS

    async def drive(ctx):
        ctx.set(windows.size, size)
        count, epoch = [0] * threads, 0
        for _ in range(40):
            hop, vectors = int(rng.integers(1, size + 1)), int(rng.integers(1, threads + 1))
            ended = False
            for thread in range(vectors):
                for word in range(hop):
                    ctx.set(windows.accept, 1)
                    ctx.set(windows.u, word)
                    ctx.set(windows.vector_end, word == hop - 1)
                    if ended:
                        assert ctx.get(windows.newest) == count[thread - 1] % ring
                        assert ctx.get(windows.full) == (count[thread - 1] >= size)
                    ended = word == hop - 1
                    count[thread] += 1
                    assert ctx.get(windows.place) == count[thread] % ring
                    await ctx.tick()
            for name in ("accept", "vector_end", "u"):
                ctx.set(getattr(windows, name), 0)
            assert ctx.get(windows.full) == (count[vectors - 1] >= size)
            ctx.set(windows.batch_ended, 1)
            ctx.set(windows.passing, vectors < threads)
            for thread in range(vectors, threads):
                assert ctx.get(windows.front) % ring == count[thread] % ring
                await ctx.tick()
                ctx.set(windows.batch_ended, 0)
            if vectors == threads:
                await ctx.tick()
                ctx.set(windows.batch_ended, 0)
            ctx.set(windows.passing, 0)
            if rng.random() < 0.2:
                epoch += 1
                count = [0] * threads
                ctx.set(windows.renew, 1)
                await ctx.tick()
                ctx.set(windows.renew, 0)
                assert ctx.get(windows.waits)
                await ctx.tick()
                assert not ctx.get(windows.waits)
        assert epoch

    bench.simulate(windows, drive)


def test_windows_are_emptied_when_nothing_is_left_to_be_read(bench):
    windows = Windows(config_for(1))

    async def drive(ctx):
        async def word(end):
            ctx.set(windows.accept, 1)
            ctx.set(windows.vector_end, 1)
            place = ctx.get(windows.place)
            await ctx.tick()
            ctx.set(windows.accept, 0)
            ctx.set(windows.vector_end, 0)
            ctx.set(windows.batch_ended, end)
            if end:
                await ctx.tick()
                ctx.set(windows.batch_ended, 0)
            return place

        assert [await word(True) for _ in range(3)] == [1, 2, 3]
        # In the middle of a batch, and while another one is in use, the words go on where they were.
        assert await word(False) == 4
        ctx.set(windows.renew, 1)
        ctx.set(windows.used, 1)
        await ctx.tick()
        ctx.set(windows.renew, 0)
        assert not ctx.get(windows.waits)
        assert await word(True) == 5
        assert ctx.get(windows.waits)
        await ctx.tick()
        ctx.set(windows.used, 0)
        assert ctx.get(windows.waits)
        await ctx.tick()
        assert not ctx.get(windows.waits)
        assert await word(True) == 1

    bench.simulate(windows, drive)
