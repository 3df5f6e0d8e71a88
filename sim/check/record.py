"""A record is all that a run shows at the pins of a core: as a simulator observes it, or as the cycle model expects it.

Cycles are counted from the first one in which the source may offer a word. Every simulator drives random bits on all
pins that mean nothing in a cycle. They are new in every cycle and the same in every simulation. A word at the load port
is on its pins only when it is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skinny.model.machine import cycles as model
from skinny.model.machine.image import Waits
from skinny.model.machine.isa import APPLIES, ATTENDS, Space, Words

from .stimulus import Stimulus

__all__ = ["RESULT", "RETIRE", "WAITING", "Record", "expect", "outputs", "utilisation"]

#: A row for each retirement, as the harness writes it. ``lane`` tells the cores of an engine apart.
RETIRE = np.dtype(
    [
        *(
            ("cycle", "i8"),
            ("value", "u8"),
            ("pc", "u4"),
            ("dst", "u2"),
            ("thread", "u1"),
            ("op", "u1"),
            ("fault", "u1"),
        ),
        *(("lane", "u1"), ("", "V6")),
    ]
)
#: A row for each result: the cycle in which it was first valid, the cycle in which it was taken (-1: not in this
#: run), and the word.
RESULT = np.dtype([("valid", "i8"), ("taken", "i8"), ("data", "u8"), ("last", "u1"), ("fault", "u1"), ("", "V6")])
#: The pins on which a result waits.
WAITING = ("valid", "data", "last", "fault")


@dataclass(eq=False)
class Record:
    """All events of a run, observed or expected.

    ``accepted``: the cycle of each input word. ``results``, ``trace``: rows of :data:`RESULT` and :data:`RETIRE`; there
    is no trace if it was not asked for. ``busy``: the cycles in which that pin changes, first to high. ``load_ready``:
    the cycles in which that pin changes, first to low; None if there is no load port. ``loaded``: the cycle of each
    word at the load port. ``fault``: the first cycle with ``fault`` high, or -1. ``cycles``: the number of cycles until
    the core was idle. ``worked``: the number of retirements for which the multiplier worked. ``extra``: the number of
    results that nobody expected. ``changed``: the first cycle in which a result changed while it waited, the number of
    that result and the pin. ``seconds``: the time that the simulation took.
    """

    accepted: NDArray[np.int64]
    results: NDArray[Any]
    trace: NDArray[Any] | None
    busy: NDArray[np.int64]
    load_ready: NDArray[np.int64] | None
    loaded: NDArray[np.int64]
    fault: int = -1
    cycles: int = 0
    worked: int = 0
    extra: int = 0
    changed: tuple[int, int, str] | None = None
    seconds: float = 0.0


def expect(stimulus: Stimulus, trace: bool = True, cycles: int | None = None) -> Record:
    """The record that follows from ``stimulus`` in the cycle model, of the first ``cycles`` cycles or of all."""
    pauses = _listed(stimulus.pauses) or [0] * len(stimulus.loads)
    renews = [write.space != Space.WEIGHTS for write in stimulus.loads]
    tunes = [(write.address, write.data) if write.space == Space.WEIGHTS else None for write in stimulus.loads]
    waits = Waits(_listed(stimulus.gaps), _listed(stimulus.stalls), pauses, renews, tunes)
    image = stimulus.image
    plan, retired, *words = image.predict(stimulus.vectors, stimulus.sizes, waits)
    results = np.zeros(len(plan.valid), dtype=RESULT)
    for name, column in zip(("valid", "taken", "data", "last", "fault"), (plan.valid, plan.taken, *words), strict=True):
        results[name] = column
    rows = np.zeros(sum(len(lane.cycle) for lane in retired), dtype=RETIRE)
    for name in RETIRE.names or ():
        if name in model.Retirements._fields:
            rows[name] = np.concatenate([getattr(lane, name) for lane in retired])
    rows["lane"] = np.repeat(np.arange(len(retired)), [len(lane.cycle) for lane in retired])
    rows = rows[np.lexsort((rows["lane"], rows["cycle"]))]
    accepted, busy, loaded = plan.accepted, plan.busy, plan.loaded
    if cycles is not None:
        accepted, busy, loaded = (column[column < cycles] for column in (accepted, busy, loaded))
        results, rows = results[results["valid"] < cycles], rows[rows["cycle"] < cycles]
        results["taken"][results["taken"] >= cycles] = -1
    # A fault is seen a cycle after the retirement, and in a run that is cut perhaps no more.
    faults = rows["cycle"][rows["fault"] != 0] + 1
    faults = faults if cycles is None else faults[faults < cycles]
    last = max(results["taken"].max(initial=-1), rows["cycle"].max(initial=-1), accepted.max(initial=-1))
    if cycles is not None and (results["taken"] < 0).any():
        last = cycles - 1
    return Record(
        accepted=accepted,
        results=results,
        trace=rows if trace else None,
        busy=busy,
        load_ready=busy,
        loaded=loaded,
        fault=int(faults[0]) if len(faults) else -1,
        cycles=int(last) + 1,
        worked=int(np.isin(rows["op"], (*APPLIES, *ATTENDS)).sum()),
    )


def _listed(waits: NDArray[np.int64] | None) -> list[int] | None:
    return None if waits is None else waits.tolist()


def outputs(stimulus: Stimulus, record: Record) -> Words:
    """The results of a complete run by vector that runs, as hardware words of shape ``(vectors, outputs)``."""
    emits, runs = stimulus.image.emits, stimulus.runs
    out = np.zeros((sum(runs), emits), dtype=np.uint64)
    first = 0
    for size in runs:
        part = record.results["data"][first * emits : (first + size) * emits]
        out[first : first + size] = part.reshape(emits, size).T
        first += size
    return out


def utilisation(record: Record) -> float:
    """The share of cycles, from the first retirement to the last, that the multiplier worked."""
    if record.trace is None or not len(record.trace):
        return record.worked / record.cycles if record.cycles else 0.0
    span = int(record.trace["cycle"][-1] - record.trace["cycle"][0]) + 1
    return record.worked / span
