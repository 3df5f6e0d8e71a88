"""Upsets, boards that talk nonsense and lines that deliver old requests again cost time, never a wrong result."""

import dataclasses
from functools import cache

import numpy as np
import pytest
from skinny.hdl.core import guard
from skinny.hdl.core.settings_parity import SettingsParity
from skinny.model.compiler.pipeline import compile_formula
from skinny.model.formula.formula import variables
from skinny.model.link.host import Host
from skinny.model.link.requests import ForgottenError, LinkError, Requests
from skinny.model.link.wire import (
    BoardInfo,
    Deframer,
    Flag,
    Kind,
    Reason,
    frame,
    load_bytes,
    pack_words,
    seal,
    unpack_words,
    word_bytes,
)
from skinny.model.machine.assemble import assemble
from skinny.model.machine.isa import CoreConfig, Op, Setting, Space
from skinny.model.rings import FixedPoint
from skinny.model.run import golden
from skinny.sim.link.board import SimulatedBoard

CONFIG = CoreConfig(FixedPoint(16, 8), depth=64, inputs=5, weights=6, guard=True)
DEVICE = BoardInfo(CONFIG, "simulated", 24_000_000)
SIZE = word_bytes(CONFIG)
#: Simulated time that a reply may take. The board gives up after 2.7 ms of no progress.
SECONDS = 0.005
#: Bytes of a reply before its payload.
HEAD = 7
NEG = CONFIG.encode(Op.NONE, neg=1)


@cache
def simulated():
    return SimulatedBoard(DEVICE)


@pytest.fixture
def board():
    found = simulated()
    found.read(0.02)
    found.reset()
    return found


@pytest.fixture
def program():
    """One in which every instruction counts."""
    a, b, c = variables("a b c")
    return compile_formula({"y": a * b + 2 * c, "z": a * c * c - 1}).program


@pytest.fixture
def image(program):
    return assemble(program, CONFIG, self_check=True)


@pytest.fixture
def plain(program):
    return assemble(program, CONFIG)


def golden_words(image, vectors):
    return CONFIG.pack(golden.run(image.program, CONFIG.ring, CONFIG.unpack(vectors, len(vectors))).outputs)


def right(host, image, vectors):
    found = host.run(image, vectors)
    return np.array_equal(found.words, golden_words(image, vectors)) and not found.faults.any()


@pytest.fixture
def runs_right(rng, make_vectors):
    """Whether the board computes what the golden model does, for so many random vectors."""
    return lambda host, image, count=30: right(host, image, make_vectors(rng, image, count))


def opened(channel):
    """A window with the next session open."""
    window = Requests(channel, SECONDS, 20)
    window.session = (window.ask(Kind.STATUS).session + 1) % 256
    window.ask(Kind.OPEN)
    return window


def write(board, image, space, address, word):
    """Put ``image`` into the board, then change one word under its seal."""
    Host(board, seconds=SECONDS).load(image, force=True)
    window = opened(board)
    payload = int(word).to_bytes(load_bytes(CONFIG), "little")
    window.send(Kind.LOAD, {"space": int(space), "address": address}, payload)
    assert window.receive().reason == Reason.NONE
    window.ask(Kind.SEAL, seal=seal(image))
    assert Host(board, seconds=SECONDS).status().seal == seal(image)


# Self-checked images


@pytest.mark.parametrize("count", [0, 1, 4, 203])
def test_self_checked_results_are_the_golden_ones(board, image, make_vectors, rng, count):
    host = Host(board, seconds=SECONDS)
    vectors = make_vectors(rng, image, count)
    found = host.run(image, vectors)
    assert found.faults.shape == (count, 2)
    assert np.array_equal(found.words, golden_words(image, vectors))
    assert (found.faults.any(), host.lost, host.recoveries) == (False, 0, 0)


