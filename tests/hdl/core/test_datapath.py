"""The datapath: an instruction retires T + 1 cycles after it entered, and the next of its thread finds its result."""

import pytest
from skinny.hdl.core.datapath import Datapath
from skinny.model.machine.isa import CoreConfig, Op
from skinny.model.rings import Modular


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_products_add_up_in_the_register_of_their_thread(bench, threads):
    """R0 ← R0 + x·R1 again and again, with an x of its own for every thread; R0 starts at 1, R1 at 3."""
    config = CoreConfig(Modular(16), threads=threads, depth=16)
    datapath = Datapath(config)
    rounds = 4
    retired = []

    async def drive(ctx):
        for register, word in enumerate((1, 3, 0)):
            ctx.set(datapath.start[register], word)
        control = datapath.control
        for name, value in {"op": Op.APPLY_X, "source": 0b010, "onto": 0b0001, "target": 0, "write": 1}.items():
            ctx.set(control[name], value)
        for cycle in range(rounds * threads + threads + 1):
            step, thread = divmod(cycle, threads)
            live = step < rounds
            tag = {"live": live, "valid": live, "first": live and step == 0, "thread": thread, "pc": step}
            ctx.set(datapath.tag, tag)
            ctx.set(datapath.x, 10 + (cycle - 1) % threads)  # a cycle after its instruction
            if ctx.get(datapath.retire.valid):
                report = datapath.retire
                retired.append((cycle, *(ctx.get(each) for each in (report.thread, report.pc, report.value))))
            await ctx.tick()

    bench.simulate(datapath, drive)
    issued = [(step, thread) for step in range(rounds) for thread in range(threads)]
    expected = [
        (at + threads + 1, thread, step, 1 + (step + 1) * 3 * (10 + thread)) for at, (step, thread) in enumerate(issued)
    ]
    assert retired == expected
