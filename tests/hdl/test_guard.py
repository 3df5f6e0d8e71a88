"""The guard: each part is quiet as long as nothing is wrong, and notices what it is there for."""

import numpy as np
import pytest
from amaranth import Elaboratable, Module, Signal, Value
from amaranth.sim import Simulator
from skinny.hdl.guard import ControlTwin, Echo, Numbering, SettingsParity
from skinny.hdl.inputs import InputBuffer
from skinny.hdl.results import ResultFIFO
from skinny.hdl.sequencer import Sequencer, tag_layout
from skinny.model.isa import CoreConfig, Setting, Space
from skinny.model.rings import Modular

CONFIG = CoreConfig(Modular(8), threads=2, fifo=8, depth=16, inputs=8, guard=True)
#: What the twin compares with its own.
WATCHED = ("tag", "done", "ready", "pointers")


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

        def odd(word, seal):
            ctx.set(numbering.stored, word)
            ctx.set(numbering.stored_seal, seal)
            return ctx.get(numbering.odd)

        for number, (word, seal) in enumerate(stored):
            assert not odd(word, seal)
            assert odd(word | {"data": word["data"] ^ 16}, seal)
            assert odd(word | {"last": 1 - word["last"]}, seal)
            assert odd(word | {"fault": 1}, seal)
            assert odd(word, {"number": seal.number ^ 1, "parity": seal.parity})
            for other in range(max(0, number - 15), min(40, number + 16)):
                assert odd(*stored[other]) == (other != number)
            ctx.set(numbering.valid, 0)
            assert not odd(word, {"number": seal.number ^ 1, "parity": seal.parity})
            ctx.set(numbering.valid, 1)
            ctx.set(numbering.pop, 1)
            await ctx.tick()
            ctx.set(numbering.pop, 0)

    simulate(numbering, bench)


def test_memory_that_was_never_written_is_odd():
    numbering = Numbering(CONFIG)

    async def bench(ctx):
        ctx.set(numbering.valid, 1)
        assert ctx.get(numbering.odd)

    simulate(numbering, bench)


def test_the_fifo_marks_what_comes_after_an_alarm():
    fifo = ResultFIFO(CONFIG)

    async def bench(ctx):
        ctx.set(fifo.push, 1)
        await ctx.tick().repeat(3)
        assert (ctx.get(fifo.o.valid), ctx.get(fifo.o.p.fault), ctx.get(fifo.odd)) == (1, 0, 0)
        ctx.set(fifo.alarm, 1)
        assert (ctx.get(fifo.o.p.fault), ctx.get(fifo.odd)) == (1, 0)

    simulate(fifo, bench)


def test_settings_are_odd_when_one_bit_changes():
    parity = SettingsParity(CONFIG, None)
    values = {"last_word": 11, "last_input": 5, "batches": 3}
    rng = np.random.default_rng(1)

    async def bench(ctx):
        assert not ctx.get(parity.odd)
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
        assert not ctx.get(parity.odd)
        for n, word in enumerate(start):
            for bit in range(8):
                ctx.set(parity.start[n], word ^ 1 << bit)
                assert ctx.get(parity.odd)
            ctx.set(parity.start[n], word)
        for name, value in values.items():
            for bit in range(len(getattr(parity, name))):
                ctx.set(getattr(parity, name), value ^ 1 << bit)
                assert ctx.get(parity.odd)
            ctx.set(getattr(parity, name), value)
        assert not ctx.get(parity.odd)

    simulate(parity, bench)


@pytest.mark.parametrize("register", range(3))
def test_an_emit_must_send_its_register(register):
    echo = Echo(CONFIG)

    async def bench(ctx):
        words = [17, 34, 68]
        for n, word in enumerate(words):
            ctx.set(echo.registers[n], word)

        async def odd(result, push=1, bad=0, cleared=0):
            ctx.set(echo.control.target, register)
            ctx.set(echo.push, push)
            ctx.set(echo.control.bad, bad)
            ctx.set(echo.cleared, cleared)
            ctx.set(echo.result, result)
            await ctx.tick()
            return ctx.get(echo.odd)

        assert not await odd(words[register])
        for bit in range(8):
            wrong = words[register] ^ 1 << bit
            assert await odd(wrong)
            assert not await odd(wrong, push=0)
            assert not await odd(wrong, bad=1)
            assert not await odd(wrong, cleared=1)

    simulate(echo, bench)


class Watched(Elaboratable):
    """Control as the core has it, and its twin, who sees it through masks of bits that are flipped on the way."""

    def __init__(self):
        self.inputs = InputBuffer(CONFIG, memory=False)
        self.sequencer = Sequencer(CONFIG)
        self.twin = ControlTwin(CONFIG)
        self.room = Signal()
        self.hold = Signal()
        self.masks = {name: Signal(len(Value.cast(getattr(self.twin, name)))) for name in WATCHED}

    def elaborate(self, platform):
        m = Module()
        m.submodules += [self.inputs, self.sequencer, self.twin]
        inputs, sequencer, twin = self.inputs, self.sequencer, self.twin
        tag, done, late = Signal(tag_layout(CONFIG)), Signal(), Signal()
        m.d.sync += [tag.eq(sequencer.tag), done.eq(sequencer.done), late.eq(done)]
        m.d.comb += [
            *(part.last_input.eq(2) for part in (inputs, twin)),
            *(part.last_word.eq(1) for part in (sequencer, twin)),
            *(part.room.eq(self.room) for part in (sequencer, twin)),
            *(part.hold.eq(self.hold) for part in (sequencer, twin)),
            sequencer.full.eq(inputs.full),
            sequencer.count.eq(inputs.count),
            sequencer.bank.eq(inputs.begun),
            inputs.begin.eq(sequencer.start),
            inputs.release.eq(late),
            twin.accept.eq(inputs.i.valid & inputs.i.ready),
            twin.last.eq(inputs.i.p.last),
        ]
        seen = {"tag": tag, "done": done, "ready": inputs.i.ready, "pointers": inputs.pointers}
        for name, value in seen.items():
            m.d.comb += Value.cast(getattr(twin, name)).eq(Value.cast(value) ^ self.masks[name])
        return m


@pytest.mark.parametrize("name", ["none", *WATCHED])
def test_the_twin_sees_every_bit_of_control(name):
    watched = Watched()
    rng = np.random.default_rng(1)
    lives = []

    async def bench(ctx):
        async def step():
            ctx.set(watched.inputs.i.valid, int(rng.random() < 0.7))
            ctx.set(watched.inputs.i.p.last, int(rng.random() < 0.3))
            ctx.set(watched.room, int(rng.random() < 0.7))
            ctx.set(watched.hold, int(rng.random() < 0.3))
            await ctx.tick()
            return ctx.get(watched.twin.odd)

        await step()
        for _ in range(400):
            assert not await step()
            lives.append(ctx.get(watched.twin.tag.live))
            if name == "none":
                continue
            mask = watched.masks[name]
            for bit in range(len(mask)):
                ctx.set(mask, 1 << bit)
                # Pointers and `ready` are compared a cycle late; what goes with an instruction matters if there is one.
                late = name in ("pointers", "ready")
                odd = await step() if late else ctx.get(watched.twin.odd)
                assert odd or (name == "tag" and bit > 0 and not lives[-1]), bit
                ctx.set(mask, 0)
                if late:
                    await step()
        assert 100 < sum(lives) < 350

    simulate(watched, bench)
