"""The board's end of the link: every request gets one reply, and the core sees what the request asks for."""

import pytest
from skinny.hdl.link import link as link_module
from skinny.hdl.link.link import Link
from skinny.model.link.wire import BoardInfo, Flag, Kind, Reason, Reply, request
from skinny.model.machine.isa import CoreConfig
from skinny.model.rings import Modular

DEVICE = BoardInfo(CoreConfig(Modular(16)), "simulated", 24_000_000, results=8, buffer=512)
NOTHING = {"position": 0, "taken": 0, "start": 0, "count": 0}


async def ask(ctx, link, body, limit=5000):
    """The reply to one request; words of the core are counted."""
    sent, reply, words = 0, bytearray(), 0
    ctx.set(link.o.ready, 1)
    for _ in range(limit):
        ctx.set(link.i.valid, sent < len(body))
        if sent < len(body):
            ctx.set(link.i.payload, {"data": body[sent], "last": sent == len(body) - 1})
        sent += sent < len(body) and ctx.get(link.i.ready)
        words += ctx.get(link.words.valid) & ctx.get(link.words.ready)
        if ctx.get(link.o.valid):
            reply.append(ctx.get(link.o.payload))
        finished = ctx.get(link.finish)
        await ctx.tick()
        if finished:
            ctx.set(link.i.valid, 0)
            return Reply.parse(bytes(reply)), words
    raise AssertionError(f"no reply after {limit} cycles")


def test_status_tells_what_the_board_is(bench):
    link = Link(DEVICE, 77)

    async def drive(ctx):
        reply, _ = await ask(ctx, link, request(Kind.STATUS, session=0, number=4))
        assert reply[:4] == (Kind.STATUS | 0x80, 0, 4, Reason.NONE)
        assert reply.payload == (77).to_bytes(4, "little") + DEVICE.text().encode()

    bench.simulate(link, drive)


@pytest.mark.parametrize("ready", [0, 1])
def test_an_exchange_gives_words_and_takes_results_or_loses_its_patience(bench, monkeypatch, ready):
    monkeypatch.setattr(link_module, "PATIENCE", 50)
    link = Link(DEVICE, 0)

    async def drive(ctx):
        await ask(ctx, link, request(Kind.OPEN, session=1, number=1))
        for word in (11, 12):
            ctx.set(link.results.payload, {"data": word, "last": 0, "fault": 0})
            ctx.set(link.results.valid, 1)
            await ctx.tick()
        ctx.set(link.results.valid, 0)
        ctx.set(link.words.ready, ready)
        ctx.set(link.fault, 1)
        body = request(Kind.EXCHANGE, bytes(6), session=1, number=2, **NOTHING | {"count": 3})
        reply, words = await ask(ctx, link, body, limit=400)
        assert (reply.accepted, words, reply.flags) == (3 * ready, 3 * ready, Flag.FAULT)
        assert reply.payload == bytes([11, 0, 12, 0])

    bench.simulate(link, drive)
