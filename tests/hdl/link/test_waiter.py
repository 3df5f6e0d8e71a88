"""The waiter: a reply has the results that are asked for, or those that are there when waiting is of no use."""

import pytest
from skinny.hdl.link.waiter import Waiter
from skinny.model.link.wire import Flag


def rtl_wait(bench, cycles, **given):
    """Whether the waiter is done after ``cycles`` cycles, and how many results the reply has then."""
    waiter = Waiter()
    found = []

    async def drive(ctx):
        for name, value in given.items():
            ctx.set(getattr(waiter, name), value)
        await ctx.tick()
        ctx.set(waiter.wait, 1)
        for _ in range(cycles):
            if ctx.get(waiter.done):
                break
            await ctx.tick()
        found.append(ctx.get(waiter.done))
        await ctx.tick()
        found.extend([ctx.get(waiter.count), ctx.get(waiter.flags)])

    bench.simulate(waiter, drive)
    return tuple(found)


HERE = {"results": 1, "first": 65534, "end": 3, "start": 65535}  # four are there from `start` on


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"wanted": 4}, (1, 4, 0)),
        ({"wanted": 2, "fault": 1}, (1, 2, Flag.FAULT)),
        ({"wanted": 5, "busy": 1}, (0, 0, Flag.BUSY)),
        ({"wanted": 5, "worn": 1}, (1, 4, 0)),
        ({"wanted": 5, "astray": 1}, (1, 4, 0)),
        ({"wanted": 2, "start": 7, "astray": 1}, (1, 0, 0)),  # not there yet
        ({"wanted": 2, "start": 7}, (0, 0, 0)),
        ({"wanted": 2, "start": 65533}, (1, 0, 0)),  # given up
        ({"wanted": 2, "results": 0}, (1, 0, 0)),
    ],
)
def test_how_many_results(bench, given, expected):
    assert rtl_wait(bench, 6, **(HERE | given)) == expected
