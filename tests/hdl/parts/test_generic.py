"""Memory and multiplier: what they hold and compute, and when it is there."""

import numpy as np
import pytest
from skinny.hdl.parts.generic import BlockRAM, Multiplier


def test_words_come_two_cycles_after_their_address_and_stay_while_nothing_is_taken(bench):
    rng = np.random.default_rng(1)
    contents = rng.integers(0, 256, 8).tolist()
    memory = BlockRAM(8, 16, contents)

    async def drive(ctx):
        ctx.set(memory.fetch, 1)
        ctx.set(memory.take, 1)
        seen = []
        for address in range(18):
            seen.append(ctx.get(memory.data))
            ctx.set(memory.addr, address % 16)
            ctx.set(memory.write, address < 8)
            ctx.set(memory.write_addr, 15 - address % 16)
            ctx.set(memory.write_data, address)
            await ctx.tick()
        # Addresses 8 to 15 were written before they were read.
        assert seen[2:] == [*contents, *range(7, -1, -1)]
        held = ctx.get(memory.data)
        ctx.set(memory.fetch, 0)
        ctx.set(memory.take, 0)
        ctx.set(memory.addr, 3)
        for _ in range(3):
            await ctx.tick()
            assert ctx.get(memory.data) == held
        # What was read before, the word at address 1, comes first.
        ctx.set(memory.fetch, 1)
        ctx.set(memory.take, 1)
        for expected in (contents[1], contents[3]):
            await ctx.tick()
            assert ctx.get(memory.data) == expected

    bench.simulate(memory, drive)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(("operands", "product"), [(1, 0), (0, 1), (1, 1)])
def test_products_come_after_as_many_cycles_as_there_are_registers(bench, signed, operands, product):
    multiplier = Multiplier(6, signed, operands, product)
    low = -32 if signed else 0
    pairs = np.random.default_rng(2).integers(low, low + 64, (60, 2)).tolist()
    pairs += [(a, b) for a in (low, low + 63) for b in (low, low + 63)]
    seen = []

    async def drive(ctx):
        for a, b in pairs + [(0, 0)] * (operands + product):
            ctx.set(multiplier.a, a)
            ctx.set(multiplier.b, b)
            seen.append(ctx.get(multiplier.product))
            await ctx.tick()

    bench.simulate(multiplier, drive)
    assert seen[operands + product :] == [a * b % (1 << 12) for a, b in pairs]
