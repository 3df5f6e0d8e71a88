"""The input buffer: two banks in turn, a word readable after it was taken, no third batch before a release."""

import numpy as np
from skinny.hdl.core.inputs import InputBuffer
from skinny.model.machine.isa import CoreConfig
from skinny.model.rings import Modular

CONFIG = CoreConfig(Modular(8), threads=3, depth=16, inputs=4, guard=True)


async def send(ctx, buffer, words, last):
    """Offer ``words``; ``last`` on the last one. Each must be taken at once."""
    for at, word in enumerate(words):
        ctx.set(buffer.i.valid, 1)
        ctx.set(buffer.i.payload, {"data": word, "last": last and at == len(words) - 1})
        assert ctx.get(buffer.i.ready)
        assert not ctx.get(buffer.full)
        await ctx.tick()
    ctx.set(buffer.i.valid, 0)


def test_two_batches_wait_and_are_read_two_cycles_after_their_address(bench):
    rng = np.random.default_rng(1)
    buffer = InputBuffer(CONFIG)
    batches = [rng.integers(0, 256, (size, 3)) for size in (3, 2)]

    async def drive(ctx):
        ctx.set(buffer.last_input, 2)
        for bank, vectors in enumerate(batches):
            await send(ctx, buffer, vectors.reshape(-1).tolist(), last=len(vectors) < 3)
            assert (ctx.get(buffer.full), ctx.get(buffer.count)) == (1, len(vectors) - 1)
            ctx.set(buffer.begin, 1)
            await ctx.tick()
            ctx.set(buffer.begin, 0)
            assert (ctx.get(buffer.full), ctx.get(buffer.begun)) == (0, bank)
        for _ in range(3):
            assert not ctx.get(buffer.i.ready)
            await ctx.tick()
        for bank, vectors in enumerate(batches):
            for thread, vector in enumerate(vectors.tolist()):
                for u, word in enumerate(vector):
                    for name, value in {"bank": bank, "thread": thread, "u": u}.items():
                        ctx.set(getattr(buffer, name), value)
                    await ctx.tick().repeat(2)
                    assert (ctx.get(buffer.x), ctx.get(buffer.x_parity)) == (word, word.bit_count() % 2)
        ctx.set(buffer.release, 1)
        await ctx.tick()
        assert ctx.get(buffer.i.ready)

    bench.simulate(buffer, drive)
