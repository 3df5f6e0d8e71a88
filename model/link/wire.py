"""The wire format between a host and a board; ``docs/link.md`` describes it in words.

The host asks, the board answers, and every request may be repeated: words carry their absolute position, so that a word
that arrives twice is used once. ``hdl`` builds its layouts from :data:`REQUEST` and :data:`REPLY`.
All numbers are unsigned and little-endian.
"""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Iterator, Mapping
from enum import IntEnum, IntFlag
from typing import Any, NamedTuple

import numpy as np
from skinny.model.errors import InputError
from skinny.model.machine.assemble import Image
from skinny.model.machine.isa import CoreConfig, Space, Words
from skinny.model.rings import parse_ring

__all__ = [
    "BAUD",
    "CHECK",
    "LEAST",
    "MOST",
    "PATIENCE",
    "REPLY",
    "REPLY_BIT",
    "REQUEST",
    "BoardInfo",
    "Deframer",
    "Flag",
    "Kind",
    "Reason",
    "Reply",
    "frame",
    "load_bytes",
    "most_loads",
    "most_results",
    "most_words",
    "pack_words",
    "request",
    "seal",
    "unpack_words",
    "word_bytes",
]

VERSION = 1
#: The speed of the line, unless a board is made for another one.
BAUD = 1_000_000
#: Bytes of a check sum (CRC-32 as in Ethernet and zip).
CHECK = 4
#: Most bytes of a frame, its check sum included: the longest run that one COBS code can describe.
MOST = 254
#: Cycles without progress after which the board answers with what it has.
PATIENCE = 1 << 16
#: A reply has the kind of its request with this bit set.
REPLY_BIT = 0x80


class Kind(IntEnum):
    """The kind of a request: the service that it asks for."""

    #: Begin a session, if it is the next one: the core forgets its inputs and results, positions begin at zero. Program
    #: and weights stay.
    OPEN = 1
    #: Describe yourself.
    STATUS = 2
    #: Write words of the payload to a space of the core, at successive addresses. Breaks the seal, as does a fault.
    LOAD = 3
    #: The load is complete: keep this number, the seal, with it.
    SEAL = 4
    #: Take input words, answer with result words.
    EXCHANGE = 5
    #: Take input words and answer like ``EXCHANGE``; the last word of the payload ends a batch.
    FINISH = 6


class Reason(IntEnum):
    """The reason why a request was refused."""

    NONE = 0
    #: A frame came damaged; nothing in it can be trusted, not even its number.
    GARBLED = 1
    UNKNOWN_KIND = 2
    #: The request is not of the session that is open: the board was reset, or another host has it.
    NO_SESSION = 3
    #: A length, an address or a count is impossible.
    MALFORMED = 4
    #: The core was running all the while and could not be loaded.
    BUSY = 5


class Flag(IntFlag):
    """Bits of ``flags`` in a reply."""

    #: The result words of this reply come from runs that met a malformed word or a failed check.
    FAULTY = 1
    #: The core has met a fault since it was reset or loaded.
    FAULT = 2
    #: The core is running.
    BUSY = 4


#: Fields of a request, in bytes, in order: the first three are common to all kinds, then comes the payload.
HEAD = {"kind": 1, "session": 1, "number": 1}
REQUEST: Mapping[Kind, Mapping[str, int]] = {
    Kind.OPEN: HEAD,
    Kind.STATUS: HEAD,
    Kind.LOAD: HEAD | {"space": 1, "address": 4},
    Kind.SEAL: HEAD | {"seal": 4},
    Kind.EXCHANGE: HEAD | {"position": 2, "taken": 2, "start": 2, "count": 1},
    Kind.FINISH: HEAD | {"position": 2, "taken": 2, "start": 2, "count": 1},
}
#: Fields of every reply, then comes the payload.
REPLY: Mapping[str, int] = HEAD | {"reason": 1, "flags": 1, "accepted": 2}
#: Fewest bytes of a frame, its check sum included.
LEAST = sum(HEAD.values()) + CHECK


def frame(body: bytes) -> bytes:
    """``body`` with its check sum as it goes over the wire: every zero byte replaced by the distance to the next one
    (consistent overhead byte stuffing), a zero at the end."""
    plain = body + zlib.crc32(body).to_bytes(CHECK, "little")
    if not LEAST <= len(plain) <= MOST:
        raise ValueError(f"a frame must have {LEAST} to {MOST} bytes, not {len(plain)}")
    return b"".join(bytes([len(run) + 1]) + run for run in plain.split(b"\0")) + b"\0"


