"""The actor: sessions, seals and positions; words go to the core, and no word waits for ever."""

import pytest
from skinny.hdl.link.actor import Actor
from skinny.model.link.wire import Kind, Reason, request
from skinny.model.machine.isa import CoreConfig, Space
from skinny.model.rings import Modular

CONFIG = CoreConfig(Modular(16), depth=64, inputs=4, weights=8)
NOTHING = {"position": 0, "taken": 0, "start": 0, "count": 0}


async def ask(ctx, actor, kind, session, **fields):
    """One request up to its payload: whether that is wanted, whether results are freed, and the reason."""
    ctx.set(actor.next, 1)
    await ctx.tick()
    ctx.set(actor.next, 0)
    ctx.set(actor.fields, int.from_bytes(request(kind, session=session, number=1, **fields), "little"))
    ctx.set(actor.exchanges, kind in (Kind.EXCHANGE, Kind.FINISH))
    ctx.set(actor.finishes, kind is Kind.FINISH)
    ctx.set(actor.describes, kind in (Kind.OPEN, Kind.STATUS))
    await ctx.tick()
    ctx.set(actor.act, 1)
    answer = ctx.get(actor.want), ctx.get(actor.free)
    await ctx.tick()
    ctx.set(actor.act, 0)
    return (*answer, Reason(ctx.get(actor.reason)))


async def hand(ctx, actor, word, last=0):
    ctx.set(actor.payload.payload, {"data": word, "last": last})
    ctx.set(actor.payload.valid, 1)


def test_only_the_next_session_opens_and_others_are_refused(bench):
    actor = Actor(CONFIG, 32, 77)

    async def drive(ctx):
        assert await ask(ctx, actor, Kind.SEAL, 0, seal=5) == (0, 0, Reason.NO_SESSION)
        for session, opens in ((3, 0), (1, 1), (1, 0), (2, 1)):
            assert await ask(ctx, actor, Kind.OPEN, session) == (0, 0, Reason.NONE)
            assert ctx.get(actor.reset) == opens
        assert (ctx.get(actor.session), ctx.get(actor.seal)) == (2, 77)
        assert await ask(ctx, actor, Kind.EXCHANGE, 1, **NOTHING) == (0, 0, Reason.NO_SESSION)
        assert await ask(ctx, actor, Kind.EXCHANGE, 2, **NOTHING) == (1, 1, Reason.NONE)

    bench.simulate(actor, drive)


def test_loads_and_faults_break_the_seal(bench):
    actor = Actor(CONFIG, 32, 77)

    async def drive(ctx):
        await ask(ctx, actor, Kind.OPEN, 1)
        assert await ask(ctx, actor, Kind.LOAD, 1, space=Space.WEIGHTS, address=6) == (1, 0, Reason.NONE)
        assert ctx.get(actor.seal) == 0
        await ask(ctx, actor, Kind.SEAL, 1, seal=0xABCD)
        assert ctx.get(actor.seal) == 0xABCD
        ctx.set(actor.fault, 1)
        await ctx.tick()
        assert ctx.get(actor.seal) == 0

    bench.simulate(actor, drive)


@pytest.mark.parametrize(("space", "address"), [(len(Space), 0), (Space.PROGRAM, 64)])
def test_a_load_beyond_the_core_is_malformed(bench, space, address):
    actor = Actor(CONFIG, 32, 0)

    async def drive(ctx):
        await ask(ctx, actor, Kind.OPEN, 1)
        assert await ask(ctx, actor, Kind.LOAD, 1, space=space, address=address) == (0, 0, Reason.MALFORMED)

    bench.simulate(actor, drive)


def test_words_are_loaded_at_successive_addresses_or_given_up(bench):
    actor = Actor(CONFIG, 32, 0)

    async def drive(ctx):
        await ask(ctx, actor, Kind.OPEN, 1)
        await ask(ctx, actor, Kind.LOAD, 1, space=Space.WEIGHTS, address=6)
        ctx.set(actor.load.ready, 1)
        for address in (6, 7):
            await hand(ctx, actor, 100 + address)
            item = actor.load.payload
            seen = [ctx.get(each) for each in (actor.load.valid, item.space, item.address, item.data)]
            assert seen == [1, Space.WEIGHTS, address, 100 + address]
            assert not ctx.get(actor.words.valid)
            await ctx.tick()
        ctx.set(actor.load.ready, 0)
        ctx.set(actor.worn, 1)
        assert (ctx.get(actor.payload.ready), ctx.get(actor.skip)) == (0, 1)
        await ctx.tick()
        assert Reason(ctx.get(actor.reason)) is Reason.BUSY

    bench.simulate(actor, drive)


def test_input_words_are_counted_and_only_the_next_ones_are_taken(bench):
    actor = Actor(CONFIG, 32, 0)

    async def drive(ctx):
        await ask(ctx, actor, Kind.OPEN, 1)
        assert await ask(ctx, actor, Kind.FINISH, 1, **NOTHING) == (1, 1, Reason.NONE)
        ctx.set(actor.words.ready, 1)
        for last in (0, 1):
            await hand(ctx, actor, 5, last)
            word = actor.words.payload
            assert [ctx.get(each) for each in (actor.words.valid, word.data, word.last)] == [1, 5, last]
            await ctx.tick()
        ctx.set(actor.payload.valid, 0)
        assert ctx.get(actor.accepted) == 2
        assert await ask(ctx, actor, Kind.EXCHANGE, 1, **NOTHING) == (0, 1, Reason.NONE)
        assert ctx.get(actor.astray)
        assert await ask(ctx, actor, Kind.EXCHANGE, 1, **NOTHING | {"position": 2}) == (1, 1, Reason.NONE)
        assert not ctx.get(actor.astray)
        assert await ask(ctx, actor, Kind.EXCHANGE, 1, **NOTHING | {"count": 255}) == (0, 1, Reason.MALFORMED)

    bench.simulate(actor, drive)
