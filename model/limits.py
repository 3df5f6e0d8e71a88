"""Limits: the time and the memory that reading and compiling may take.

Two numbers are stated, everything else derives from them: the bytes that a file may have (also unpacked), the length
of a program, the size of a formula. A size that is known beforehand is refused beforehand. All other work is watched:
the readers and the passes call :func:`check` as they go, which looks at the clock and at the memory in use.

Limits hold inside ``with Limits(…).applied():``; elsewhere the defaults hold. Inside ``with telling(…):`` somebody
hears what is done.
"""

from __future__ import annotations

import re
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

from .errors import InputError

__all__ = [
    "DEFAULTS",
    "FORMULA_BYTE",
    "INPUTS_BYTE",
    "LINE_BYTE",
    "MOST_BITS",
    "MOST_DIGITS",
    "TEXT_BYTE",
    "DigitsError",
    "Limits",
    "check",
    "check_digits",
    "checked",
    "current",
    "parse_limits",
    "size_text",
    "tell",
    "telling",
    "watched",
]

#: The most digits of a number, above and below a fraction bar, and the bits that they take.
MOST_DIGITS = 4000
MOST_BITS = 13_288
#: Bytes of memory at most for each instruction that is compiled, for each argument of an operation of a formula, and
#: for each byte of a program's text.
INSTRUCTION, ARGUMENT, TEXT_BYTE = 200, 256, 16
#: Bytes of memory for each byte of a formula, of one line, or of a file of inputs.
FORMULA_BYTE = LINE_BYTE = 256
INPUTS_BYTE = 32
#: A product of more factors takes more instructions for each than this, on 16 registers; so this many always may be.
MANY_FACTORS, INSTRUCTIONS_A_FACTOR = 100_000, 250
#: Seconds between two looks at the memory, and items between two checks.
LOOK, CHUNK = 0.01, 4096
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


T = TypeVar("T")


class DigitsError(InputError):
    """A number has more than :data:`MOST_DIGITS` digits. Passes that only try another shape give that shape up."""


@dataclass(frozen=True)
class Limits:
    """The limits of one task: ``seconds`` on the clock, and ``memory`` in bytes."""

    seconds: int = 600
    memory: int = 4 << 30

    def __post_init__(self) -> None:
        if self.seconds < 1 or self.memory < 1:
            raise InputError(f"a limit must be at least 1, not {min(self.seconds, self.memory)}")

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Make these the limits of everything that is done inside the ``with`` block."""
        token = _limits.set(self)
        try:
            yield
        finally:
            _limits.reset(token)

    @property
    def length(self) -> int:
        """The most instructions of a program that is compiled."""
        return self.memory // INSTRUCTION

    @property
    def factors(self) -> int:
        """The most factors of one product, powers multiplied out."""
        return max(MANY_FACTORS, self.length // INSTRUCTIONS_A_FACTOR)

    @property
    def arguments(self) -> int:
        """The most arguments of all operations of a formula together."""
        return self.memory // ARGUMENT


DEFAULTS = Limits()


@dataclass
class _Watch:
    """A task under way: it must be done before the time ``end`` within ``most`` bytes of memory; both are looked at
    again at the time ``again``. It ``began`` long ago."""

    task: str
    limits: Limits
    began: float
    most: int
    again: float = 0.0


_limits: ContextVar[Limits] = ContextVar("limits")
_watch: ContextVar[_Watch | None] = ContextVar("watch", default=None)
_hear: ContextVar[Callable[[str], None] | None] = ContextVar("hear", default=None)


def current() -> Limits:
    """The limits that hold here."""
    return _limits.get(DEFAULTS)


@contextmanager
def watched(task: str) -> Iterator[None]:
    """Let :func:`check` enforce the limits inside the ``with`` block, counted from its beginning. Messages begin with
    ``task``."""
    limits = current()
    token = _watch.set(_Watch(task, limits, time.monotonic(), _resident() + limits.memory))
    try:
        yield
    finally:
        _watch.reset(token)
        tell("")


@contextmanager
def telling(hear: Callable[[str], None]) -> Iterator[None]:
    """Inside the ``with`` block, let somebody ``hear`` what is done now, again and again, and a text without letters
    when it is done. When a person is told is up to that somebody."""
    token = _hear.set(hear)
    try:
        yield
    finally:
        _hear.reset(token)


def tell(what: str) -> None:
    """Tell what is done now, if somebody listens."""
    if (hear := _hear.get()) is not None:
        hear(what)


def check() -> None:
    """Refuse to go on when the time or the memory of the task under way is used up."""
    watch = _watch.get()
    if watch is None or (now := time.monotonic()) < watch.again:
        return
    watch.again = now + LOOK
    tell(watch.task)
    if now > watch.began + watch.limits.seconds:
        raise InputError(f"{watch.task} takes more than {watch.limits.seconds} s, the limit: --limit time=S raises it")
    if _resident() > watch.most:
        size = size_text(watch.limits.memory)
        raise InputError(f"{watch.task} takes more than {size} of memory, the limit: --limit memory=SIZE raises it")


def checked(items: Sequence[T]) -> Iterator[T]:
    """Iterate over ``items``, with a :func:`check` now and then."""
    for first in range(0, len(items), CHUNK):
        check()
        yield from items[first : first + CHUNK]


def check_digits(value: int | Fraction) -> None:
    """Refuse a number that is too long to be written."""
    if value.numerator.bit_length() > MOST_BITS or value.denominator.bit_length() > MOST_BITS:
        raise DigitsError(f"a number of the formula gets more than {MOST_DIGITS:,} digits")


def _resident() -> int:
    """The memory that this process holds, in bytes; the most it ever held where the system does not tell the former."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def size_text(size: int) -> str:
    """``size`` bytes in the largest unit that is exact, for example ``4G``."""
    unit = max((unit for unit in UNITS if size % UNITS[unit] == 0), key=UNITS.__getitem__)
    return f"{size // UNITS[unit]}{unit}"


def parse_limits(text: str) -> Limits:
    """The limits in a text like ``time=60,memory=1G``; a limit that is not named keeps its default."""
    out = Limits()
    for part in text.split(","):
        seconds = re.fullmatch("time=([0-9]{1,9})", part)
        memory = re.fullmatch("memory=([0-9]{1,9})([KMGT]?)", part)
        if seconds:
            out = replace(out, seconds=int(seconds[1]))
        elif memory:
            out = replace(out, memory=int(memory[1]) * UNITS[memory[2]])
        else:
            raise InputError(f"must be like time=60,memory=1G (seconds; bytes, or K, M, G, T of them), not {text!r}")
    return out