class Deframer:
    """It finds the bodies of frames in the bytes from the wire, even when some were lost or added on the way."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, received: bytes) -> Iterator[bytes | None]:
        """Take the bytes ``received``; the bodies of the frames that they complete, None for a garbled one."""
        for byte in received:
            if byte:
                self._held.append(byte)
            elif self._held:
                yield _unstuff(bytes(self._held))
                self._held.clear()


def _unstuff(held: bytes) -> bytes | None:
    plain, at = bytearray(), 0
    while at < len(held):
        plain += held[at + 1 : at + held[at]] + b"\0"
        at += held[at]
    body, check = plain[:-1][:-CHECK], plain[:-1][-CHECK:]
    intact = at == len(held) and len(plain) > LEAST and zlib.crc32(body) == int.from_bytes(check, "little")
    return bytes(body) if intact else None


def request(kind: Kind, payload: bytes = b"", **fields: int) -> bytes:
    """The body of a request."""
    values = {"kind": int(kind), **fields}
    return b"".join(values[name].to_bytes(size, "little") for name, size in REQUEST[kind].items()) + payload


class Reply(NamedTuple):
    """A reply as its fields. ``accepted`` counts the input words of this session that the core took, mod 2^16."""

    kind: int
    session: int
    number: int
    reason: int
    flags: Flag
    accepted: int
    payload: bytes

    @classmethod
    def parse(cls, body: bytes) -> Reply | None:
        """The reply in ``body``, or None if it is no reply."""
        head = sum(REPLY.values())
        if len(body) < head or not body[0] & REPLY_BIT:
            return None
        kind, session, number, reason, flags = body[:5]
        return cls(kind, session, number, reason, Flag(flags & 7), int.from_bytes(body[5:head], "little"), body[head:])


# Words


def word_bytes(config: CoreConfig) -> int:
    """The number of bytes of an input or result word."""
    return (config.bits + 7) // 8


def load_bytes(config: CoreConfig) -> int:
    """The number of bytes of a word of the load port."""
    return (config.load_bits + 7) // 8


def most_words(config: CoreConfig) -> int:
    """The number of input words in the largest request."""
    return (MOST - CHECK - sum(REQUEST[Kind.EXCHANGE].values())) // word_bytes(config)


def most_results(config: CoreConfig) -> int:
    """The number of result words in the largest reply."""
    return (MOST - CHECK - sum(REPLY.values())) // word_bytes(config)


def most_loads(config: CoreConfig) -> int:
    """The number of words in the largest load request."""
    return (MOST - CHECK - sum(REQUEST[Kind.LOAD].values())) // load_bytes(config)


def pack_words(words: Words, size: int) -> bytes:
    """Hardware words as ``size`` bytes each."""
    return np.ascontiguousarray(words, dtype="<u8").view(np.uint8).reshape(-1, 8)[:, :size].tobytes()


def unpack_words(payload: bytes, size: int) -> Words:
    """The inverse of :func:`pack_words`."""
    words = np.zeros((len(payload) // size, 8), dtype=np.uint8)
    words[:, :size] = np.frombuffer(payload, dtype=np.uint8).reshape(-1, size)
    return words.view("<u8").reshape(-1).astype(np.uint64)


def seal(image: Image) -> int:
    """The seal of ``image``: a number that stands for the content of a core that it was loaded into, settable
    weights excepted, which are sent whenever the image is used. It is never zero, which means a broken seal."""
    settable = {(Space.WEIGHTS, item.address) for item in image.settable_weights()}
    kept = (item for item in image.loads() if (item.space, item.address) not in settable)
    words = b"".join(b"%d %d %d," % (item.space, item.address, item.data) for item in kept)
    return zlib.crc32(words) or 1


# The description of a board

#: Parameters of a core that its description leaves out where they have their defaults.
RARE = ("assign", "sums", "relu", "argmax", "registers", "pipeline", "state", "window", "repeat")


@dataclasses.dataclass(frozen=True)
class BoardInfo:
    """The description of a board: its core, its name, its ``clock`` in Hz. It keeps ``results`` words until the host
    has them, and requests of ``buffer`` bytes together, one byte more for each, may wait. Both are powers of two."""

    config: CoreConfig
    board: str
    clock: int
    results: int = 512
    buffer: int = 1024

    def __post_init__(self) -> None:
        for name, words in (("results", self.results), ("buffer", self.buffer)):
            if words < 1 or words & (words - 1):
                raise InputError(f"{name} of a board must be a power of two, not {words}")

    def text(self) -> str:
        """The description as one line of words ``name=value``, units that few cores have left out where they are not
        there. It is the payload of the reply to ``OPEN`` and ``STATUS``, after the seal."""
        own = {"board": self.board, "clock": self.clock, "results": self.results, "buffer": self.buffer}
        core = {field.name: getattr(self.config, field.name) for field in dataclasses.fields(self.config)}
        core = {name: value for name, value in core.items() if name not in RARE or value != getattr(CoreConfig, name)}
        values = own | core | {"ring": self.config.ring.name}
        written = (f"{name}={int(v) if isinstance(v, bool) else v}" for name, v in values.items())
        text = f"skinny {VERSION} " + " ".join(written)
        if len(text) > MOST - CHECK - sum(REPLY.values()) - REQUEST[Kind.SEAL]["seal"]:
            raise InputError(f"the description of the board is too long for a frame: {text}")
        return text

    @classmethod
    def parse(cls, text: str) -> BoardInfo:
        """The inverse of :meth:`text`."""
        words = text.split(" ")
        if words[:2] != ["skinny", str(VERSION)] or not text.isprintable():
            raise InputError(f"the board does not speak this protocol (version {VERSION}): it says {text[:40]!r}")
        try:
            given = dict(word.split("=") for word in words[2:])
            ring = parse_ring(given.pop("ring"))
            own = {name: int(given.pop(name)) for name in ("clock", "results", "buffer")}
            board = given.pop("board")
            fields: dict[str, Any] = {name: _value(name, value) for name, value in given.items()}
            return cls(CoreConfig(ring=ring, **fields), board, **own)
        except (KeyError, ValueError, TypeError) as error:
            raise InputError(f"the board describes itself in words unknown here ({error}): {text}") from None


def _value(name: str, value: str) -> int | bool | str:
    """A field of :class:`CoreConfig` in the type of its default."""
    kind = type(getattr(CoreConfig, name, ""))
    return value if kind is str else bool(int(value)) if kind is bool else int(value)
