"""The guard: each part is quiet as long as nothing is wrong, and notices what it is there for."""

import numpy as np
import pytest
from amaranth import Module
from amaranth.sim import Simulator
from skinny.hdl.core.echo import Echo
from skinny.hdl.core.numbering import Numbering
from skinny.hdl.core.results import ResultFIFO
from skinny.hdl.core.settings_parity import SettingsParity
from skinny.model.machine.isa import CoreConfig, Setting, Space
from skinny.model.rings import Modular

CONFIG = CoreConfig(Modular(8), threads=2, fifo=8, depth=16, inputs=8, guard=True)


def simulate(component, bench):
    top = Module()
    top.submodules.component = component
    simulator = Simulator(top)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def test_numbered_words_are_odd_when_changed_lost_or_old():
    numbering = Numbering(CONFIG)
    stored = []

    async def bench(ctx):
        ctx.set(numbering.valid, 1)
        for cycle in range(40):  # more than once round
            word = {"data": cycle * 37 % 256, "last": cycle & 1, "fault": 0}
            ctx.set(numbering.word, word)
            ctx.set(numbering.push, 1)
            stored.append((word, ctx.get(numbering.seal)))
            await ctx.tick()
        ctx.set(numbering.push, 0)

        def mismatch(word, seal):
            ctx.set(numbering.stored, word)
            ctx.set(numbering.stored_seal, seal)
            return ctx.get(numbering.mismatch)

        for number, (word, seal) in enumerate(stored):
            assert not mismatch(word, seal)
            assert mismatch(word | {"data": word["data"] ^ 16}, seal)
            assert mismatch(word | {"last": 1 - word["last"]}, seal)
            assert mismatch(word | {"fault": 1}, seal)
            assert mismatch(word, {"number": seal.number ^ 1, "parity": seal.parity})
            for other in range(max(0, number - 15), min(40, number + 16)):
                assert mismatch(*stored[other]) == (other != number)
            ctx.set(numbering.valid, 0)
            assert not mismatch(word, {"number": seal.number ^ 1, "parity": seal.parity})
            ctx.set(numbering.valid, 1)
            ctx.set(numbering.pop, 1)
            await ctx.tick()
            ctx.set(numbering.pop, 0)

    simulate(numbering, bench)


def test_memory_that_was_never_written_is_odd():
    numbering = Numbering(CONFIG)

    async def bench(ctx):
        ctx.set(numbering.valid, 1)
        assert ctx.get(numbering.mismatch)

    simulate(numbering, bench)


def test_the_fifo_marks_what_comes_after_an_alarm():
    fifo = ResultFIFO(CONFIG)

    async def bench(ctx):
        ctx.set(fifo.push, 1)
        await ctx.tick().repeat(3)
        assert (ctx.get(fifo.o.valid), ctx.get(fifo.o.p.fault), ctx.get(fifo.mismatch)) == (1, 0, 0)
        ctx.set(fifo.alarm, 1)
        assert (ctx.get(fifo.o.p.fault), ctx.get(fifo.mismatch)) == (1, 0)

    simulate(fifo, bench)


def test_settings_are_odd_when_one_bit_changes():
    parity = SettingsParity(CONFIG, None)
    values = {"last_word": 11, "last_input": 5, "batches": 3}
    rng = np.random.default_rng(1)

    async def bench(ctx):
        assert not ctx.get(parity.mismatch)
        start = rng.integers(0, 256, 3).tolist()
        loads = [(Space.START, n, word) for n, word in enumerate(start)]
        loads += [(Space.SETTINGS, Setting[name.upper()], value) for name, value in values.items()]
        ctx.set(parity.write, 1)
        for space, address, word in loads:
            # Bits of the port that the register does not have mean nothing.
            beyond = 1 << (len(parity.item.data) - 1) if space is Space.SETTINGS else 0
            ctx.set(parity.item, {"space": space, "address": address, "data": word | beyond})
            await ctx.tick()
        ctx.set(parity.write, 0)
        for n, word in enumerate(start):
            ctx.set(parity.start[n], word)
        for name, value in values.items():
            ctx.set(getattr(parity, name), value)
        assert not ctx.get(parity.mismatch)
        for n, word in enumerate(start):
            for bit in range(8):
                ctx.set(parity.start[n], word ^ 1 << bit)
                assert ctx.get(parity.mismatch)
            ctx.set(parity.start[n], word)
        for name, value in values.items():
            for bit in range(len(getattr(parity, name))):
                ctx.set(getattr(parity, name), value ^ 1 << bit)
                assert ctx.get(parity.mismatch)
            ctx.set(getattr(parity, name), value)
        assert not ctx.get(parity.mismatch)

    simulate(parity, bench)


@pytest.mark.parametrize("register", range(3))
def test_an_emit_must_send_its_register(register):
    echo = Echo(CONFIG)

    async def bench(ctx):
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

    simulate(echo, bench)
