"""A word comes as many cycles after its address as the latency says, and is zero in the cycle after ``clear``."""

import numpy as np
import pytest
from skinny.hdl.parts.cleared import ClearedRAM
from skinny.hdl.parts.target import TARGETS


@pytest.mark.parametrize("latency", [1, 2, 3])
def test_words_come_in_time_and_can_be_cleared(bench, latency):
    rng = np.random.default_rng(latency)
    contents = rng.integers(1, 256, 16).tolist()
    memory = ClearedRAM(8, 16, latency, contents, TARGETS["generic"])
    addresses, clears = rng.integers(0, 8, 60).tolist(), rng.integers(0, 2, 60).tolist()
    seen = []

    async def drive(ctx):
        for cycle, (address, clear) in enumerate(zip(addresses, clears, strict=True)):
            seen.append(ctx.get(memory.data))
            ctx.set(memory.addr, address)
            ctx.set(memory.clear, clear)
            # Nothing that is written is read in the same cycle.
            ctx.set(memory.write, cycle < 8)
            ctx.set(memory.write_addr, 8 + cycle % 8)
            ctx.set(memory.write_data, 100 + cycle)
            await ctx.tick()
        ctx.set(memory.clear, 0)
        for address in range(8, 16):
            ctx.set(memory.addr, address)
            for _ in range(latency):
                await ctx.tick()
            assert ctx.get(memory.data) == 100 + address - 8

    bench.simulate(memory, drive)
    expected = [
        0 if clears[cycle - 1] else contents[addresses[cycle - latency]] for cycle in range(latency, len(addresses))
    ]
    assert seen[latency:] == expected
