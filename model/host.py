"""The host's end of the link: programs to a board, vectors to its core, results back.

Several requests are on their way at a time. When one is lost, whatever the cause, all that were not answered are sent
again from where the board says it is; ``docs/link.md`` says why that is safe.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import groupby
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from .assemble import Image
from .errors import InputError
from .isa import Words
from .link import (
    PATIENCE,
    REQUEST,
    Device,
    Flag,
    Kind,
    load_bytes,
    most_loads,
    most_results,
    most_words,
    pack_words,
    seal,
    unpack_words,
    word_bytes,
)
from .window import Channel, ForgottenError, LinkError, Window

__all__ = ["Host", "Outputs", "Status"]

T = TypeVar("T")
S = TypeVar("S", bound=np.generic)

#: Positions on the wire are taken modulo this.
POSITIONS = 1 << 16


class Status(NamedTuple):
    """A board and what it is doing. ``seal`` is that of the image it holds, zero for none."""

    device: Device
    seal: int
    fault: bool
    busy: bool


class Outputs(NamedTuple):
    """Results of vectors: hardware ``words`` of shape ``(vectors, outputs)``, and which of them come from a run that
    had met a malformed word or a failed check."""

    words: Words
    faults: NDArray[np.bool_]


class Host:
    """The board at the other end of ``channel``.

    ``seconds`` is how long a reply may take, ``attempts`` how many losses in a row are borne. Raises
    :exc:`~.window.LinkError` after that; never waits for ever, and never returns what the core did not compute.
    """

    def __init__(self, channel: Channel, *, seconds: float = 0.5, attempts: int = 20) -> None:
        self._window = Window(channel, seconds, attempts)

    @property
    def lost(self) -> int:
        """Requests and replies that were lost so far."""
        return self._window.lost

    def open(self) -> Status:
        """Begin a session: the core is reset, what it holds stays."""
        # Unlike the session before, whose requests must not be taken for those of this one.
        self._window.session = self._window.session % 255 + 1
        return self._describe(Kind.OPEN)

    def status(self) -> Status:
        """What the board says now. Needs no session and leaves one as it is."""
        return self._describe(Kind.STATUS)

    def load(self, image: Image) -> None:
        """Put ``image`` into the core, unless it is there. Raises :exc:`InputError` if it was made for another."""
        self._persist(lambda: self._load(image))

    def run(self, image: Image, vectors: Words) -> Outputs:
        """Run ``image`` on ``vectors`` of shape ``(vectors, image.vector)``, loaded first if the core holds another."""
        vectors = np.asarray(vectors, dtype=np.uint64)
        if vectors.ndim != 2 or vectors.shape[1] != image.vector:
            raise InputError(f"the vectors must have the shape (vectors, {image.vector}), not {vectors.shape}")

        def attempt() -> Outputs:
            device = self._load(image)
            return self._run(device, image, vectors)

        return self._persist(attempt)

    def _describe(self, kind: Kind) -> Status:
        reply = self._window.ask(kind)
        size = REQUEST[Kind.SEAL]["seal"]
        device = Device.parse(reply.payload[size:].decode("ascii", "replace"))
        self._window.room = device.buffer
        number = int.from_bytes(reply.payload[:size], "little")
        return Status(device, number, bool(reply.flags & Flag.FAULT), bool(reply.flags & Flag.BUSY))

    def _persist(self, work: Callable[[], T]) -> T:
        """``work``, from the beginning each time the board is reset meanwhile."""
        for _ in range(self._window.attempts):
            try:
                return work()
            except ForgottenError:
                continue
        raise LinkError("the board was reset again and again")

    def _load(self, image: Image) -> Device:
        status = self.open()
        config = status.device.config
        if image.config != config:
            raise InputError(f"the image is made for {image.config}, the board has {config}")
        if status.seal == seal(image):
            return status.device
        requests: list[tuple[dict[str, int], bytes]] = []
        for space, group in groupby(image.loads(), key=lambda item: item.space):
            words = np.array([item.data for item in group], dtype=np.uint64)
            for at in range(0, len(words), most_loads(config)):
                payload = pack_words(words[at : at + most_loads(config)], load_bytes(config))
                requests.append(({"space": int(space), "address": at}, payload))
        done = sent = losses = 0
        while done < len(requests):
            while sent < len(requests) and self._window.send(Kind.LOAD, *requests[sent]):
                sent += 1
            if self._window.receive() is not None:
                done, losses = done + 1, 0
            else:
                self._locate()
                sent, losses = done, self._window.bear(losses)
        self._window.ask(Kind.SEAL, seal=seal(image))
        return status.device

    def _locate(self, got: int = 0) -> int:
        """How many words the core took, modulo ``POSITIONS``, when all that was sent before is done with or lost."""
        at = got % POSITIONS
        return self._window.ask(Kind.EXCHANGE, position=0, taken=at, start=at, count=0).accepted

    def _run(self, device: Device, image: Image, vectors: Words) -> Outputs:
        config, size = image.config, word_bytes(image.config)
        order = _Order(config.threads, image.vector, len(image.outputs), len(vectors))
        words = vectors.reshape(-1)
        results = np.zeros(order.results(len(words)), dtype=np.uint64)
        faults = np.zeros(len(results), dtype=np.bool_)
        # Words that were sent and that the core took; results that were asked for and that are here.
        sent = accepted = asked = got = losses = 0
        expected: deque[tuple[int, int]] = deque()
        while got < len(results):
            # The worse the line, the shorter the frames.
            most = max(1, most_words(config) >> losses), max(1, most_results(config) >> losses)
            while True:
                end = max(sent, min(sent + most[0], order.words(got, device.results)))
                count = min(most[1], order.results(end) - asked, got + device.results - asked)
                kind = Kind.FINISH if sent < end == len(words) else Kind.EXCHANGE
                fields = {"position": sent, "taken": got, "start": asked}
                fields = {name: value % POSITIONS for name, value in fields.items()} | {"count": count}
                if end == sent and count == 0:
                    break
                if not self._window.send(kind, fields, pack_words(words[sent:end], size)):
                    break
                sent, asked = end, asked + count
                expected.append((sent, count))
            reply = self._window.receive()
            wanted, count = expected.popleft()
            before = accepted, got
            if reply is not None:
                found = unpack_words(reply.payload, size)
                results[got : got + len(found)] = found
                faults[got : got + len(found)] = bool(reply.flags & Flag.FAULTY)
                got += len(found)
                if ((reply.accepted - wanted) % POSITIONS, len(found)) == (0, count):
                    accepted, losses = wanted, 0
                    continue
            accepted += (self._locate(got) - accepted) % POSITIONS
            expected.clear()
            sent, asked = accepted, got
            # A long program has nothing to show for a while.
            limit = len(image) * config.threads // PATIENCE
            losses = self._window.bear(losses, limit) if before == (accepted, got) else 0
        return Outputs(order.arrange(results), order.arrange(faults))


class _Order(NamedTuple):
    """In which order the results of so many vectors come: of a batch, for each output, one a thread."""

    threads: int
    vector: int
    outputs: int
    vectors: int

    def results(self, words: int) -> int:
        """Results of the batches that the first ``words`` input words complete."""
        complete = words // self.vector
        return (complete if complete == self.vectors else complete - complete % self.threads) * self.outputs

    def words(self, got: int, room: int) -> int:
        """Input words that may be on their way when ``got`` results are here and ``room`` more can be kept: those of
        whole batches, one at least."""
        batch = self.threads * self.outputs
        batches = max((got + room) // batch, got // batch + 1)
        return min(batches * self.threads, self.vectors) * self.vector

    def arrange(self, results: NDArray[S]) -> NDArray[S]:
        """Results in the shape ``(vectors, outputs)``."""
        whole = self.vectors // self.threads * self.threads
        full = results[: whole * self.outputs].reshape(-1, self.outputs, self.threads).transpose(0, 2, 1)
        rest = results[whole * self.outputs :].reshape(self.outputs, -1).T
        return np.concatenate([full.reshape(whole, self.outputs), rest])
