"""What a command tells while it works, on stderr, so that nobody waits without knowing what for.

A command says what it does with :func:`working` and :func:`counted`. On a terminal that is a bar with the time that is
left; elsewhere, and while nothing is said, a line comes every two seconds. The line is written by a thread, so that it
comes whatever the command is waiting for.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from skinny.model.limits import telling

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["Work", "counted", "note", "telling_what_is_done", "working"]

T = TypeVar("T")

#: Seconds of silence, fewer than two, so that nobody waits for longer on a busy machine either.
SILENT = 1.3
#: Seconds between two looks at the clock.
LOOK = 0.1


def note(message: str) -> None:
    """Tell the person, not the program that reads stdout."""
    print(f"skinny: {message}", file=sys.stderr)


class Work:
    """Something that takes long: what it is, how many of how many pieces are done, and since when."""

    def __init__(self, what: str, total: float | None) -> None:
        self.what = what
        self.total = total
        self.done = self.before = 0.0
        self.began = monotonic()

    def at(self, done: float, total: float | None = None, what: str | None = None) -> None:
        """So much is done. With another ``what`` the time that is left is counted anew, from what is done by now."""
        if what is not None and what != self.what:
            self.what, self.began, self.before = what, monotonic(), done
        self.total = self.total if total is None else total
        self.done = done
        if _teller is not None:
            _teller.draw(self)

    def step(self, what: str | None = None) -> None:
        """One more piece is done; ``what`` says which comes next."""
        if what is not None:
            self.what = what
        self.at(self.done + 1)

    def found(self, what: str) -> None:
        """One more piece is done, and this was found, which a person wants to read."""
        note(what)
        self.step()

    def text(self, now: float) -> str:
        """A line about it."""
        if not self.total or self.done <= 0:
            return f"{self.what}, {now - self.began:.0f} s so far"
        share = f"{self.done:,.0f} of {self.total:,}" if self.total > 1 else f"{self.done:.0%}"
        if self.done <= self.before:
            return f"{self.what}: {share}, {now - self.began:.0f} s so far"
        left = (now - self.began) / (self.done - self.before) * (self.total - self.done)
        return f"{self.what}: {share}, about {left:,.0f} s left"


class _Teller:
    """Who tells a person what is done."""

    def __init__(self, command: str) -> None:
        self.began = self.told = monotonic()
        self.command = command
        self.heard, self.since = "", self.began
        self.works: list[tuple[Work, TaskID | None]] = []
        self.bars: Progress | None = None
        self.ended = Event()
        self.lock = Lock()
        self.thread = Thread(target=self.watch, daemon=True)

    def watch(self) -> None:
        while not self.ended.wait(LOOK):
            now = monotonic()
            with self.lock:
                if now < self.told + SILENT or self.bars is not None or self.ended.is_set():
                    continue
                self.told = now
                note(self.line(now))

    def line(self, now: float) -> str:
        if self.works:
            return self.works[-1][0].text(now)
        if self.heard:
            return f"{self.heard}, {now - self.since:.0f} s so far"
        return f"{self.command}: still at work, {now - self.began:.0f} s so far"

    def hear(self, what: str) -> None:
        """What the model is doing."""
        if what != self.heard:
            self.heard, self.since = what, monotonic()

    def open(self, work: Work) -> None:
        with self.lock:
            if self.bars is None and _has_bars():
                self.bars = _bars()
                self.bars.start()
            bar = None if self.bars is None else self.bars.add_task(work.what, total=work.total)
            self.works.append((work, bar))

    def draw(self, work: Work) -> None:
        for each, bar in self.works:
            if each is work and bar is not None and self.bars is not None:
                self.bars.update(bar, description=work.what, completed=work.done, total=work.total)

    def close(self, work: Work) -> None:
        with self.lock:
            (bar,) = (bar for each, bar in self.works if each is work)
            self.works.remove((work, bar))
            if self.bars is not None and bar is not None:
                self.bars.remove_task(bar)
                if not self.works:
                    self.bars.stop()
                    self.bars = None
            self.told = monotonic() if bar is not None else self.told


_teller: _Teller | None = None


@contextmanager
def telling_what_is_done(command: str) -> Iterator[None]:
    """Inside the ``with`` block a person is told what ``command`` does."""
    global _teller
    before, _teller = _teller, _Teller(command)
    now = _teller
    now.thread.start()
    try:
        with telling(now.hear):
            yield
    finally:
        now.ended.set()
        now.thread.join()
        _teller = before


@contextmanager
def working(what: str, total: float | None = None) -> Iterator[Work]:
    """Inside the ``with`` block ``what`` is done, in ``total`` pieces if their number is known."""
    work, teller = Work(what, total), _teller
    if teller is None:
        yield work
        return
    teller.open(work)
    try:
        yield work
    finally:
        teller.close(work)


def counted(what: str, pieces: Sequence[T] | Iterable[T], total: int | None = None) -> Iterator[T]:
    """Hands out pieces of work one after the other, and tells how far it is."""
    count = len(pieces) if isinstance(pieces, Sequence) else total
    with working(what, count) as work:
        for number, piece in enumerate(pieces):
            work.at(number)
            yield piece


def _has_bars() -> bool:
    """Whether stderr is a terminal that can take back what it shows."""
    return sys.stderr.isatty() and os.environ.get("TERM", "").lower() not in ("", "dumb", "unknown")


def _bars() -> Progress:
    # Loaded here, because most commands are done before anybody needs a bar.
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), SpinnerColumn(), BarColumn(), TimeElapsedColumn())
    left = (TextColumn("left:"), TimeRemainingColumn())
    return Progress(*columns, *left, console=Console(file=sys.stderr), transient=True)
