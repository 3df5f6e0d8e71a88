"""What is written to a register or to the accumulator is read from the next cycle on, and nowhere else."""

import numpy as np
import pytest
from skinny.hdl.core.register_memory import RegisterMemory, operand_latency, summand_latency
from skinny.model.machine.isa import ONE, CoreConfig
from skinny.model.rings import Modular


@pytest.mark.parametrize("pipeline", [6, 7, 8, 9])
def test_registers_and_accumulator_are_kept_for_each_thread(bench, pipeline):
    config = CoreConfig(Modular(8), width=9, threads=9, registers="memory", pipeline=pipeline)
    memory = RegisterMemory(config)
    rng = np.random.default_rng(pipeline)
    held = {}

    async def drive(ctx):
        for thread in range(9):
            for register in range(9):
                held[thread, register] = int(rng.integers(256))
                ctx.set(memory.write, 1)
                ctx.set(memory.write_thread, thread)
                ctx.set(memory.write_dst, register)
                ctx.set(memory.write_word, held[thread, register])
                await ctx.tick()
        ctx.set(memory.write, 0)
        for thread, register in held:
            ctx.set(memory.thread, thread)
            ctx.set(memory.src, register)
            ctx.set(memory.dst_thread, thread)
            ctx.set(memory.dst, register)
            for cycle in range(1, summand_latency(config) + 1):
                await ctx.tick()
                if cycle == operand_latency(config):
                    if register != ONE:
                        assert ctx.get(memory.src_word) == held[thread, register]
                    assert ctx.get(memory.sum_word) == held[thread, ONE]
            assert ctx.get(memory.dst_word) == held[thread, register]

    bench.simulate(memory, drive)


def test_each_word_that_is_not_used_is_cleared(bench):
    config = CoreConfig(Modular(8), width=4, threads=8, registers="memory")
    memory = RegisterMemory(config)

    async def drive(ctx):
        for register in (ONE, 2):
            ctx.set(memory.write, 1)
            ctx.set(memory.write_dst, register)
            ctx.set(memory.write_word, 77)
            await ctx.tick()
        ctx.set(memory.src, 2)
        ctx.set(memory.dst, 2)
        for _ in range(2):
            await ctx.tick()
        for name in ("src", "sum", "dst"):
            assert ctx.get(getattr(memory, f"{name}_word")) == 77
            ctx.set(getattr(memory, f"{name}_clear"), 1)
            await ctx.tick()
            ctx.set(getattr(memory, f"{name}_clear"), 0)
            words = {other: ctx.get(getattr(memory, f"{other}_word")) for other in ("src", "sum", "dst")}
            assert words == {other: 0 if other == name else 77 for other in words}
            await ctx.tick()

    bench.simulate(memory, drive)


@pytest.mark.parametrize("flipped", ["nothing", "word", "address"])
def test_parity_covers_words_and_addresses(bench, flipped):
    """A word that is written to another address than the one that is meant does not have the parity of its place."""
    config = CoreConfig(Modular(8), width=8, threads=8, registers="memory", guard=True)
    memory = RegisterMemory(config)
    thread, register = 5, 6  # the parity of the address is even

    async def drive(ctx):
        ctx.set(memory.write, 1)
        ctx.set(memory.write_thread, thread)
        ctx.set(memory.write_dst, register ^ (flipped == "address"))
        ctx.set(memory.write_word, 0b1011)
        ctx.set(memory.write_parity, flipped == "word")
        await ctx.tick()
        ctx.set(memory.write, 0)
        for name, place in (("thread", thread), ("dst_thread", thread), ("src", register), ("dst", register)):
            ctx.set(getattr(memory, name), place ^ (flipped == "address" and name in ("src", "dst")))
        for _ in range(2):
            await ctx.tick()
        read_from = flipped == "address"  # the parity of the address that is read
        assert ctx.get(memory.src_odd) ^ read_from == (flipped != "nothing")
        assert ctx.get(memory.dst_odd) ^ read_from == (flipped != "nothing")

    bench.simulate(memory, drive)
