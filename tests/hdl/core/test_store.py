"""The store: two cycles from address to word, writes that reach their own place only, contents that survive reset."""

import numpy as np
from amaranth import ResetInserter, Signal
from skinny.hdl.core.store import Store
from skinny.model.machine.isa import CoreConfig, Setting, Space
from skinny.model.rings import Modular

CONFIG = CoreConfig(Modular(8), depth=16, inputs=8, weights=8, guard=True)


def test_what_is_loaded_is_read_two_cycles_later_with_its_parity_and_survives_reset(bench):
    rng = np.random.default_rng(1)
    store = Store(CONFIG, None, rom=False)
    reset = Signal()
    words = rng.integers(0, 1 << CONFIG.word_bits, CONFIG.depth).tolist()
    weights, start = rng.integers(0, 256, CONFIG.weights).tolist(), rng.integers(0, 256, CONFIG.width).tolist()
    settings = {Setting.LAST_WORD: 11, Setting.LAST_INPUT: 5, Setting.BATCHES: 3}
    contents = {Space.PROGRAM: words, Space.WEIGHTS: weights, Space.START: start}
    writes = [(space, at, word) for space, each in contents.items() for at, word in enumerate(each)]
    writes += [(Space.SETTINGS, at, word) for at, word in settings.items()]

    async def drive(ctx):
        ctx.set(store.write, 1)
        for at in rng.permutation(len(writes)):
            ctx.set(store.item, dict(zip(("space", "address", "data"), writes[at], strict=True)))
            await ctx.tick()
        ctx.set(store.write, 0)
        ctx.set(reset, 1)
        await ctx.tick()
        ctx.set(reset, 0)
        assert [ctx.get(word) for word in store.start] == start
        assert [ctx.get(port) for port in (store.last_word, store.last_input, store.batches)] == [11, 5, 3]
        seen = []
        for at in range(CONFIG.depth + 2):
            if at >= 2:
                seen.append((ctx.get(store.word.as_value()), ctx.get(store.word_parity)))
                if at < CONFIG.weights + 2:
                    assert ctx.get(store.weight) == weights[at - 2]
                    assert ctx.get(store.weight_parity) == weights[at - 2].bit_count() % 2
            ctx.set(store.pc, at % CONFIG.depth)
            ctx.set(store.k, at % CONFIG.weights)
            await ctx.tick()
        assert seen == [(word, word.bit_count() % 2) for word in words]

    bench.simulate(ResetInserter(reset)(store), drive)


def test_a_rom_is_never_written(bench):
    image = bench.random_image(np.random.default_rng(2), CONFIG, 8)
    store = Store(CONFIG, image, rom=True)

    async def drive(ctx):
        ctx.set(store.write, 1)
        for space in Space:
            ctx.set(store.item, {"space": space, "address": 0, "data": 0xAB})
            await ctx.tick()
        await ctx.tick().repeat(2)
        assert ctx.get(store.word.as_value()) == image.words[0]
        assert ctx.get(store.weight) == image.weights[0]
        assert ctx.get(store.word_parity) == int(image.words[0]).bit_count() % 2
        assert ctx.get(store.weight_parity) == int(image.weights[0]).bit_count() % 2
        assert [ctx.get(word) for word in store.start] == image.start.tolist()
        assert ctx.get(store.last_word) == len(image) - 1

    bench.simulate(store, drive)