def test_a_status_word_speaks_for_its_batch(board, image, rng):
    # For some vectors another program is undone than was done: only the status word can know.
    words = [
        CONFIG.encode(Op.APPLY_X, dst=2, src=1),
        CONFIG.encode(Op.EMIT, dst=2),
        CONFIG.encode(Op.CHECK),
        CONFIG.encode(Op.EMIT, neg=1),
    ]
    image = dataclasses.replace(
        image,
        words=np.array(words, dtype=np.uint64),
        start=np.array([0, CONFIG.one, 0], dtype=np.uint64),
        instructions=np.full(4, -1),
        outputs=("y",),
        vector=1,
    )
    vectors = (rng.random((50, 1)) < 0.1).astype(np.uint64)
    found = Host(board, seconds=SECONDS).run(image, vectors)
    assert np.array_equal(found.words, vectors)
    expected = [vectors[n - n % CONFIG.threads :][: CONFIG.threads].any() for n in range(50)]
    assert 0 < sum(expected) < 50
    assert found.faults[:, 0].tolist() == expected


# Upsets


@pytest.mark.parametrize("change", [lambda word: 0, lambda word: word ^ NEG], ids=["no", "neg"])
def test_a_broken_word_is_loaded_again(board, image, runs_right, change):
    write(board, image, Space.PROGRAM, 0, change(int(image.words[0])))
    host = Host(board, seconds=SECONDS)
    assert runs_right(host, image)
    assert (host.recoveries, host.loads) == (1, 1)
    assert runs_right(host, image)
    assert (host.recoveries, host.loads) == (1, 1)


def test_a_fault_breaks_the_seal(board, image):
    write(board, image, Space.PROGRAM, 0, 0)
    window = opened(board)
    fields = {"position": 0, "taken": 0, "start": 0, "count": 3}
    window.send(Kind.FINISH, fields, bytes(image.vector * SIZE))
    assert window.receive().flags & Flag.FAULTY
    # Neither a seal nor a reset mends that; loading does.
    window.ask(Kind.SEAL, seal=seal(image))
    host = Host(board, seconds=SECONDS)
    assert host.status() == (DEVICE, 0, True, False)
    assert host.open() == (DEVICE, 0, False, False)
    host.load(image)
    assert (host.status().seal, host.loads) == (seal(image), 1)


def test_a_broken_setting_is_seen_and_mended_by_loading(image, runs_right, monkeypatch):
    # The board comes up with the parity of another number of batches; that setting is the last of an image.
    other = dataclasses.replace(image, outputs=("x", "y", "z"))
    assert (image.batches ^ other.batches).bit_count() % 2 == 1
    monkeypatch.setattr(guard, "SettingsParity", lambda config, _: SettingsParity(config, other))
    host = Host(SimulatedBoard(DEVICE, image), seconds=SECONDS)
    assert host.status() == (DEVICE, 0, True, False)
    assert runs_right(host, image)
    assert (host.loads, host.recoveries) == (1, 0)


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize(
    ("space", "address", "word"),
    [
        (Space.SETTINGS, Setting.BATCHES, 0),
        (Space.SETTINGS, Setting.LAST_WORD, 0),
        (Space.SETTINGS, Setting.LAST_INPUT, 4),
        (Space.PROGRAM, 0, CONFIG.encode(Op.EMIT, dst=0)),
    ],
    ids=["never starts", "ends too early", "waits for inputs", "one word more"],
)
def test_too_few_or_too_many_results(board, image, plain, runs_right, space, address, word, checked):
    chosen = image if checked else plain
    write(board, chosen, space, int(address), word)
    host = Host(board, seconds=SECONDS)
    assert runs_right(host, chosen)
    assert (host.recoveries, host.loads) == (1, 1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([CONFIG.encode(Op.APPLY_X, dst=2, src=1)], r"the core gives no results \(5 requests in a row\)"),
        ([CONFIG.encode(Op.EMIT, neg=n) for n in (0, 0, 1)], "the core gives more results than there are"),
    ],
)
def test_what_loading_does_not_mend_is_an_error(board, plain, make_vectors, rng, words, message):
    changes = {"words": np.array(words, dtype=np.uint64), "instructions": np.full(len(words), -1)}
    broken = dataclasses.replace(plain, **changes)
    host = Host(board, seconds=SECONDS, attempts=5)
    with pytest.raises(LinkError, match=message):
        host.run(broken, make_vectors(rng, broken, 9))
    assert (host.recoveries, host.loads) == (1, 2)


