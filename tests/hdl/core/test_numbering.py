"""The numbering is quiet as long as nothing is wrong, and sees changed, lost and old words."""

from skinny.hdl.core.numbering import Numbering
from skinny.model.machine.isa import CoreConfig
from skinny.model.rings import Modular

CONFIG = CoreConfig(Modular(8), threads=2, fifo=8, depth=16, inputs=8, guard=True)


def test_changed_lost_and_old_words_are_mismatches(bench):
    numbering = Numbering(CONFIG)
    stored = []

    async def drive(ctx):
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

    bench.simulate(numbering, drive)


def test_memory_that_was_never_written_is_a_mismatch(bench):
    numbering = Numbering(CONFIG)

    async def drive(ctx):
        ctx.set(numbering.valid, 1)
        assert ctx.get(numbering.mismatch)

    bench.simulate(numbering, drive)
