"""The window buffer: what is read are the newest words of each thread, the newest first, and no word too early."""

import numpy as np
from skinny.hdl.core.window_buffer import WindowBuffer
from skinny.model.machine.isa import CoreConfig
from skinny.model.rings import Modular

CONFIG = CoreConfig(Modular(8), threads=3, depth=16, inputs=4, guard=True, window=True)
HOP = 3


async def send(ctx, buffer, words, last):
    """Offer ``words``; ``last`` on the last one. Returns the cycles in which the buffer was not ready."""
    waited = 0
    for at, word in enumerate(words):
        ctx.set(buffer.i.valid, 1)
        ctx.set(buffer.i.payload, {"data": word, "last": last and at == len(words) - 1})
        while not ctx.get(buffer.i.ready):
            waited += 1
            await ctx.tick()
        await ctx.tick()
    ctx.set(buffer.i.valid, 0)
    return waited


def test_windows_of_four_words_with_a_hop_of_three(bench):
    rng = np.random.default_rng(1)
    buffer = WindowBuffer(CONFIG)
    batches = [rng.integers(0, 256, (size, HOP)).tolist() for size in (3, 2, 1, 3, 2)]
    words = [[], [], []]

    async def read(ctx, bank, thread):
        found = []
        ctx.set(buffer.coming_bank, bank)
        ctx.set(buffer.coming_thread, thread)
        ctx.set(buffer.bank, bank)
        ctx.set(buffer.thread, thread)
        await ctx.tick().repeat(2)
        assert not ctx.get(buffer.astray)
        for u in range(4):
            ctx.set(buffer.u, 3 - u)
            await ctx.tick().repeat(2)
            found.append(ctx.get(buffer.x))
            assert ctx.get(buffer.x_parity) == found[-1].bit_count() % 2
        return found

    async def drive(ctx):
        ctx.set(buffer.last_input, HOP - 1)
        ctx.set(buffer.size, 4)
        before = 0
        for number, vectors in enumerate(batches):
            waited = await send(ctx, buffer, [word for vector in vectors for word in vector], len(vectors) < 3)
            assert waited == before
            before = max(1, 3 - len(vectors))
            for thread, vector in enumerate(vectors):
                words[thread] += vector
            assert not ctx.get(buffer.full)
            if not number:  # no window is full yet
                continue
            await ctx.tick()
            assert (ctx.get(buffer.full), ctx.get(buffer.count)) == (1, len(vectors) - 1)
            ctx.set(buffer.begin, 1)
            await ctx.tick()
            ctx.set(buffer.begin, 0)
            # The threads pass by meanwhile, so the next batch need not wait.
            before = 0
            for thread in range(len(vectors)):
                assert await read(ctx, (number - 1) % 2, thread) == words[thread][:-5:-1]
            ctx.set(buffer.release, 1)
            await ctx.tick()
            ctx.set(buffer.release, 0)

    bench.simulate(buffer, drive)


def test_threads_pass_by_before_the_next_word_is_taken(bench):
    buffer = WindowBuffer(CONFIG)

    async def drive(ctx):
        ctx.set(buffer.last_input, 0)
        ctx.set(buffer.size, 4)
        assert await send(ctx, buffer, [1], last=True) == 0
        assert await send(ctx, buffer, [2], last=True) == 2
        assert await send(ctx, buffer, [3, 4], last=True) == 2
        assert await send(ctx, buffer, [5, 6, 7], last=False) == 1
        assert await send(ctx, buffer, [8], last=False) == 1
        assert (ctx.get(buffer.full), ctx.get(buffer.count)) == (1, 0)

    bench.simulate(buffer, drive)
