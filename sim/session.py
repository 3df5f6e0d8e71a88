"""Source, sink and checker for engines that run Python in every cycle.

They are generators: each ``yield`` waits for the next cycle. ``read(name)`` gives an output of the core in this cycle,
``write(name, value)`` drives an input from this cycle on; names are those of :class:`skinny.hdl.export.Pins`. No output
depends on an input of the same cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import numpy as np
from skinny.hdl.layout import retire_port
from skinny.model.assemble import Image
from skinny.model.errors import CheckError
from skinny.model.segments import EngineImage

from .check import RESULT, RETIRE, Record, Stimulus, describe_input, describe_result, describe_retirement, expect

__all__ = ["Session", "load", "reset"]

Read = Callable[[str], int]
Write = Callable[[str, int], None]

RETIRED = ("value", "pc", "thread", "op", "dst", "fault")
#: Idle cycles after the last expected event in which nothing more may happen.
QUIET = 4


def reset(write: Write, rom: bool) -> Iterator[None]:
    """Drive every input and reset for a cycle."""
    for name in ("i_valid", "i_data", "i_last", "o_ready"):
        write(name, 0)
    if not rom:
        for name in ("load_valid", "load_space", "load_address", "load_data"):
            write(name, 0)
    write("rst", 1)
    yield
    write("rst", 0)


def load(read: Read, write: Write, image: Image | EngineImage, patience: int = 10_000) -> Iterator[None]:
    """Write ``image`` at the load port."""
    for number, item in enumerate(image.loads()):
        for name, value in zip(("space", "address", "data"), item, strict=True):
            write(f"load_{name}", int(value))
        write("load_valid", 1)
        for _ in range(patience):
            ready = read("load_ready")
            yield
            if ready:
                break
        else:
            raise CheckError(f"the load port did not take word {number} within {patience} cycles")
    write("load_valid", 0)


class Session:
    """One run: drives a stimulus and compares every cycle with the cycle model, in order. The first difference is a
    :exc:`CheckError`. ``steps()`` is the run; ``record`` is what was observed."""

    def __init__(self, stimulus: Stimulus, read: Read, write: Write) -> None:
        self.stimulus = stimulus
        self.read = read
        self.write = write
        self.expected = expect(stimulus)
        self.cycle = 0
        self.accepted: list[int] = []
        self.results: list[dict[str, int]] = []
        self.trace: list[dict[str, int]] = []
        self.fault = -1
        self.seconds = 0.0
        trace = self.expected.trace
        assert trace is not None
        self._retire = _rows(trace)
        self._result = _rows(self.expected.results)
        self._accept = self.expected.accepted.tolist()

    def steps(self) -> Iterator[None]:
        stimulus, read, write = self.stimulus, self.read, self.write
        words = stimulus.vectors.reshape(-1).tolist()
        lasts = stimulus.lasts().tolist()
        gaps = [0] * len(words) if stimulus.gaps is None else stimulus.gaps.tolist()
        stalls = None if stimulus.stalls is None else stimulus.stalls.tolist()
        garbage = (1 << stimulus.image.config.bits) - 1
        offer = gaps[0] if words else 0
        since = -1
        sent = 0
        before = perf_counter()
        while self.cycle < self.expected.cycles + QUIET:
            cycle = self.cycle
            self._check_retirement()
            self._check_fault()

            offers = sent < len(words) and cycle >= offer
            write("i_valid", int(offers))
            if offers:
                write("i_data", words[sent])
                write("i_last", lasts[sent])
                if read("i_ready"):
                    self._check_acceptance()
                    sent += 1
                    offer = cycle + 1 + (gaps[sent] if sent < len(words) else 0)
            elif stimulus.noise:
                write("i_data", garbage)
                write("i_last", 1)
            if sent < len(words) and self._accept[sent] == cycle:
                raise CheckError(describe_input(stimulus, sent, cycle, None))

            ready = stalls is None
            if read("o_valid"):
                since = cycle if since < 0 else since
                number = len(self.results)
                if stalls is not None:
                    ready = number >= len(stalls) or cycle >= since + stalls[number]
                if ready or number >= len(self._result):
                    self._check_result(since)
                    since = -1
            elif len(self.results) < len(self._result) and self._result[len(self.results)]["valid"] == cycle:
                raise CheckError(describe_result(stimulus, len(self.results), self._result[len(self.results)], None))
            elif stimulus.noise:
                ready = bool(cycle & 1)
            write("o_ready", int(ready))
            self.cycle += 1
            yield
        self.seconds = perf_counter() - before
        write("i_valid", 0)
        write("o_ready", 0)

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

    def _check_acceptance(self) -> None:
        at = len(self.accepted)
        if self._accept[at] != self.cycle:
            raise CheckError(describe_input(self.stimulus, at, self._accept[at], self.cycle))
        self.accepted.append(self.cycle)

    def _check_result(self, since: int) -> None:
        at = len(self.results)
        got = {"valid": since, "taken": self.cycle}
        got |= {name: self.read(f"o_{name}") for name in ("data", "last", "fault")}
        want = self._result[at] if at < len(self._result) else None
        if got != want:
            raise CheckError(describe_result(self.stimulus, at, want, got))
        self.results.append(got)

    @property
    def record(self) -> Record:
        busy = sum(1 <= row["op"] <= 5 for row in self.trace)
        return Record(
            accepted=np.array(self.accepted, dtype=np.int64),
            results=_array(self.results, RESULT),
            trace=_array(self.trace, RETIRE),
            fault=self.fault,
            cycles=self.expected.cycles,
            busy=busy,
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
