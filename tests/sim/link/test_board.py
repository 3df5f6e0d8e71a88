"""The host library through a simulated serial line to the verilated board, whatever happens on the line."""

import dataclasses
from functools import cache

import numpy as np
import pytest
from skinny.model.compiler.stream import compile_states
from skinny.model.errors import InputError
from skinny.model.formula.parse import parse_definitions
from skinny.model.link.host import Host
from skinny.model.link.requests import LinkError
from skinny.model.link.wire import (
    MOST,
    PATIENCE,
    BoardInfo,
    Deframer,
    Flag,
    Kind,
    Reason,
    Reply,
    frame,
    most_words,
    pack_words,
    request,
    seal,
    word_bytes,
)
from skinny.model.machine.assemble import assemble
from skinny.model.machine.isa import CoreConfig, Op, Space
from skinny.model.machine.streams import interleaved, separated
from skinny.model.rings import Boolean, FixedPoint, PrimeField
from skinny.model.run import golden
from skinny.sim.check.generate import random_program
from skinny.sim.check.stimulus import random_elements
from skinny.sim.link.board import SimulatedBoard

SIZES = {"depth": 64, "inputs": 5, "weights": 6}
MAIN = BoardInfo(CoreConfig(FixedPoint(16, 8), **SIZES), "simulated", 24_000_000)
#: Words of many bytes, and memories so small that everything wraps round.
SMALL = BoardInfo(CoreConfig(Boolean(), threads=3, slices=64, **SIZES), "simulated", 24_000_000, results=16, buffer=512)
#: Programs that take longer than the board waits, with more results than it keeps.
LONG = BoardInfo(
    CoreConfig(PrimeField((1 << 31) - 1), threads=8, depth=1 << 14, inputs=5, weights=6),
    *("simulated", 24_000_000),
    results=8,
)
#: Registers in memory; the guard judges them.
DEEP = BoardInfo(
    CoreConfig(FixedPoint(14, 7), 300, 6, registers="memory", guard=True, **SIZES | {"depth": 256}),
    *("simulated", 24_000_000),
)
#: Simulated time that a reply may take. The board gives up after 2.7 ms of no progress.
SECONDS = 0.005


def image_of(rng, device, length=12, outputs=2, inputs=3):
    program = random_program(rng, device.config, length, outputs=outputs, inputs=inputs)
    return assemble(program, device.config)


def vectors_of(rng, image, count):
    config = image.config
    rows = count * config.slices if isinstance(config.ring, Boolean) else count
    return config.pack(random_elements(rng, config.ring, (rows, image.vector)))


def golden_words(image, vectors):
    config = image.config
    rows = len(vectors) * config.slices if isinstance(config.ring, Boolean) else len(vectors)
    return config.pack(golden.run(image.program, config.ring, config.unpack(vectors, rows)).outputs)


def right(host, image, vectors):
    """Whether the board computes what the golden model does, without a fault."""
    found = host.run(image, vectors)
    return np.array_equal(found.words, golden_words(image, vectors)) and not found.faults.any()


@cache
def simulated(device):
    return SimulatedBoard(device)


@pytest.fixture
def board():
    """The main board, reset and undisturbed; what it holds is what the test before left."""
    found = simulated(MAIN)
    found.disturb(0, 0, 1)
    found.read(0.02)
    found.reset()
    return found


class FaultyLine:
    """A channel that loses, changes, doubles and adds bytes, and repeats whole writes, in both directions."""

    def __init__(self, channel, rng, chance):
        self.channel, self.rng, self.chance = channel, rng, chance

    def spoil(self, data):
        out = bytearray()
        for byte in data:
            kind = self.rng.integers(4) if self.rng.random() < self.chance else 4
            out += {
                0: b"",
                1: bytes([byte ^ 1 << self.rng.integers(8)]),
                2: bytes([byte, byte]),
                3: bytes([byte, self.rng.integers(256)]),
                4: bytes([byte]),
            }[int(kind)]
        return bytes(out)

    def write(self, data):
        self.channel.write(self.spoil(data) * (1 + (self.rng.random() < 20 * self.chance)))

    def read(self, seconds):
        # Nothing is what no byte within that time reads as, so what was lost is read on.
        while found := self.channel.read(seconds):
            if spoiled := self.spoil(found):
                return spoiled
        return b""


