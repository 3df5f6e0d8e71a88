"""The copy of the mover agrees with the original as long as nothing is upset, and sees every word that differs."""

import numpy as np
import pytest
from amaranth import Module, Signal
from skinny.hdl.core.repeat import Mover
from skinny.hdl.core.word_copy import WordCopy
from skinny.model.machine.isa import CoreConfig
from skinny.model.rings import Modular

CONFIG = CoreConfig(Modular(8), guard=True, depth=16, inputs=4, weights=8, repeat=2)


def rtl_mismatches(bench, flip, when=40, cycles=80):
    """Cycles with a mismatch, when in cycle ``when`` a bit is flipped: of the word in memory, or of the moved word in
    the register behind the mover, or of the step that the original gets."""
    m = Module()
    m.submodules.mover = mover = Mover(CONFIG)
    m.submodules.copy = copy = WordCopy(CONFIG)
    stored, wrong = Signal(CONFIG.word_bits), Signal()
    executed = Signal(CONFIG.word_bits)
    first, step, looping = Signal(), Signal(len(mover.step.as_value())), Signal()
    late = {name: Signal.like(value) for name, value in {"step": step, "looping": looping, "first": first}.items()}
    m.d.sync += [
        executed.eq(mover.word_o.as_value()),
        late["step"].eq(step),
        late["looping"].eq(looping),
        late["first"].eq(first),
    ]
    m.d.comb += [
        mover.word.eq(stored ^ (wrong if flip == "memory" else 0)),
        mover.first.eq(first),
        mover.step.eq(step ^ (wrong if flip == "step" else 0)),
        mover.looping.eq(looping),
        copy.stored.eq(mover.word),
        copy.parity.eq(stored.xor()),
        copy.executed.eq(executed ^ (wrong if flip == "register" else 0)),
        copy.step.eq(late["step"]),
        copy.looping.eq(late["looping"]),
        # The tag of the copy comes when the original's is in f1: then `first` is at the mover.
        copy.tag.first.eq(first),
        copy.tag.live.eq(1),
    ]
    rng = np.random.default_rng(1)
    seen = []

    async def drive(ctx):
        ctx.set(first, 1)
        await ctx.tick()
        for cycle in range(cycles):
            ctx.set(first, int(rng.integers(20)) == 0)
            ctx.set(wrong, cycle == when)
            ctx.set(stored, int(rng.integers(1 << CONFIG.word_bits)))
            ctx.set(step, int(rng.integers(1 << len(step))))
            ctx.set(looping, int(rng.integers(2)))
            if cycle > 4 and ctx.get(copy.mismatch):
                seen.append(cycle)
            await ctx.tick()

    bench.simulate(m, drive)
    return seen


def test_nothing_is_found_where_nothing_is_wrong(bench):
    assert rtl_mismatches(bench, None) == []


@pytest.mark.parametrize(("flip", "found"), [("memory", 41), ("register", 40)])
def test_a_word_that_is_upset_is_found_at_once(bench, flip, found):
    assert rtl_mismatches(bench, flip) == [found]


def test_an_offset_that_is_upset_is_found_while_it_lasts(bench):
    seen = rtl_mismatches(bench, "step")
    assert seen[:3] == [43, 44, 45]
