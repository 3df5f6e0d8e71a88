"""The words and results of one session: what was sent and asked for, and what came of it.

An :class:`Exchange` decides what to send next and what a reply means; the host sends, receives and waits.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from skinny.model.machine.assemble import Image
from skinny.model.machine.isa import CoreConfig, Words

from .wire import Flag, Kind, Reply, most_results, most_words, pack_words, unpack_words, word_bytes

__all__ = ["POSITIONS", "Exchange", "Order", "Request"]

S = TypeVar("S", bound=np.generic)

#: Positions on the wire are taken modulo this.
POSITIONS = 1 << 16


class Request(NamedTuple):
    """A request that sends input words up to number ``end`` and asks for ``results`` results."""

    kind: Kind
    fields: dict[str, int]
    payload: bytes
    end: int
    results: int


class Exchange:
    """Input ``words`` on their way to a core of ``config``, and its ``results`` with their ``faults``, in ``order``.
    ``begin`` are the words and the results that came before in the same session.

    ``accepted`` is the number of words that the core took, ``got`` that of results that came; the board keeps ``room``
    results. ``busy`` says whether the core was running in its last reply.
    """

    def __init__(
        self, order: Order, words: Words, config: CoreConfig, room: int, begin: tuple[int, int] = (0, 0)
    ) -> None:
        self.words = words
        self.results = np.zeros(order.results(len(words)), dtype=np.uint64)
        self.faults = np.zeros(len(self.results), dtype=np.bool_)
        self.accepted = 0
        self.got = 0
        self.busy = False
        self._order = order
        self._begin = begin
        self._config = config
        self._size = word_bytes(config)
        self._room = room
        self._sent = 0
        self._asked = 0
        #: For each request without a reply, the words that the core has after it and the results that it asked for.
        self._expected: deque[tuple[int, int]] = deque()

    @property
    def done(self) -> bool:
        """Whether the core took all words and all results are here."""
        return self.got >= len(self.results) and self.accepted >= len(self.words)

    def next_request(self, losses: int) -> Request | None:
        """The request to send next, or None when there is nothing to send or to ask for. Frames get shorter with each
        of the ``losses`` in a row, because a short one comes through a bad line more easily."""
        longest = max(1, most_words(self._config) >> losses), max(1, most_results(self._config) >> losses)
        end = max(self._sent, min(self._sent + longest[0], self._order.words(self.got, self._room)))
        count = min(longest[1], self._order.results(end) - self._asked, self.got + self._room - self._asked)
        if end == self._sent and count == 0:
            return None
        kind = Kind.FINISH if self._sent < end == len(self.words) else Kind.EXCHANGE
        words, results = self._begin
        places = {"position": words + self._sent, "taken": results + self.got, "start": results + self._asked}
        fields = {name: value % POSITIONS for name, value in places.items()} | {"count": count}
        return Request(kind, fields, pack_words(self.words[self._sent : end], self._size), end, count)

    def sent(self, request: Request) -> None:
        """The request is on its way."""
        self._sent, self._asked = request.end, self._asked + request.results
        self._expected.append((request.end, request.results))

    def is_possible(self, reply: Reply) -> bool:
        """Whether the reply can be one to the oldest request. It is not when it has words in pieces, more than were
        asked for, or a position where the core cannot be."""
        _, count = self._expected[0]
        whole = len(reply.payload) in range(0, count * self._size + 1, self._size)
        return whole and self._ahead(reply.accepted) <= len(self.words) - self.accepted

    def take(self, reply: Reply | None) -> bool:
        """Take the results of the reply to the oldest request, None if it was lost. False when not all that it should
        do was done, so that the exchange must be resumed."""
        wanted, count = self._expected.popleft()
        if reply is None:
            return False
        found = unpack_words(reply.payload, self._size)
        part = slice(self.got, self.got + len(found))
        self.results[part] = found
        self.faults[part] = bool(reply.flags & Flag.FAULTY)
        self.got += len(found)
        self.busy = bool(reply.flags & Flag.BUSY)
        if (self._ahead(reply.accepted, wanted), len(found)) != (0, count):
            return False
        self.accepted = wanted
        return True

    def resume(self, position: int) -> bool:
        """Go on from where the board says that the core is, all earlier requests being forgotten. False if the core
        cannot be there."""
        self.accepted += self._ahead(position)
        self._expected.clear()
        self._sent, self._asked = self.accepted, self.got
        return self.accepted <= len(self.words)

    def _ahead(self, position: int, of: int | None = None) -> int:
        """How many words a position that the board names is ahead of number ``of``, or of those that it took."""
        return (position - self._begin[0] - (self.accepted if of is None else of)) % POSITIONS


class Order(NamedTuple):
    """The order in which the results of so many vectors come: batch by batch, emit by emit, thread by thread. The first
    ``silent`` vectors, which are whole batches, fill windows and have no results."""

    threads: int
    vector: int
    emits: int
    vectors: int
    silent: int = 0

    def results(self, words: int) -> int:
        """The number of results of the batches that the first ``words`` input words complete."""
        complete = words // self.vector
        whole = complete if complete == self.vectors else complete - complete % self.threads
        return max(0, whole - self.silent) * self.emits

    def words(self, got: int, room: int) -> int:
        """The number of input words that may have been sent when ``got`` results are here and ``room`` more can be
        kept: those of whole batches, one batch at least."""
        batch = self.threads * self.emits
        batches = max((got + room) // batch, got // batch + 1)
        return min(batches * self.threads + self.silent, self.vectors) * self.vector

    def outputs(self, results: Words, faults: NDArray[np.bool_], image: Image) -> tuple[Words, NDArray[np.bool_]]:
        """The outputs of ``image`` in ``results`` and their faults, without its status words."""
        words, faulty = self.arrange(results), self.arrange(faults)
        if image.self_check and len(words):
            # A batch is good only as a whole.
            batches = np.arange(0, len(words), self.threads)
            bad = np.logical_or.reduceat(faulty.any(axis=1), batches)
            faulty |= np.repeat(bad, self.threads)[: len(words), None]
        kept = len(image.outputs)
        return words[:, :kept], faulty[:, :kept]

    def arrange(self, results: NDArray[S]) -> NDArray[S]:
        """``results`` in the shape ``(vectors, emits)``, those of vectors that are not silent."""
        whole = (self.vectors - self.silent) // self.threads * self.threads
        full = results[: whole * self.emits].reshape(-1, self.emits, self.threads).transpose(0, 2, 1)
        rest = results[whole * self.emits :].reshape(self.emits, -1).T
        return np.concatenate([full.reshape(whole, self.emits), rest])