@pytest.mark.parametrize("device", [MAIN, SMALL, LONG, DEEP], ids=lambda device: device.config.ring.name)
def test_results_are_the_golden_ones(device, rng):
    host = Host(simulated(device), seconds=SECONDS)
    for count, outputs, inputs in ((0, 1, 1), (1, 1, 1), (device.config.threads, 3, 5), (203, 2, 4), (500, 1, 1)):
        image = image_of(rng, device, outputs=outputs, inputs=inputs)
        assert right(host, image, vectors_of(rng, image, count))
    assert host.lost == 0


def test_a_program_reloaded_a_hundred_times(board, rng):
    host = Host(board, seconds=SECONDS)
    images = [image_of(rng, MAIN, int(rng.integers(1, 20)), outputs=int(rng.integers(1, 4))) for _ in range(100)]
    for image in images:
        assert host.status().seal != seal(image)
        assert right(host, image, vectors_of(rng, image, int(rng.integers(1, 12))))
        assert host.status().seal == seal(image)
    assert host.lost == 0


@pytest.mark.parametrize("chance", [0.001, 0.003, 0.01])
def test_lost_changed_doubled_and_added_bytes(board, rng, chance):
    # The board's description is a long frame: at one byte in a hundred it comes through once in ten times or so.
    host = Host(FaultyLine(board, rng, chance), seconds=SECONDS, attempts=100)
    for _ in range(4):
        image = image_of(rng, MAIN)
        assert right(host, image, vectors_of(rng, image, 60))
    assert host.lost > 0


def test_a_disturbed_line(board, rng):
    # Pulses of all lengths up to three bits: false start bits, wrong bits, missing stop bits.
    host = Host(board, seconds=SECONDS)
    board.disturb(7, 1e-5, 12)
    for _ in range(4):
        image = image_of(rng, MAIN)
        assert right(host, image, vectors_of(rng, image, 100))
    assert host.lost > 0


def test_a_line_that_is_too_bad_is_an_error(board, rng):
    image = image_of(rng, MAIN)
    host = Host(board, seconds=SECONDS, attempts=4)
    board.disturb(7, 1e-2, 12)
    with pytest.raises(LinkError, match=r"no answer from the board \(4 requests in a row\)"):
        host.run(image, vectors_of(rng, image, 100))


def test_no_board_is_an_error():
    class Nothing:
        def write(self, data): ...

        def read(self, seconds):
            return b""

    with pytest.raises(LinkError, match=r"no answer from the board \(20 requests in a row\)"):
        Host(Nothing()).open()


def test_a_line_that_never_stops_talking_is_an_error():
    class Babble:
        def write(self, data): ...

        def read(self, seconds):
            return frame(bytes([0x81, 0, 0, 0, 0, 0, 0]))

    with pytest.raises(LinkError, match="no answer from the board"):
        Host(Babble(), attempts=3).open()


class ResettingLine:
    """Resets the board once, when so many bytes were read: in the middle of a frame, most of the time."""

    def __init__(self, board, after):
        self.board, self.after = board, after
        self.write = board.write

    def read(self, seconds):
        self.after -= 1
        if self.after == 0:
            self.board.reset()
        return self.board.read(seconds)


@pytest.mark.parametrize("after", [5, 100, 190, 300, 500, 800, 1100])
def test_a_reset_in_mid_frame(board, rng, after):
    first, image = image_of(rng, MAIN), image_of(rng, MAIN)
    Host(board, seconds=SECONDS).load(first)
    host = Host(ResettingLine(board, after), seconds=SECONDS)
    assert right(host, image, vectors_of(rng, image, 300))
    assert host.lost > 0
    assert right(host, first, vectors_of(rng, first, 30))


def test_a_reset_in_mid_load_breaks_the_seal(board, rng):
    image = image_of(rng, MAIN)
    host = Host(board, seconds=SECONDS)
    host.load(image)
    talk = Talk(board)
    talk.open()
    talk.ask(Kind.LOAD, bytes(4), space=int(Space.PROGRAM), address=0)
    board.reset()
    assert host.status().seal == 0
    assert right(host, image, vectors_of(rng, image, 9))


