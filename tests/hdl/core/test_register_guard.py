"""The guard of the register memory sees a wrong parity of each word that is used, and each bit of a word that is sent
but was not read."""

import pytest
from skinny.hdl.core.register_guard import RegisterGuard
from skinny.model.machine.isa import CoreConfig, Op
from skinny.model.rings import Modular

CONFIG = CoreConfig(Modular(8), width=8, threads=8, registers="memory", pipeline=7, guard=True)
FACTORS, SUMMAND = 4, 6


async def settle(ctx):
    for _ in range(8):
        await ctx.tick()


@pytest.mark.parametrize(
    ("odd", "use", "valid"),
    [
        ("src_odd", ("factors", "use_src", 1), "valid_factors"),
        ("sum_odd", ("factors", "use_sum", 1), "valid_factors"),
        ("dst_odd", ("summand", "fresh", 0), "valid_summand"),
    ],
)
def test_a_word_that_is_used_has_the_parity_of_its_address(bench, odd, use, valid):
    guard = RegisterGuard(CONFIG, FACTORS, SUMMAND)
    stage, name, used = use

    async def drive(ctx):
        ctx.set(guard.summand.fresh, 1)
        for src, dst, parity in ((2, 4, 0), (3, 5, 0), (2, 7, 1), (3, 3, 1)):
            ctx.set(guard.word.src, src)
            ctx.set(guard.word.dst, dst)
            ctx.set(guard.parity, parity)
            own = {"src_odd": src, "sum_odd": 1, "dst_odd": dst}[odd].bit_count() & 1 ^ parity
            for wrong in (0, 1):
                ctx.set(getattr(guard, odd), own ^ wrong)
                for judged in (0, 1):
                    for threads in (0, 1):
                        ctx.set(getattr(guard, stage)[name], used if judged else 1 - used)
                        ctx.set(getattr(guard, valid), threads)
                        await settle(ctx)
                        assert ctx.get(guard.mismatch) == (wrong and judged and threads)
            assert ctx.get(guard.write_parity) == dst.bit_count() & 1 ^ parity

    bench.simulate(guard, drive)


def test_a_register_that_is_sent_is_not_cleared(bench):
    guard = RegisterGuard(CONFIG, FACTORS, SUMMAND)

    async def drive(ctx):
        ctx.set(guard.summand.fresh, 1)
        for op in Op:
            for bad in (0, 1):
                for valid in (0, 1):
                    ctx.set(guard.word.op, op)
                    ctx.set(guard.summand.bad, bad)
                    ctx.set(guard.valid_summand, valid)
                    await settle(ctx)
                    assert ctx.get(guard.mismatch) == (op == Op.EMIT and valid and not bad)

    bench.simulate(guard, drive)


def test_what_is_sent_is_what_was_read(bench):
    guard = RegisterGuard(CONFIG, FACTORS, SUMMAND)

    async def drive(ctx):
        ctx.set(guard.summand.fresh, 1)
        ctx.set(guard.dst_word, 0b01100110)
        for wrong in (0, *(1 << bit for bit in range(8))):
            for push in (0, 1):
                ctx.set(guard.push, push)
                ctx.set(guard.result, 0b01100110 ^ wrong)
                await settle(ctx)
                assert ctx.get(guard.mismatch) == (push and wrong > 0)

    bench.simulate(guard, drive)
