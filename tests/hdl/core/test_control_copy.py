"""The copy of the control agrees with the original as long as both are told the same, and sees what differs."""

import numpy as np
import pytest
from amaranth import Module, Signal
from skinny.hdl.core.control_copy import ControlCopy
from skinny.hdl.core.inputs import InputBuffer
from skinny.hdl.core.sequencer import Sequencer
from skinny.model.machine.isa import CoreConfig
from skinny.model.rings import Modular

CONFIG = CoreConfig(Modular(8), threads=3, depth=16, inputs=4, guard=True)


def rtl_mismatches(bench, flip, cycles=300):
    """Cycles with a mismatch, when from cycle 200 on a port of the copy is told the opposite."""
    m = Module()
    m.submodules.sequencer = sequencer = Sequencer(CONFIG)
    m.submodules.inputs = inputs = InputBuffer(CONFIG)
    m.submodules.copy = copy = ControlCopy(CONFIG)
    wrong = Signal()
    late_done = Signal(2)
    m.d.sync += [copy.tag.eq(sequencer.tag), late_done.eq(late_done << 1 | sequencer.done)]
    told = {
        "accept": inputs.i.valid & inputs.i.ready,
        "last": inputs.i.p.last,
        "ready": inputs.i.ready,
        "room": sequencer.room,
        "hold": sequencer.hold,
        "last_word": sequencer.last_word,
        "last_input": inputs.last_input,
        "pointers": inputs.pointers,
        "done": late_done[0],
    }
    for name, value in told.items():
        m.d.comb += getattr(copy, name).eq(value ^ wrong if name == flip else value)
    m.d.comb += [
        sequencer.full.eq(inputs.full),
        sequencer.count.eq(inputs.count),
        sequencer.bank.eq(inputs.begun),
        inputs.begin.eq(sequencer.start),
        inputs.release.eq(late_done[1]),
    ]
    rng = np.random.default_rng(1)
    seen = []

    async def drive(ctx):
        ctx.set(sequencer.last_word, 4)
        ctx.set(inputs.last_input, 1)
        for cycle in range(cycles):
            ctx.set(wrong, cycle >= 200)
            ctx.set(inputs.i.valid, int(rng.integers(4)) > 0)
            ctx.set(inputs.i.p.last, int(rng.integers(3)) == 0)
            ctx.set(sequencer.room, int(rng.integers(4)) > 0)
            ctx.set(sequencer.hold, int(rng.integers(8)) == 0)
            if ctx.get(copy.mismatch):
                seen.append(cycle)
            await ctx.tick()

    bench.simulate(m, drive)
    return seen


def test_no_mismatch_in_a_run_without_upsets(bench):
    assert rtl_mismatches(bench, None) == []


@pytest.mark.parametrize("port", ["accept", "last", "ready", "room", "hold", "last_word", "pointers", "done"])
def test_every_difference_is_seen(bench, port):
    seen = rtl_mismatches(bench, port)
    assert seen
    assert 200 <= seen[0] < 230
