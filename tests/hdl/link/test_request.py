"""The request parser: fields, then words of the payload; what is too short or garbled is said."""

import numpy as np
import pytest
from skinny.hdl.link.request import RequestParser, request_fields
from skinny.model.link.wire import Kind, Reason, pack_words, request
from skinny.model.machine.isa import CoreConfig
from skinny.model.rings import Modular

CONFIG = CoreConfig(Modular(16))
EXCHANGE = {"position": 0x102, "taken": 3, "start": 4, "count": 5}


def body(kind, payload=b"", **fields):
    return request(kind, payload, session=7, number=9, **fields)


def rtl_parse(bench, sent, *, want=True, take=True):
    """How the reading of one request ends, its fields, its words and how many bytes were read."""
    parser = RequestParser(CONFIG)
    found = {"words": [], "acts": 0, "bytes": 0}

    async def drive(ctx):
        ctx.set(parser.want, want)
        ctx.set(parser.words.ready, take)
        ctx.set(parser.skip, not take)
        for _ in range(4 * len(sent) + 20):
            at = found["bytes"]
            ctx.set(parser.i.valid, at < len(sent))
            if at < len(sent):
                ctx.set(parser.i.payload, {"data": sent[at], "last": at == len(sent) - 1})
            found["acts"] += ctx.get(parser.act)
            found["bytes"] += at < len(sent) and ctx.get(parser.i.ready)
            if ctx.get(parser.words.valid) and take:
                found["words"].append((ctx.get(parser.words.payload.data), ctx.get(parser.words.payload.last)))
            ended = ctx.get(parser.done), ctx.get(parser.failed)
            await ctx.tick()
            if any(ended):
                found["end"] = (*ended, Reason(ctx.get(parser.reason)))
                found["fields"] = ctx.get(parser.fields)
                found["kinds"] = tuple(ctx.get(p) for p in (parser.exchanges, parser.finishes, parser.describes))
                return

    bench.simulate(parser, drive)
    return found


@pytest.mark.parametrize("kind", [Kind.EXCHANGE, Kind.FINISH])
def test_fields_and_words_of_an_exchange(bench, kind):
    payload = pack_words(np.array([0x1234, 0xFFFF, 1]), 2)
    sent = body(kind, payload, **EXCHANGE)
    found = rtl_parse(bench, sent)
    assert found["end"] == (1, 0, Reason.NONE)
    assert found["fields"] == int.from_bytes(sent[: len(sent) - len(payload)], "little")
    assert found["words"] == [(0x1234, 0), (0xFFFF, 0), (1, 1)]
    assert found["kinds"] == (1, kind is Kind.FINISH, 0)
    assert (found["acts"], found["bytes"]) == (1, len(sent))


@pytest.mark.parametrize(("want", "take"), [(False, True), (True, False)])
def test_a_payload_that_nobody_takes_is_read_to_its_end(bench, want, take):
    sent = body(Kind.EXCHANGE, bytes(8), **EXCHANGE)
    found = rtl_parse(bench, sent, want=want, take=take)
    assert (found["end"], found["words"], found["bytes"]) == ((1, 0, Reason.NONE), [], len(sent))


@pytest.mark.parametrize("length", [3, 9, 11, 13])
def test_a_request_that_ends_too_early_is_malformed(bench, length):
    found = rtl_parse(bench, body(Kind.EXCHANGE, bytes(4), **EXCHANGE)[:length])
    assert found["end"] == (0, 1, Reason.MALFORMED)
    assert found["acts"] == (length > 10)


def test_short_requests_have_no_payload(bench):
    found = rtl_parse(bench, body(Kind.STATUS))
    assert (found["end"], found["kinds"], found["acts"]) == ((1, 0, Reason.NONE), (0, 0, 1), 1)


def test_a_garbled_frame_is_told_and_nothing_is_read_before_the_answer(bench):
    parser = RequestParser(CONFIG)

    async def drive(ctx):
        sent = body(Kind.STATUS)
        ctx.set(parser.i.valid, 1)
        for at, byte in enumerate(sent):
            ctx.set(parser.i.payload, {"data": byte, "last": at == len(sent) - 1})
            await ctx.tick()
        ctx.set(parser.i.valid, 0)
        ctx.set(parser.next, 1)
        await ctx.tick().repeat(3)
        ctx.set(parser.next, 0)
        assert ctx.get(request_fields(parser.fields, Kind.OPEN).kind) == Kind.STATUS
        ctx.set(parser.garbled, 1)
        await ctx.tick()
        ctx.set(parser.garbled, 0)
        ctx.set(parser.i.valid, 1)
        ctx.set(parser.i.payload, {"data": 0, "last": 0})
        assert (ctx.get(parser.failed), ctx.get(parser.i.ready)) == (1, 0)
        for _ in range(3):
            await ctx.tick()
            assert Reason(ctx.get(parser.reason)) is Reason.GARBLED
            assert not ctx.get(parser.i.ready)
        assert ctx.get(parser.fields) == 0
        ctx.set(parser.next, 1)
        await ctx.tick()
        assert ctx.get(parser.i.ready)
        await ctx.tick()
        assert Reason(ctx.get(parser.reason)) is Reason.NONE

    bench.simulate(parser, drive)
