"""The host's end of the link: it sends programs and vectors to a board and receives the results of its core.

Several requests are on their way at a time. When one is lost, for whatever cause, all requests without a reply are sent
again, from the position that the board names; ``docs/link.md`` says why that is safe. A core that met a fault, or gives
too few results or too many, is reset and loaded again, and the vectors are sent again: ``docs/faults.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from skinny.model.errors import InputError
from skinny.model.machine.assemble import Image
from skinny.model.machine.image import Write
from skinny.model.machine.isa import CoreConfig, Words
from skinny.model.rings import Array, Boolean

from .exchange import POSITIONS, Exchange, Order
from .requests import Channel, ForgottenError, LinkError, Requests
from .wire import (
    PATIENCE,
    REQUEST,
    BoardInfo,
    Flag,
    Kind,
    Reply,
    load_bytes,
    most_loads,
    pack_words,
    seal,
)

__all__ = ["Host", "Outputs", "Status"]

T = TypeVar("T")
S = TypeVar("S", bound=np.generic)

#: Numbers of sessions are taken modulo this.
SESSIONS = 1 << 8


class Status(NamedTuple):
    """The state of a board: its description, the ``seal`` of the image that it holds (zero for none), whether it has
    met a fault, and whether its core is running."""

    info: BoardInfo
    seal: int
    fault: bool
    busy: bool


class Outputs(NamedTuple):
    """The results of vectors: hardware ``words`` of shape ``(vectors, outputs)``. ``faults`` marks those that come from
    a run that had met a malformed word or a failed check; in a self-checked image, from a batch with such a run."""

    words: Words
    faults: NDArray[np.bool_]


class _UpsetError(LinkError):
    """The board answers, but its core does not give the results that are due."""


class Host:
    """The board at the other end of ``channel``.

    ``seconds`` is how long a reply may take, ``attempts`` how many losses in a row are borne. Raises
    :exc:`~.requests.LinkError` after that. It never waits for ever, and returns nothing that the core did not compute.

    ``loads`` counts how often a program was sent, ``recoveries`` how often a core was reset and loaded because of its
    results, ``retunes`` how often the words of settable weights alone were.
    """

    def __init__(self, channel: Channel, *, seconds: float = 0.5, attempts: int = 20) -> None:
        self.loads = 0
        self.retunes = 0
        self.recoveries = 0
        self._requests = Requests(channel, seconds, attempts)
        #: The session that the board named last.
        self._named: int | None = None

    @property
    def lost(self) -> int:
        """Requests and replies that were lost so far."""
        return self._requests.lost

    def open(self) -> Status:
        """Begin a session: the core is reset and keeps its program and weights."""
        if self._named is None:
            self._named = self._requests.ask(Kind.STATUS).session
        for _ in range(self._requests.attempts):
            self._requests.session = (self._named + 1) % SESSIONS
            reply = self._requests.ask(Kind.OPEN)
            self._named = reply.session
            # A session with words in it is that of another host.
            if (reply.session, reply.accepted) == (self._requests.session, 0):
                return self._describe(reply)
        raise LinkError("the board opens no session: another host may have it")

    def status(self) -> Status:
        """The state of the board now. This needs no session and leaves an open session as it is."""
        return self._describe(self._requests.ask(Kind.STATUS))

    def load(self, image: Image, force: bool = False) -> None:
        """Put ``image`` into the core, unless it is there already; with ``force`` in any case. Raises :exc:`InputError`
        if it was made for another core."""
        self._persist(lambda: self._load(image, force))

    def run(self, image: Image, vectors: Words) -> Outputs:
        """Run ``image`` on ``vectors`` of shape ``(vectors, image.vector)``, loaded first if the core holds another.
        Faults that come back are those of a second run, on a core that was loaded again."""
        vectors = np.asarray(vectors, dtype=np.uint64)
        if vectors.ndim != 2 or vectors.shape[1] != image.vector:
            raise InputError(f"the vectors must have the shape (vectors, {image.vector}), not {vectors.shape}")
        # In a session no position comes twice, as long as a batch has so few words.
        batch = image.batch * max(image.vector, image.emits)
        most = max(1, (POSITIONS - 1) // batch) * image.batch
        found = [self._run_sure(image, vectors[at : at + most]) for at in range(0, max(1, len(vectors)), most)]
        words, faults = zip(*found, strict=True)
        return Outputs(np.concatenate(words), np.concatenate(faults))

    def run_elements(self, image: Image, elements: Array) -> tuple[Array, NDArray[np.bool_]]:
        """The same for ``elements`` of the ring, of shape ``(batch, inputs)``: those of the outputs, and which rows met
        a fault."""
        config = image.config
        vectors = config.pack(elements)
        if not image.program.inputs:
            vectors = np.zeros((len(vectors), 1), dtype=np.uint64)
        found = self.run(image, vectors)
        # A vector of the Boolean ring holds many inferences; its fault is one of them all.
        faulty = np.repeat(found.faults.any(axis=1), config.slices if isinstance(config.ring, Boolean) else 1)
        return config.unpack(found.words, len(elements)), faulty[: len(elements)]

    def run_stream(self, pieces: Sequence[tuple[Image, Words]]) -> Outputs:
        """Run streams from their beginning, one for each thread. A piece is an image, and the ``vectors`` that run on
        it, one for each thread in turn; images differ in named weights, which are written before the piece, and states
        are kept. It takes one session, because a new one resets the core."""
        words = sum(vectors.size for _, vectors in pieces)
        for image, vectors in pieces:
            if vectors.ndim != 2 or vectors.shape[1] != image.vector or len(vectors) % image.config.threads:
                threads = image.config.threads
                raise InputError(f"the vectors must be those of {threads} threads, {image.vector} words each")
        results = sum(len(vectors) * image.emits for image, vectors in pieces)
        if max(words, results) >= POSITIONS:
            most = (POSITIONS - 1) // (image.config.threads * max(image.vector, image.emits))
            raise InputError(f"over the link streams of this program have at most {most:,} samples")
        return self._sure(lambda force: self._run_pieces(pieces, force))

    def _run_pieces(self, pieces: Sequence[tuple[Image, Words]], force: bool) -> Outputs:
        info = self._load(pieces[0][0], force)
        begin, found = (0, 0), []
        for number, (image, vectors) in enumerate(pieces):
            if number and (writes := list(image.settable_weights())):
                self._write(writes, image.config, begin[1])
                self._requests.ask(Kind.SEAL, seal=seal(image))
                self.retunes += 1
            silent = min(len(vectors), max(0, image.silent_vectors - begin[0] // image.vector))
            found.append(self._run(info, image, vectors, silent, begin))
            begin = begin[0] + vectors.size, begin[1] + (len(vectors) - silent) * image.emits
        words, faults = zip(*found, strict=True)
        return Outputs(np.concatenate(words), np.concatenate(faults))

    def _run_sure(self, image: Image, vectors: Words) -> Outputs:
        return self._sure(lambda force: self._run(self._load(image, force), image, vectors))

    def _sure(self, session: Callable[[bool], Outputs]) -> Outputs:
        """The results of one session, or of a second one if the first are faulty or not complete, for which the program
        is loaded again."""
        try:
            found = self._persist(lambda: session(False))
            if not found.faults.any():
                return found
        except _UpsetError:
            pass
        self.recoveries += 1
        return self._persist(lambda: session(True))

    def _describe(self, reply: Reply) -> Status:
        size = REQUEST[Kind.SEAL]["seal"]
        info = BoardInfo.parse(reply.payload[size:].decode("ascii", "replace"))
        self._requests.room = info.buffer
        number = int.from_bytes(reply.payload[:size], "little")
        return Status(info, number, bool(reply.flags & Flag.FAULT), bool(reply.flags & Flag.BUSY))

    def _persist(self, work: Callable[[], T]) -> T:
        """The result of ``work``, which is done again from the beginning each time the board is reset meanwhile."""
        for _ in range(self._requests.attempts):
            try:
                return work()
            except ForgottenError:
                continue
        raise LinkError("the board was reset again and again")

    def _load(self, image: Image, force: bool = False) -> BoardInfo:
        status = self.open()
        config = status.info.config
        if image.config != config:
            raise InputError(f"the image is made for {image.config}, the board has {config}")
        held = status.seal == seal(image) and not force
        writes = list(image.settable_weights() if held else image.loads())
        if not writes:
            return status.info
        self._write(writes, config)
        self._requests.ask(Kind.SEAL, seal=seal(image))
        self.loads += not held
        self.retunes += held
        return status.info

    def _write(self, writes: Sequence[Write], config: CoreConfig, got: int = 0) -> None:
        """Carry out ``writes``, which are sorted by space and address, in a session that gave ``got`` results so far;
        successive ones share a request."""
        requests: list[tuple[dict[str, int], bytes]] = []
        for (space, _), group in groupby(
            enumerate(writes), key=lambda item: (item[1].space, item[1].address - item[0])
        ):
            run = [item for _, item in group]
            words = np.array([item.data for item in run], dtype=np.uint64)
            for at in range(0, len(words), most_loads(config)):
                payload = pack_words(words[at : at + most_loads(config)], load_bytes(config))
                requests.append(({"space": int(space), "address": run[at].address}, payload))
        done = sent = losses = 0
        while done < len(requests):
            while sent < len(requests) and self._requests.send(Kind.LOAD, *requests[sent]):
                sent += 1
            if self._requests.receive() is not None:
                done, losses = done + 1, 0
            else:
                self._locate(got)
                sent, losses = done, self._requests.bear(losses)

    def _locate(self, got: int = 0) -> int:
        """The number of words that the core took, modulo ``POSITIONS``, when every earlier request is carried out or
        lost."""
        at = got % POSITIONS
        return self._requests.ask(Kind.EXCHANGE, position=0, taken=at, start=at, count=0).accepted

    def _run(
        self, info: BoardInfo, image: Image, vectors: Words, silent: int = 0, begin: tuple[int, int] = (0, 0)
    ) -> Outputs:
        """The results of ``vectors`` in the session that is open, of which the first ``silent`` have none. ``begin``
        are the words and the results of the session so far."""
        order = Order(image.config.threads, image.vector, image.emits, len(vectors), silent)
        exchange = Exchange(order, vectors.reshape(-1), image.config, info.results, begin)
        # A long program gives no results for a while.
        patience = self._requests.attempts + image.steps * image.config.threads // PATIENCE
        losses = 0
        while not exchange.done:
            while (request := exchange.next_request(losses)) is not None:
                if not self._requests.send(request.kind, request.fields, request.payload):
                    break
                exchange.sent(request)
            before = exchange.accepted, exchange.got
            reply = self._requests.receive()
            if reply is not None and not exchange.is_possible(reply):
                self._requests.lose()
                reply = None
            if exchange.take(reply):
                losses = 0
                continue
            if not exchange.resume(self._locate(begin[1] + exchange.got)):
                raise _UpsetError("the board lost count of the words that it took")
            losses = losses + 1 if before == (exchange.accepted, exchange.got) else 0
            if losses >= patience:
                raise _UpsetError(f"the core gives no results ({losses} requests in a row), though the board answers")
        ended = begin[0] + len(exchange.words), begin[1] + len(exchange.results)
        self._expect_rest(*ended, exchange.busy, patience)
        words, faulty = order.outputs(exchange.results, exchange.faults, image)
        return Outputs(words, faulty)

    def _expect_rest(self, words: int, results: int, busy: bool, patience: int) -> None:
        """Raise unless the core took exactly so many words and gave exactly so many results: one that was lost or added
        on the way would shift all that come after it. ``busy`` says whether the core was running in its last reply."""
        at = results % POSITIONS
        for _ in range(patience):
            # The board waits for a result only where the position is the right one.
            position = (words + (not busy)) % POSITIONS
            reply = self._requests.ask(Kind.EXCHANGE, position=position, taken=at, start=at, count=1)
            if reply.payload:
                raise _UpsetError("the core gives more results than there are")
            if reply.accepted != words % POSITIONS:
                raise _UpsetError("the board lost count of the words that it took")
            if not busy:
                return
            busy = bool(reply.flags & Flag.BUSY)
        raise _UpsetError("the core does not come to rest")
