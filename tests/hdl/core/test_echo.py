"""The echo sees every bit in which a word that is sent differs from its register."""

import pytest
from skinny.hdl.core.echo import Echo
from skinny.model.machine.isa import CoreConfig
from skinny.model.rings import Modular

CONFIG = CoreConfig(Modular(8), threads=2, fifo=8, depth=16, inputs=8, guard=True)


@pytest.mark.parametrize("register", range(3))
def test_an_emit_must_send_its_register(bench, register):
    echo = Echo(CONFIG)

    async def drive(ctx):
        words = [17, 34, 68]
        for n, word in enumerate(words):
            ctx.set(echo.registers[n], word)

        async def mismatch(result, push=1, bad=0, cleared=0):
            ctx.set(echo.control.target, register)
            ctx.set(echo.push, push)
            ctx.set(echo.control.bad, bad)
            ctx.set(echo.cleared, cleared)
            ctx.set(echo.result, result)
            await ctx.tick()
            return ctx.get(echo.mismatch)

        assert not await mismatch(words[register])
        for bit in range(8):
            wrong = words[register] ^ 1 << bit
            assert await mismatch(wrong)
            assert not await mismatch(wrong, push=0)
            assert not await mismatch(wrong, bad=1)
            assert not await mismatch(wrong, cleared=1)

    bench.simulate(echo, drive)
