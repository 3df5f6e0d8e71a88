"""The bare multiply-accumulate adds up what plain integers say: cut products, wrapped sums."""

import numpy as np
import pytest
from skinny.hdl.measure.bare import Bare
from skinny.model.rings import FixedPoint


@pytest.mark.parametrize("words", [None, 16])
def test_sum_of_cut_products(bench, words):
    rng = np.random.default_rng(1)
    ring = FixedPoint(8, 4)
    bare = Bare(ring, words)
    memory = rng.integers(-128, 128, words or 0).tolist()
    given = rng.integers(0, words, (50, 2)) if words else rng.integers(-128, 128, (50, 2))
    pairs = [(memory[a], memory[b]) if words else (a, b) for a, b in given.tolist()]
    # Two cycles of block RAM, then the operands, the product and the sum have a register each.
    latency = 5 if words else 3
    sums = []

    async def drive(ctx):
        for address, word in enumerate(memory):
            ctx.set(bare.write, 1)
            ctx.set(bare.write_addr, address)
            ctx.set(bare.write_data, word)
            await ctx.tick()
        for cycle in range(len(pairs) + latency):
            if cycle < len(pairs):
                ctx.set(bare.a, int(given[cycle][0]))
                ctx.set(bare.b, int(given[cycle][1]))
            await ctx.tick()
            sums.append(ctx.get(bare.sum))

    bench.simulate(bare, drive)
    total, expected = sums[latency - 2], []
    for a, b in pairs:
        total = (total + (a * b >> 4)) % 256
        expected.append(total)
    assert sums[latency - 1 : latency - 1 + len(pairs)] == expected