def test_reset_keeps_what_is_loaded(board, rng):
    image = image_of(rng, MAIN)
    host = Host(board, seconds=SECONDS)
    host.load(image)
    board.reset()
    assert host.status().seal == seal(image)
    before = board.cycles
    host.load(image)
    assert board.cycles - before < 40 * 400  # a request and a reply, no more


def test_at_the_real_speed_with_clocks_that_differ(rng):
    # 1 MBaud of 24 MHz, the host's clock 2 % slow; and a program that the board holds from the beginning.
    image = image_of(np.random.default_rng(1), MAIN)
    host = Host(SimulatedBoard(MAIN, image, divisor=24, bit=24 * 1.02), seconds=0.05)
    assert host.status() == (MAIN, seal(image), False, False)
    assert right(host, image, vectors_of(rng, image, 40))
    other = image_of(rng, MAIN)
    assert right(host, other, vectors_of(rng, other, 40))
    assert host.lost == 0


def test_the_wire_carries_payload_mostly(board, rng):
    # More bytes go to the board than come back; ten bits of four cycles each.
    image = image_of(rng, MAIN, outputs=1, inputs=5)
    vectors = vectors_of(rng, image, 4000)
    host = Host(board, seconds=SECONDS)
    host.load(image)
    before = board.cycles
    assert right(host, image, vectors)
    assert vectors.size * word_bytes(MAIN.config) * 10 * 4 / (board.cycles - before) > 0.92
    assert most_words(MAIN.config) * word_bytes(MAIN.config) / (MOST + 2) == 0.9375


def test_faults_come_with_their_results(board, rng):
    # A check that fails for some vectors only: x added to a register, checked, then sent.
    config = MAIN.config
    image = image_of(rng, MAIN, outputs=1, inputs=1)
    words = [
        config.encode(Op.APPLY_X, dst=0, src=1),
        config.encode(Op.CHECK),
        config.encode(Op.EMIT, dst=0, neg=1),
    ]
    image = dataclasses.replace(
        image,
        words=np.array(words, dtype=np.uint64),
        start=np.array([0, config.one, 0], dtype=np.uint64),
        instructions=np.full(3, -1),
    )
    vectors = rng.integers(0, 3, (50, 1)).astype(np.uint64)
    host = Host(board, seconds=SECONDS)
    found = host.run(image, vectors)
    assert np.array_equal(found.words, vectors)
    assert np.array_equal(found.faults, vectors != 0)
    assert (host.recoveries, host.loads) == (1, 2)
    assert host.status() == (MAIN, 0, True, False)
    assert host.open() == (MAIN, 0, False, False)


def test_a_long_program_is_waited_for(rng):
    host = Host(simulated(LONG), seconds=0.02)
    image = image_of(rng, LONG, length=8000)
    assert len(image) * 8 > 1.5 * PATIENCE
    assert right(host, image, vectors_of(rng, image, 25))


@pytest.mark.parametrize("surplus", [False, True])
def test_a_program_that_goes_on_after_its_results_is_waited_for(rng, surplus):
    # One result is due, at once. What comes long after it tells whether that was the one.
    config = LONG.config
    image = image_of(rng, LONG, outputs=1, inputs=1)
    emit, add = config.encode(Op.EMIT, dst=1), config.encode(Op.APPLY_X, dst=0, src=1)
    words = [emit] + [add] * 12_000 + [emit | config.encode(Op.NONE, neg=1)] * surplus
    image = dataclasses.replace(image, words=np.array(words, dtype=np.uint64), instructions=np.full(len(words), -1))
    assert len(image) * 8 > PATIENCE
    host = Host(simulated(LONG), seconds=0.02)
    if surplus:
        with pytest.raises(LinkError, match="the core gives more results than there are"):
            host.run(image, vectors_of(rng, image, 5))
    else:
        assert host.run(image, vectors_of(rng, image, 5)).words[:, 0].tolist() == [int(image.start[1])] * 5
    assert (host.recoveries, host.lost) == (int(surplus), 0)


