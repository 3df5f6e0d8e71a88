"""A core behind a serial line answers a request that comes in bits with a reply in bits."""

from skinny.hdl.link.linked import LinkedCore
from skinny.model.link.wire import BoardInfo, Deframer, Kind, Reply, frame, request
from skinny.model.machine.isa import CoreConfig
from skinny.model.rings import Modular

DEVICE = BoardInfo(
    CoreConfig(Modular(8), depth=16, inputs=4, weights=4), "simulated", 24_000_000, results=8, buffer=512
)
DIVISOR = 4


def test_open_over_the_line(bench):
    linked = LinkedCore(DEVICE, None, DIVISOR)
    line = [
        bit for byte in frame(request(Kind.OPEN, session=1, number=9)) for bit in (0, *map(int, f"{byte:08b}"[::-1]), 1)
    ]
    seen = []

    async def drive(ctx):
        for cycle in range(12000):
            ctx.set(linked.rx, line[cycle // DIVISOR] if cycle // DIVISOR < len(line) else 1)
            seen.append(ctx.get(linked.tx))
            await ctx.tick()

    bench.simulate(linked, drive)
    received, at = bytearray(), 0
    while 0 in seen[at:]:
        at = seen.index(0, at)
        received.append(sum(seen[at + DIVISOR * (1 + n) + DIVISOR // 2] << n for n in range(8)))
        at += 10 * DIVISOR - DIVISOR // 2
    (body,) = Deframer().feed(bytes(received))
    reply = Reply.parse(body)
    assert reply[:4] == (Kind.OPEN | 0x80, 1, 9, 0)
    assert reply.payload == bytes(4) + DEVICE.text().encode()
