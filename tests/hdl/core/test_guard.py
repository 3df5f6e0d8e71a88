"""The guard collects what its parts find; the alarm stays until something is loaded."""

import pytest
from skinny.hdl.core.guard import Guard
from skinny.model.machine.isa import CoreConfig
from skinny.model.rings import Modular

CONFIG = CoreConfig(Modular(8), threads=2, fifo=8, depth=16, inputs=8, guard=True)


async def judge(ctx, guard):
    """Mismatch and alarm after one cycle more."""
    await ctx.tick()
    return ctx.get(guard.mismatch), ctx.get(guard.alarm)


@pytest.mark.parametrize("rom", [False, True])
@pytest.mark.parametrize("part", ["echo", "numbering"])
def test_a_mismatch_raises_the_alarm_until_it_is_cleared(bench, part, rom):
    guard = Guard(CONFIG, None, rom)

    async def drive(ctx):
        ctx.set(guard.ready, 1)
        for _ in range(5):
            assert await judge(ctx, guard) == (0, 0)
        ctx.set(getattr(guard, part), 1)
        assert await judge(ctx, guard) == (1, 0)
        ctx.set(getattr(guard, part), 0)
        assert await judge(ctx, guard) == (0, 1)
        assert await judge(ctx, guard) == (0, 1)
        ctx.set(getattr(guard, part), 1)
        ctx.set(guard.cleared, 1)
        assert await judge(ctx, guard) == (0, 0)

    bench.simulate(guard, drive)


def test_a_word_is_judged_when_an_instruction_reads_it(bench):
    guard = Guard(CONFIG, None, rom=False)

    async def drive(ctx):
        ctx.set(guard.ready, 1)
        ctx.set(guard.word_parity, 1)
        await ctx.tick()
        assert await judge(ctx, guard) == (0, 0)
        ctx.set(guard.word_tag.live, 1)
        assert await judge(ctx, guard) == (1, 0)
        ctx.set(guard.word.op, 1)  # an odd number of ones, as the parity says
        assert await judge(ctx, guard) == (0, 1)

    bench.simulate(guard, drive)


@pytest.mark.parametrize("operand", ["x", "weight"])
def test_operands_are_judged_for_threads_that_have_a_vector(bench, operand):
    guard = Guard(CONFIG, None, rom=False)

    async def drive(ctx):
        ctx.set(guard.ready, 1)
        ctx.set(getattr(guard, operand), 4)
        assert await judge(ctx, guard) == (0, 0)
        ctx.set(guard.word_tag.valid, 1)
        assert await judge(ctx, guard) == (0, 0)
        assert await judge(ctx, guard) == (1, 0)
        ctx.set(getattr(guard, f"{operand}_parity"), 1)
        assert await judge(ctx, guard) == (0, 1)

    bench.simulate(guard, drive)


def test_start_vector_and_settings_are_judged_unless_they_are_constant(bench):
    for rom in (False, True):
        guard = Guard(CONFIG, None, rom)

        async def drive(ctx, guard=guard, rom=rom):
            ctx.set(guard.ready, 1)
            ctx.set(guard.start[1], 2)
            assert await judge(ctx, guard) == (not rom, 0)

        bench.simulate(guard, drive)
