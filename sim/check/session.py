"""One run of a core, driven and checked by a simulator that runs Python in every cycle.

Runs are generators: each ``yield`` waits for the next cycle, see :mod:`.driver`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from time import perf_counter
from typing import Any

import numpy as np
from skinny.hdl.core.layout import retire_port
from skinny.model.errors import CheckError
from skinny.model.machine.isa import APPLIES, ATTENDS

from .divergence import (
    describe_change,
    describe_input,
    describe_level,
    describe_load,
    describe_result,
    describe_retirement,
)
from .driver import PinDriver
from .record import RESULT, RETIRE, WAITING, Record, expect
from .steps import CoreStep, LoadImage, ResetCore, RunStimulus
from .stimulus import Stimulus

__all__ = ["RunSession", "StepRunner"]

#: The pins of a retirement, but for its ``valid``.
RETIRED = ("value", "pc", "thread", "op", "dst", "fault")
#: Idle cycles after the last expected event in which nothing more may happen.
QUIET = 4


class StepRunner:
    """Does steps one after the other with a core whose pins are ``read`` and written, and have ``widths`` bits.
    ``records`` holds the record of each run."""

    def __init__(
        self, read: Callable[[str], int], write: Callable[[str, int], None], widths: Mapping[str, int]
    ) -> None:
        self.driver = PinDriver(read, write, widths)
        self.records: list[Record] = []

    def do(self, step: CoreStep) -> Iterator[None]:
        """Do one step; each ``yield`` waits for the next cycle."""
        match step:
            case ResetCore():
                yield from self.driver.reset()
            case LoadImage(image):
                yield from self.driver.load(image)
            case RunStimulus(stimulus, cycles):
                session = RunSession(self.driver, stimulus, cycles)
                yield from session.run()
                self.records.append(session.record())


class RunSession:
    """One run: drives a stimulus and compares every cycle with the cycle model, in order. The first difference is a
    :exc:`CheckError`. The run takes ``cycles`` or, without them, ends when the core is idle."""

    def __init__(self, driver: PinDriver, stimulus: Stimulus, cycles: int | None = None) -> None:
        self.driver = driver
        self.read = driver.read
        self.stimulus = stimulus
        expected = expect(stimulus, cycles=cycles)
        assert expected.trace is not None
        events = (expected.cycles, *expected.busy, *expected.loaded)
        self.end = int(max(events)) + QUIET if cycles is None else cycles
        self.expected = expected
        self.cycle = 0
        self.fault = -1
        self.seconds = 0.0
        #: Events that were seen, and events that are expected.
        self.accepted: list[int] = []
        self.loaded: list[int] = []
        self.results: list[dict[str, int]] = []
        self.trace: list[dict[str, int]] = []
        self.busy: list[int] = []
        self._accept = expected.accepted.tolist()
        self._load = expected.loaded.tolist()
        self._result = _rows(expected.results)
        self._retire = _rows(expected.trace)
        self._changes = expected.busy.tolist()
        #: The behaviour of source, sink and loader.
        words = stimulus.vectors.reshape(-1).tolist()
        self._words = list(zip(words, stimulus.lasts(driver.rng).tolist(), strict=True))
        self._gaps = [0] * len(words) if stimulus.gaps is None else stimulus.gaps.tolist()
        self._stalls = None if stimulus.stalls is None else stimulus.stalls.tolist()
        self._pauses = [0] * len(stimulus.loads) if stimulus.pauses is None else stimulus.pauses.tolist()
        self._offered = self._gaps[0] if words else 0
        self._written = self._pauses[0] if stimulus.loads else 0
        #: The pins of a result that waits, its row, and when it will be taken.
        self._waiting: dict[str, int] | None = None
        self._seen: dict[str, int] = {}
        self._taken = 0

    def run(self) -> Iterator[None]:
        """Drive and check; each ``yield`` waits for the next cycle."""
        before = perf_counter()
        while self.cycle < self.end:
            self._check_retirement()
            self._check_fault()
            self._check_levels()
            self._write()
            self._offer()
            self._take()
            self.cycle += 1
            yield
        if self._waiting is not None:
            self.results.append(self._seen)
        self.driver.rest()
        self.seconds = perf_counter() - before

    def _check_retirement(self) -> None:
        image = self.stimulus.image
        for lane in range(len(image.lanes)):
            at = len(self.trace)
            want = self._retire[at] if at < len(self._retire) else None
            port = retire_port(lane)
            if self.read(f"{port}_valid"):
                got = {"cycle": self.cycle, **{name: self.read(f"{port}_{name}") for name in RETIRED}, "lane": lane}
                if got != want:
                    raise CheckError(describe_retirement(image, want, got))
                self.trace.append(got)
            elif want is not None and (want["cycle"], want["lane"]) == (self.cycle, lane):
                raise CheckError(describe_retirement(image, want, None))

    def _check_fault(self) -> None:
        if self.fault < 0 and self.read("fault"):
            self.fault = self.cycle
        if (self.fault >= 0) != (0 <= self.expected.fault <= self.cycle):
            want, got = ("high", "low") if self.fault < 0 else ("low", "high")
            raise CheckError(f"cycle {self.cycle}: fault expected {want}, got {got}")

    def _check_levels(self) -> None:
        at = len(self.busy)
        if at < len(self._changes) and self._changes[at] == self.cycle:
            self.busy.append(self.cycle)
        busy = len(self.busy) & 1
        if self.read("busy") != busy:
            raise CheckError(describe_level(self.cycle, "busy", busy))
        if not self.driver.rom and self.read("load_ready") == busy:
            raise CheckError(describe_level(self.cycle, "load_ready", 1 - busy))

    def _write(self) -> None:
        at, loads = len(self.loaded), self.stimulus.loads
        if at == len(loads) or self.cycle < self._written:
            self.driver.load_nothing()
            return
        self.driver.load_nothing()
        self.driver.write("load_valid", 1)
        if self.read("load_ready"):
            self.driver.load_word(loads[at])
            self.loaded.append(self.cycle)
            self._written = self.cycle + 1 + (self._pauses[at + 1] if at + 1 < len(loads) else 0)
        self._check_moment(describe_load, self._load, self.loaded, at)

    def _offer(self) -> None:
        at, words = len(self.accepted), self._words
        if at == len(words) or self.cycle < self._offered:
            self.driver.offer_nothing()
            return
        data, last = words[at]
        self.driver.write("i_valid", 1)
        self.driver.write("i_data", data)
        self.driver.write("i_last", last)
        if self.read("i_ready"):
            self.accepted.append(self.cycle)
            self._offered = self.cycle + 1 + (self._gaps[at + 1] if at + 1 < len(words) else 0)

        def describe(at: int, want: int | None, got: int | None) -> str:
            return describe_input(self.stimulus, at, want, got)

        self._check_moment(describe, self._accept, self.accepted, at)

    def _check_moment(
        self, describe: Callable[[int, int | None, int | None], str], expected: list[int], seen: list[int], at: int
    ) -> None:
        """Word ``at``, which is offered, was taken in this cycle if and only if it should."""
        want = expected[at] if at < len(expected) else None
        got = seen[at] if at < len(seen) else None
        if (want == self.cycle) != (got == self.cycle):
            raise CheckError(describe(at, want, got))

    def _take(self) -> None:
        at = len(self.results)
        want = self._result[at] if at < len(self._result) else None
        ready = self._stalls is None
        if self._waiting is not None or self.read("o_valid"):
            now = {name: self.read(f"o_{name}") for name in WAITING}
            if self._waiting is None:
                self._waiting = now
                self._taken = self.cycle + (self._stalls[at] if self._stalls is not None and want is not None else 0)
                taken = self._taken if self._taken < self.end else -1
                self._seen = {**now, "valid": self.cycle, "taken": taken}
                if self._seen != want:
                    raise CheckError(describe_result(self.stimulus, at, want, self._seen))
            for name in WAITING:
                if now[name] != self._waiting[name]:
                    raise CheckError(describe_change(self.cycle, at, name))
            ready = self.cycle == self._taken
            if ready:
                self.results.append(self._seen)
                self._waiting = None
        elif want is not None and want["valid"] == self.cycle:
            raise CheckError(describe_result(self.stimulus, at, want, None))
        elif self._stalls is not None:
            ready = bool(self.driver.bits(1))
        self.driver.write("o_ready", int(ready))

    def record(self) -> Record:
        """All that the run showed."""
        busy = np.array(self.busy, dtype=np.int64)
        return Record(
            accepted=np.array(self.accepted, dtype=np.int64),
            results=_array(self.results, RESULT),
            trace=_array(self.trace, RETIRE),
            busy=busy,
            load_ready=None if self.driver.rom else busy,
            loaded=np.array(self.loaded, dtype=np.int64),
            fault=self.fault,
            cycles=self.expected.cycles,
            worked=sum(row["op"] in (*APPLIES, *ATTENDS) for row in self.trace),
            seconds=self.seconds,
        )


def _rows(array: np.ndarray[Any, Any]) -> list[dict[str, int]]:
    names = [name for name in array.dtype.names or () if array.dtype[name].kind != "V"]
    columns = [array[name].tolist() for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _array(rows: list[dict[str, int]], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    out = np.zeros(len(rows), dtype=dtype)
    for name in rows[0] if rows else ():
        out[name] = [row[name] for row in rows]
    return out
