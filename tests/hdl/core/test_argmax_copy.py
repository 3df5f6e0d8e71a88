"""The copy of argmax sees every word that is not the right one."""

import numpy as np
import pytest
from skinny.hdl.core.argmax_copy import ArgmaxCopy
from skinny.model.machine.isa import CoreConfig, Sending
from skinny.model.rings import Modular


@pytest.mark.parametrize("wrong", [None, "push_o", "data", "last", "fault"])
def test_a_wrong_word_is_seen_in_the_next_cycle(bench, wrong):
    """Words that pass, so that what the original must give is known: the word, a cycle later."""
    rng = np.random.default_rng(2)
    copy = ArgmaxCopy(CoreConfig(Modular(4), argmax=4, guard=True))
    seen = []

    async def drive(ctx):
        before = None
        ctx.set(copy.live, 1)
        ctx.set(copy.sender, {"live": 0, "emit": 1, "last": 0, "sending": Sending.SEND})
        await ctx.tick().repeat(8)
        for cycle in range(30):
            word = {"data": int(rng.integers(16)), "last": int(rng.integers(2)), "fault": int(rng.integers(2))}
            push = int(rng.integers(2)) or cycle in (10, 11)
            ctx.set(copy.push, push)
            ctx.set(copy.word, word)
            given = dict(before[1]) if before else word
            pushed = before[0] if before else 0
            if cycle == 11 and wrong == "push_o":
                pushed = 0
            elif cycle == 11 and wrong:
                given[wrong] ^= 1
            ctx.set(copy.push_o, pushed)
            ctx.set(copy.word_o, given)
            before = push, word
            await ctx.tick()
            seen.append(ctx.get(copy.mismatch))

    bench.simulate(copy, drive)
    assert [cycle for cycle, mismatch in enumerate(seen) if mismatch] == ([11] if wrong else [])
