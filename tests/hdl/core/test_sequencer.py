"""The sequencer issues word p of thread t in cycle t0 + p·T + t, batch after batch without a gap."""

import pytest
from skinny.hdl.core.sequencer import Sequencer
from skinny.model.machine.isa import CoreConfig
from skinny.model.rings import Modular


@pytest.mark.parametrize("threads", [1, 2, 3, 6])
@pytest.mark.parametrize("length", [1, 5])
def test_every_word_of_every_thread_in_order(bench, threads, length):
    sequencer = Sequencer(CoreConfig(Modular(8), threads=threads, depth=16))
    last = threads - 1 - (threads > 2)  # with more than two threads the last has no vector
    seen = []

    async def drive(ctx):
        ctx.set(sequencer.full, 1)
        ctx.set(sequencer.room, 1)
        ctx.set(sequencer.count, last)
        ctx.set(sequencer.last_word, length - 1)
        await ctx.tick()
        for _ in range(2 * length * threads):
            tag = sequencer.tag
            assert ctx.get(tag.live)
            names = ("pc", "thread", "valid", "first")
            final = ctx.get(tag.final) if ctx.get(tag.valid) else 0
            seen.append((*(ctx.get(tag[name]) for name in names), final, ctx.get(sequencer.done)))
            await ctx.tick()

    bench.simulate(sequencer, drive)
    batch = [
        (p, t, t <= last, p == 0, t == last, (p, t) == (length - 1, threads - 1))
        for p in range(length)
        for t in range(threads)
    ]
    assert seen == 2 * batch


@pytest.mark.parametrize("missing", ["full", "room", "hold"])
def test_a_batch_starts_only_with_inputs_room_and_leave(bench, missing):
    sequencer = Sequencer(CoreConfig(Modular(8), threads=2, depth=16))

    async def drive(ctx):
        for name, value in {"full": 1, "room": 1, "hold": 0}.items():
            ctx.set(getattr(sequencer, name), value ^ (name == missing))
        for _ in range(4):
            assert not ctx.get(sequencer.start)
            assert not ctx.get(sequencer.tag.live)
            await ctx.tick()
        ctx.set(getattr(sequencer, missing), missing != "hold")
        assert ctx.get(sequencer.start)
        await ctx.tick()
        assert ctx.get(sequencer.tag.live)

    bench.simulate(sequencer, drive)
