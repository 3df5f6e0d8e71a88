"""Replies: a head and then results, as long as they are all faulty or all not; or what the board says of itself."""

import pytest
from skinny.hdl.link.reply import Replier
from skinny.model.link.wire import BoardInfo, Flag, Kind, Reply
from skinny.model.machine.isa import CoreConfig
from skinny.model.rings import Modular

DEVICE = BoardInfo(CoreConfig(Modular(16)), "simulated", 24_000_000, results=8, buffer=512)
#: Results from position 6 on, and whether they are faulty.
RESULTS = {6: (0x1234, 0), 7: (0xFF, 0), 8: (0x8001, 1), 9: (3, 1), 10: (4, 0)}


def rtl_reply(bench, stall, **given):
    replier = Replier(DEVICE)
    sent = bytearray()

    async def drive(ctx):
        for name, value in given.items():
            ctx.set(getattr(replier, name), value)
        ctx.set(replier.head, {"kind": Kind.EXCHANGE | 0x80, "session": 1, "number": 2, "accepted": 3})
        # A result comes two cycles after its position.
        positions = [given["start"]] * 2
        for cycle in range(3000):
            word = RESULTS.get(positions.pop(0), (0, 0))
            ctx.set(replier.word, {"data": word[0], "last": 0, "fault": word[1]})
            positions.append(ctx.get(replier.position))
            ctx.set(replier.o.ready, cycle % stall == 0)
            ctx.set(replier.send, cycle > 1)
            if ctx.get(replier.o.valid) and cycle % stall == 0:
                sent.append(ctx.get(replier.o.payload))
            if ctx.get(replier.sent):
                return
            await ctx.tick()
        raise AssertionError("the reply did not end")

    bench.simulate(replier, drive)
    return Reply.parse(bytes(sent))


@pytest.mark.parametrize("stall", [1, 5])
@pytest.mark.parametrize(
    ("start", "count", "positions", "flags"),
    [(6, 2, [6, 7], 0), (6, 5, [6, 7], 0), (8, 3, [8, 9], Flag.FAULTY), (9, 0, [], 0)],
)
def test_results_up_to_the_first_that_differs_in_its_fault(bench, stall, start, count, positions, flags):
    reply = rtl_reply(bench, stall, start=start, count=count)
    payload = b"".join(RESULTS[position][0].to_bytes(2, "little") for position in positions)
    assert reply == (Kind.EXCHANGE | 0x80, 1, 2, 0, flags, 3, payload)


def test_description(bench):
    reply = rtl_reply(bench, 1, start=8, count=1, describe=1, seal=0xABCD)
    assert reply.payload == (0xABCD).to_bytes(4, "little") + DEVICE.text().encode()
    assert reply.flags == 0
