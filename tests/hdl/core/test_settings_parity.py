"""The parity of start vector and settings sees every single bit that changes."""

import numpy as np
from skinny.hdl.core.settings_parity import SettingsParity
from skinny.model.machine.isa import CoreConfig, Setting, Space
from skinny.model.rings import Modular

CONFIG = CoreConfig(Modular(8), threads=2, fifo=8, depth=16, inputs=8, guard=True)


def test_one_bit_that_changes_is_a_mismatch(bench):
    parity = SettingsParity(CONFIG, None)
    values = {"last_word": 11, "last_input": 5, "batches": 3}
    rng = np.random.default_rng(1)

    async def drive(ctx):
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

    bench.simulate(parity, drive)
