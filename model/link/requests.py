"""Requests to a board and the replies to them, over a line that may lose or garble both."""

from __future__ import annotations

import random
from collections import deque
from typing import Protocol

from skinny.model.errors import CheckError

from .wire import REPLY_BIT, Deframer, Kind, Reason, Reply, frame, request

__all__ = ["Channel", "ForgottenError", "LinkError", "Requests"]

#: Bytes that may come without the reply that is waited for, before it is taken for lost.
NOISE = 8 * 1024


class LinkError(CheckError):
    """The board does not answer, or not as it should."""


class ForgottenError(Exception):
    """The board does not know this session, because it was reset."""


class Channel(Protocol):
    """A line to a board that carries bytes both ways."""

    def write(self, data: bytes, /) -> object: ...

    def read(self, seconds: float, /) -> bytes:
        """The bytes that have come; at least one, unless none comes within ``seconds``."""
        ...


class Requests:
    """The requests of a host that have no reply yet. Several may be on their way; the board answers them in order.

    A reply may take ``seconds``, and ``attempts`` losses in a row are borne. ``room`` is the number of bytes of
    requests without a reply that the board can hold; one request may always be sent. ``lost`` counts the losses so far.
    """

    def __init__(self, channel: Channel, seconds: float, attempts: int) -> None:
        self.room = 0
        self.attempts = attempts
        self.session = 0
        self.lost = 0
        self._channel = channel
        self._seconds = seconds
        self._deframer = Deframer()
        self._bodies: deque[bytes | None] = deque()
        self._number = random.randrange(256)
        #: Number, kind and bytes of the requests without a reply.
        self._open: deque[tuple[int, Kind, int]] = deque()
        #: Whether the board may have got the beginning of a frame without its end.
        self._astray = True

    def send(self, kind: Kind, fields: dict[str, int], payload: bytes = b"") -> bool:
        """Send a request if the board has room for it; return whether it was sent."""
        number = (self._number + 1) % 256
        wire = frame(request(kind, payload, session=self.session, number=number, **fields))
        if self._open and sum(size for _, _, size in self._open) + len(wire) >= self.room:
            return False
        self._number = number
        self._open.append((number, kind, len(wire)))
        self._channel.write(b"\0" + wire if self._astray else wire)
        self._astray = False
        return True

    def receive(self, heed: bool = True) -> Reply | None:
        """The reply to the oldest request, or None when a request or a reply was lost. With ``heed`` a garbled frame
        counts as such a loss; without, it is ignored, because it belongs to requests that were given up."""
        noise = 0
        while noise < NOISE:
            while self._bodies:
                body = self._bodies.popleft()
                reply = None if body is None else Reply.parse(body)
                if reply is None or reply.reason == Reason.GARBLED:
                    if heed:
                        self.lose()
                        return None
                    continue
                for at, (number, kind, _) in enumerate(self._open):
                    if (reply.number, reply.kind) == (number, kind | REPLY_BIT):
                        return self._answer(at, kind, reply)
                # Anything else answers a request that was given up.
            received = self._channel.read(self._seconds)
            if not received:
                break
            noise += len(received)
            self._bodies.extend(self._deframer.feed(received))
        self.lose()
        return None

    def _answer(self, at: int, kind: Kind, reply: Reply) -> Reply | None:
        if reply.reason == Reason.NO_SESSION:
            self.lose()
            raise ForgottenError
        if reply.reason not in (Reason.NONE, Reason.BUSY):
            raise LinkError(f"the board refused a request ({kind.name}) for reason {reply.reason}")
        # Replies come in order: the requests before this one were lost.
        described = kind in (Kind.OPEN, Kind.STATUS)
        if at or reply.reason == Reason.BUSY or (reply.session != self.session and not described):
            self.lose()
            return None
        self._open.popleft()
        return reply

    def lose(self) -> None:
        """Give up all requests without a reply."""
        self._open.clear()
        self._astray = True
        self.lost += 1

    def bear(self, losses: int) -> int:
        """Count one more loss in a row, and raise :exc:`LinkError` when there are too many."""
        if losses + 1 >= self.attempts:
            raise LinkError(f"no answer from the board ({losses + 1} requests in a row)")
        return losses + 1

    def ask(self, kind: Kind, **fields: int) -> Reply:
        """Send one request again and again until it is answered. No other request may be on its way, except those that
        were given up: none of them is left in the board when the reply is here."""
        losses = 0
        while True:
            self.send(kind, fields)
            reply = self.receive(heed=False)
            if reply is not None:
                return reply
            losses = self.bear(losses)