def test_an_image_for_another_core_is_refused(board, rng):
    with pytest.raises(InputError, match=r"the image is made for .*prime:2147483647.*, the board has .*fixed:16.8"):
        Host(board, seconds=SECONDS).load(image_of(rng, LONG))


def test_vectors_of_the_wrong_shape_are_refused(board, rng):
    with pytest.raises(InputError, match=r"the vectors must have the shape \(vectors, 3\), not \(4, 2\)"):
        Host(board).run(image_of(rng, MAIN), np.zeros((4, 2), dtype=np.uint64))


class Talk:
    """Single requests, byte for byte."""

    def __init__(self, board):
        self.board = board
        self.session = self.number = 0

    def open(self):
        """Begin the session after the one that the board names."""
        self.session = (self.ask(Kind.STATUS).session + 1) % 256
        assert self.ask(Kind.OPEN).session == self.session

    def send(self, wire):
        """The replies to these bytes."""
        self.board.write(b"\0" + wire)
        bodies, deframer = [], Deframer()
        while found := self.board.read(SECONDS):
            bodies += deframer.feed(found)
        return [Reply.parse(body) for body in bodies]

    def ask(self, kind, payload=b"", **fields):
        self.number += 1
        (reply,) = self.send(frame(request(kind, payload, session=self.session, number=self.number, **fields)))
        assert (reply.kind, reply.number) == (kind | 0x80, self.number)
        return reply


def test_refusals(board):
    talk = Talk(board)
    exchange = {"position": 0, "taken": 0, "start": 0, "count": 0}
    assert talk.ask(Kind.EXCHANGE, **exchange).reason == Reason.NO_SESSION
    talk.open()
    assert talk.ask(Kind.EXCHANGE, **exchange).reason == Reason.NONE
    assert talk.ask(Kind.EXCHANGE, b"x", **exchange).reason == Reason.MALFORMED
    assert talk.ask(Kind.EXCHANGE, **(exchange | {"count": 122})).reason == Reason.MALFORMED
    assert talk.ask(Kind.LOAD, b"abcd", space=4, address=0).reason == Reason.MALFORMED
    assert talk.ask(Kind.LOAD, b"abcd", space=0, address=64).reason == Reason.MALFORMED
    assert talk.ask(Kind.LOAD, b"abc", space=0, address=0).reason == Reason.MALFORMED
    for kind, payload in ((0, b""), (7, b""), (9, b"payload")):
        (reply,) = talk.send(frame(bytes([kind, talk.session, 1]) + payload))
        assert (reply.number, reply.reason) == (1, Reason.UNKNOWN_KIND)
    (reply,) = talk.send(frame(bytes([5, talk.session, 1, 0, 0])))
    assert reply.reason == Reason.MALFORMED
    (reply,) = talk.send(b"garbled\0")
    assert (reply.kind, reply.number, reply.reason) == (0x80, 0, Reason.GARBLED)
    talk.session += 1
    assert talk.ask(Kind.EXCHANGE, **exchange).reason == Reason.NO_SESSION
    talk.session -= 1
    assert talk.ask(Kind.EXCHANGE, **exchange).reason == Reason.NONE


def test_a_request_that_comes_twice_does_nothing_twice(board, rng):
    image = image_of(rng, MAIN, outputs=1, inputs=1)
    Host(board, seconds=SECONDS).load(image)
    vectors = vectors_of(rng, image, 8)
    expected = pack_words(golden_words(image, vectors).reshape(-1), 2)
    talk = Talk(board)
    talk.open()
    payload = pack_words(vectors.reshape(-1), 2)
    fields = {"position": 0, "taken": 0, "start": 0, "count": 8}
    for _ in range(3):
        reply = talk.ask(Kind.EXCHANGE, payload, **fields)
        assert (reply.accepted, reply.payload) == (8, expected)
    # Results that were taken are gone, others are there as often as they are asked for.
    fields |= {"position": 8, "taken": 3, "start": 3, "count": 5}
    for _ in range(2):
        assert talk.ask(Kind.EXCHANGE, **fields).payload == expected[6:]
    fields |= {"start": 2, "count": 1}
    assert talk.ask(Kind.EXCHANGE, **fields).payload == b""
    # Some results do not come; those that are there are given.
    fields |= {"start": 6, "count": 9}
    assert talk.ask(Kind.EXCHANGE, **fields).payload == expected[12:]