def test_loading_by_force(board, image, runs_right):
    host = Host(board, seconds=SECONDS)
    host.load(image, force=True)
    host.load(image)
    assert host.loads == 1
    host.load(image, force=True)
    assert host.loads == 2
    assert runs_right(host, image)


# Boards that talk nonsense


class Rewriting:
    """A channel that changes replies with results (``empty``: those without, None: all), once or always, and gives them
    the check sum that they then need."""

    def __init__(self, board, change, always=False, empty=False):
        self.board, self.change, self.always, self.empty = board, change, always, empty
        self.changed = 0
        self.deframer = Deframer()
        self.write = board.write

    def read(self, seconds):
        while found := self.board.read(seconds):
            for body in filter(None, list(self.deframer.feed(found))):
                if body[0] & 0x7F in (Kind.EXCHANGE, Kind.FINISH) and self.empty in (None, len(body) == HEAD):
                    if self.always or not self.changed:
                        body = self.change(body)
                    self.changed += 1
                return frame(body)
        return b""


CHANGES = {
    "cut": lambda body: body[:-1],
    "empty but for a byte": lambda body: body[: HEAD + 1],
    "a byte more": lambda body: body[:240] + b"x",
    "twice": lambda body: body + body[HEAD:],
    "words accepted that there are not": lambda body: body[:6] + b"\xff" + body[7:],
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_reply_that_cannot_be_is_a_loss(board, plain, make_vectors, rng, change):
    # So few vectors that results fit a frame twice.
    vectors = make_vectors(rng, plain, 9)
    line = Rewriting(board, change)
    host = Host(line, seconds=SECONDS)
    assert right(host, plain, vectors)
    assert (host.lost, host.recoveries) == (1, 0)
    assert line.changed > 1


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_board_that_always_talks_nonsense_is_an_error(board, plain, make_vectors, rng, change):
    host = Host(Rewriting(board, change, always=True), seconds=SECONDS, attempts=4)
    with pytest.raises(LinkError):
        host.run(plain, make_vectors(rng, plain, 9))


def test_a_board_that_lost_count_is_loaded_again(board, plain, runs_right):
    # The only reply without results is the last one, which tells that there are no more.
    line = Rewriting(board, lambda body: body[:5] + bytes([body[5] ^ 1]) + body[6:], empty=True)
    host = Host(line, seconds=SECONDS)
    assert runs_right(host, plain)
    assert (line.changed, host.recoveries, host.lost) == (2, 1, 0)
    line = Rewriting(board, CHANGES["words accepted that there are not"], always=True, empty=None)
    host = Host(line, seconds=SECONDS)
    with pytest.raises(LinkError, match="the board lost count of the words that it took"):
        runs_right(host, plain)


# Requests that come again


class Replaying:
    """A channel that delivers requests of the past again, of all its users, at any moment."""

    def __init__(self, board, rng, chance):
        self.board, self.rng, self.chance = board, rng, chance
        self.frames = []
        self.replayed = 0

    def replay(self):
        while self.frames and self.rng.random() < self.chance:
            # Old ones and new ones: some session back, then some request of that.
            self.board.write(b"\0" + self.frames[-1 - int(len(self.frames) * self.rng.random() ** 3)])
            self.replayed += 1

    def write(self, data):
        self.replay()
        self.frames.append(data)
        self.board.write(data)
        self.replay()

    def read(self, seconds):
        if self.rng.random() < 0.01:
            self.replay()
        return self.board.read(seconds)


@pytest.mark.parametrize("chance", [0.1, 0.4])
@pytest.mark.parametrize("seed", range(4))
def test_old_requests_change_no_result(board, make_image, make_vectors, seed, chance):
    rng = np.random.default_rng(seed)
    images = [make_image(rng, CONFIG, 8, 1 + n % 2, n % 2 == 0, 1 + n) for n in range(3)]
    line = Replaying(board, rng, chance)
    host = Host(line, seconds=SECONDS)
    for _ in range(40):
        image = images[rng.integers(3)]
        match rng.integers(8):
            case 0:
                board.reset()
            case 1:
                host = Host(line, seconds=SECONDS)
            case 2:
                host.load(image)
        assert right(host, image, make_vectors(rng, image, int(rng.integers(1, 60))))
    assert line.replayed > 50


def test_an_old_session_is_not_opened_again(board, make_image, runs_right, rng):
    # The opening and the seal of the first session come again, then all of the third but the last request to load.
    first, second = (make_image(rng, CONFIG, length=8) for _ in range(2))
    line = Replaying(board, rng, 0)
    host = Host(line, seconds=SECONDS)
    host.load(first, force=True)
    frames = list(line.frames)
    assert runs_right(host, second)
    for old in frames:
        body = next(Deframer().feed(old.lstrip(b"\0")))
        if body[0] in (Kind.OPEN, Kind.SEAL):
            board.write(b"\0" + old)
    board.read(SECONDS)
    assert runs_right(host, first)
    assert runs_right(host, second)


def test_opening_again_changes_nothing(board, plain, make_vectors, rng):
    Host(board, seconds=SECONDS).load(plain)
    vectors = make_vectors(rng, plain, 4)
    window = opened(board)
    payload = pack_words(vectors.reshape(-1), SIZE)
    fields = {"position": 0, "taken": 0, "start": 0, "count": 8}
    window.send(Kind.EXCHANGE, fields, payload)
    expected = window.receive().payload
    assert np.array_equal(unpack_words(expected, SIZE), golden_words(plain, vectors).T.reshape(-1))
    session = window.session
    for other in (session, session - 1, session + 2, session + 128):
        window.session = other % 256
        reply = window.ask(Kind.OPEN)
        assert (reply.reason, reply.session, reply.accepted) == (Reason.NONE, session, vectors.size)
        window.session = session
        window.send(Kind.EXCHANGE, fields, payload)
        assert window.receive().payload == expected
    # Reset closes the session; its number stays the one that comes before the next.
    board.reset()
    with pytest.raises(ForgottenError):
        window.ask(Kind.EXCHANGE, **fields)
    assert window.ask(Kind.OPEN).session == session
    with pytest.raises(ForgottenError):
        window.ask(Kind.EXCHANGE, **fields)
    window.session = (session + 1) % 256
    assert window.ask(Kind.OPEN).accepted == 0
    assert window.ask(Kind.EXCHANGE, **fields).accepted == 0


def test_the_session_of_another_host_is_left_to_it(board, plain, runs_right):
    host = Host(board, seconds=SECONDS)
    host.load(plain)
    # The next session, with the beginning of a vector in it: its words must not be taken for those of the host.
    other = opened(board)
    other.send(Kind.EXCHANGE, {"position": 0, "taken": 0, "start": 0, "count": 0}, bytes(SIZE))
    assert other.receive().accepted == 1
    assert runs_right(host, plain)
    assert (host.lost, host.recoveries) == (0, 0)


def test_in_a_session_a_position_has_one_word(board, make_image, make_vectors, rng):
    # More words than there are positions: an old request would be taken for a new one, a whole round later.
    image = make_image(rng, CONFIG, length=2, inputs=5)
    line = Replaying(board, rng, 0)
    assert right(Host(line, seconds=SECONDS), image, make_vectors(rng, image, 13_500))
    taken = {}
    for old in line.frames:
        body = next(Deframer().feed(old.lstrip(b"\0")))
        if body[0] in (Kind.EXCHANGE, Kind.FINISH):
            at = int.from_bytes(body[3:5], "little")
            for position, word in enumerate(unpack_words(body[10:], SIZE).tolist(), at):
                assert taken.setdefault((body[1], position), word) == word
    assert len(taken) == 13_500 * 5
