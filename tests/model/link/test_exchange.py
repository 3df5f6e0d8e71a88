"""One session: words go out and results come back in order, whatever is lost on the way."""

import numpy as np
import pytest
from skinny.model.link.exchange import POSITIONS, Exchange, Order
from skinny.model.link.wire import Flag, Kind, Reply, most_words, pack_words, word_bytes
from skinny.model.machine.isa import CoreConfig
from skinny.model.rings import FixedPoint

CONFIG = CoreConfig(FixedPoint(16, 8), threads=4)


def answered(request, results, taken):
    """A reply that carries out ``request``, with the next of ``results`` after those ``taken``."""
    words = results[taken : taken + request.results]
    return Reply(request.kind, 0, 0, 0, Flag(0), request.end % POSITIONS, pack_words(words, word_bytes(CONFIG)))


def make(vectors, inputs=3, emits=2, room=512):
    order = Order(CONFIG.threads, inputs, emits, vectors)
    return Exchange(order, np.arange(vectors * inputs, dtype=np.uint64), CONFIG, room)


@pytest.mark.parametrize("lost", [0.0, 0.3])
def test_all_words_go_out_and_all_results_come_back(lost):
    rng = np.random.default_rng(1)
    exchange = make(203)
    results = rng.integers(0, 1 << 16, 406).astype(np.uint64)
    core = 0
    while not exchange.done:
        request = exchange.next_request(0)
        assert request is not None
        assert request.fields["position"] == core
        exchange.sent(request)
        if rng.random() < lost:
            core = request.end if rng.random() < 0.5 else core  # the request or its reply was lost
            assert not exchange.take(None)
            assert exchange.resume(core)
        else:
            core = request.end
            assert exchange.take(answered(request, results, exchange.got))
    assert exchange.results.tolist() == results.tolist()
    assert exchange.next_request(0) is None


def test_the_last_words_finish_and_frames_get_shorter():
    request = make(1).next_request(0)
    assert (request.kind, request.end, request.results) == (Kind.FINISH, 3, 2)
    long = make(10_000, room=1 << 14)
    assert long.next_request(0).end == most_words(CONFIG)
    assert long.next_request(1).end == most_words(CONFIG) // 2
    assert long.next_request(30).end == 1


def test_replies_that_cannot_be_are_told():
    exchange = make(1)
    request = exchange.next_request(0)
    exchange.sent(request)
    good = answered(request, np.array([7, 8], dtype=np.uint64), 0)
    assert exchange.is_possible(good)
    assert not exchange.is_possible(good._replace(payload=good.payload + b"\0"))
    assert not exchange.is_possible(good._replace(payload=good.payload * 2))
    assert not exchange.is_possible(good._replace(accepted=4))
    assert not exchange.take(good._replace(payload=b""))
    assert not exchange.resume(4)