def test_a_core_that_is_busy_is_not_loaded(rng):
    image = image_of(rng, LONG, length=8000)
    host = Host(simulated(LONG), seconds=0.02)
    host.load(image)
    talk = Talk(simulated(LONG))
    talk.open()
    payload = bytes(8 * image.vector * word_bytes(LONG.config))
    load = request(Kind.LOAD, bytes(4), session=talk.session, number=77, space=int(Space.SETTINGS), address=0)
    fields = {"session": talk.session, "number": 76, "position": 0, "taken": 0, "start": 0, "count": 0}
    exchange = request(Kind.EXCHANGE, payload, **fields)
    taken, refused = talk.send(frame(exchange) + frame(load))
    assert (taken.accepted, taken.flags & Flag.BUSY) == (8 * image.vector, Flag.BUSY)
    assert (refused.number, refused.reason, refused.flags & Flag.BUSY) == (77, Reason.BUSY, Flag.BUSY)
    assert host.status().seal == 0
    assert right(host, image, vectors_of(rng, image, 2))


#: A core for streams of any kind; the board keeps few results.
STREAMS = BoardInfo(
    CoreConfig(FixedPoint(16, 8), state=True, window=True, assign=True, sums=True, depth=32, inputs=4, weights=8),
    *("simulated", 24_000_000),
    results=16,
    buffer=512,
)
RETUNED = "weight k = 2 in 0:4; state s = 1; let n = s + k*x - x[t-1]; next s = n; y = n; z = s"


def stream_images(**weights):
    definitions = parse_definitions(RETUNED)
    program = compile_states(definitions, width=3, keep=frozenset()).program
    return [assemble(program.with_weights(k=k), STREAMS.config) for k in weights["k"]]


def recurrence(samples, gains):
    """``y`` and ``z`` of every stream and sample but the first, which fills the window."""
    found = []
    for stream in samples[:, :, 0].tolist():
        s, rows = 1, []
        for t in range(1, len(stream)):
            n = s + gains[t] * stream[t] - stream[t - 1]
            rows.append([n, s])
            s = n
        found.append(rows)
    return found


@pytest.mark.parametrize("chance", [0, 0.01])
def test_streams_keep_their_states_when_a_weight_is_written(rng, chance):
    """The first piece ends while the window fills; a line that loses bytes changes nothing."""
    images = stream_images(k=[2, 3, 0])
    samples = rng.integers(-1, 2, (4, 60, 1))
    parts = [samples[:, :1], samples[:, 1:40], samples[:, 40:]]
    pieces = [(image, interleaved(STREAMS.config, part << 8)) for image, part in zip(images, parts, strict=True)]
    board = simulated(STREAMS)
    host = Host(FaultyLine(board, rng, chance) if chance else board, seconds=SECONDS, attempts=100)
    found = host.run_stream(pieces)
    expected = recurrence(samples, [2] + [3] * 39 + [0] * 20)
    assert (separated(STREAMS.config, found.words, 4) >> 8).tolist() == expected
    assert not found.faults.any()
    assert (host.loads, host.retunes) in ((1, 2), (0, 3))
    again = host.run_stream([(images[0], np.concatenate([vectors for _, vectors in pieces]))])
    assert (separated(STREAMS.config, again.words, 4) >> 8).tolist() == recurrence(samples, [2] * 60)


def test_streams_that_do_not_fit_a_session_are_refused(rng):
    (image,) = stream_images(k=[1])
    host = Host(simulated(STREAMS), seconds=SECONDS)
    with pytest.raises(InputError, match="over the link streams of this program have at most 8,191 samples"):
        host.run_stream([(image, np.zeros((4 * 8192, 1), dtype=np.uint64))])
    with pytest.raises(InputError, match="the vectors must be those of 4 threads, 1 words each"):
        host.run_stream([(image, np.zeros((3, 1), dtype=np.uint64))])
