"""The cycle model of the parallel engine: ``machine/cycles.py`` for its lanes, and when the fold does what.

All lanes begin a batch in the same cycle. The fold reads their result FIFOs one after the other, a word a cycle; the
first word of a lane waits until the vector of the lane before is complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from skinny.model.machine.assemble import Image
from skinny.model.machine.cycles import (
    BUFFER_DELAY,
    FIFO_DELAY,
    NEVER,
    TAKEN_TO_START,
    Execution,
    Loading,
    Retirements,
    Timetable,
    busy_changes,
    execute,
    hardware_words,
    packed_words,
    retire_delay,
    retirements,
    schedule,
    start_cycle,
)
from skinny.model.machine.isa import CoreConfig, Op, Words

from .combine import fold_column
from .segments import EngineImage

__all__ = ["Prediction", "cycles_per_inference", "fold_stages", "latency", "plan", "predict"]

Marks = NDArray[np.bool_]

#: From the cycle in which the engine's last result of a batch is taken to the fold's first word of the batch that
#: waited for its room; the fold needs no cycle to start.
BATCH_AGAIN = TAKEN_TO_START - 1


def fold_stages(config: CoreConfig) -> int:
    """Pipeline stages of the fold's multiplier."""
    return min(config.threads - 1, 4)


def push_delay(config: CoreConfig) -> int:
    """From the fold's reading of a column's last word to its value: operands, multiplier, sum."""
    return fold_stages(config) + 2


def lane_again(config: CoreConfig) -> int:
    """From the last word of a lane to the first of the next: the value is then in the vector."""
    return push_delay(config) + 1


class Prediction(NamedTuple):
    """Everything that happens: when, the retirements of each lane, and the result words in the order of ``o``."""

    plan: Timetable
    retired: list[Retirements]
    data: Words
    last: Marks
    fault: Marks


def predict(
    image: EngineImage,
    vectors: Words,
    sizes: Sequence[int],
    gaps: Sequence[int] | None = None,
    stalls: Sequence[int] | None = None,
    pauses: Sequence[int] = (),
) -> Prediction:
    """What the engine does with batches of ``sizes`` vectors, hardware words of shape ``(vectors, image.vector)``;
    ``gaps``, ``stalls`` and ``pauses`` as for :func:`skinny.model.machine.cycles.schedule`."""
    runs = _execute(image, vectors)
    when = plan(image, sizes, gaps, stalls, pauses)
    retired = [
        retirements(
            lane, execution, when.starts.tolist(), [size * image.hardware.lane(number).spread for size in sizes]
        )
        for number, (lane, execution) in enumerate(zip(image.lanes, runs, strict=True))
    ]
    data, faults = _fold(image, runs)
    lasts = np.zeros_like(faults)
    firsts = list(accumulate(sizes, initial=0))
    lasts[-1, np.array(firsts[1:], dtype=np.int64) - 1] = True
    order = [
        (output, vector)
        for first, size in zip(firsts, sizes, strict=False)
        for output in range(image.emits)
        for vector in range(first, first + size)
    ]
    places = tuple(np.array(order, dtype=np.int64).reshape(-1, 2).T)
    return Prediction(when, retired, data[places], lasts[places], faults[places])


def latency(image: Image | EngineImage) -> int:
    """Cycles from the acceptance of the last input word of a full batch to its last result, from idle."""
    when = plan(image, [image.batch])
    return int(when.taken[-1] - when.accepted[-1])


def _execute(image: EngineImage, vectors: Words) -> list[Execution]:
    """Of each lane; a vector's threads are neighbours."""
    width = image.config.width
    word, _ = image.hardware.unit
    units = np.zeros((width, width), dtype=np.uint64)
    np.fill_diagonal(units, word)
    begin = np.tile(units, len(vectors))
    spread = np.repeat(np.asarray(vectors, dtype=np.uint64), width, axis=0)
    first, *others = image.lanes
    return [execute(first, vectors), *(execute(lane, spread, begin) for lane in others)]


def _fold(image: EngineImage, runs: Sequence[Execution]) -> tuple[Words, Marks]:
    """Outputs and whether a fault came before them, each of shape ``(outputs, vectors)``."""
    config, width = image.config, image.config.width
    _, sign = image.hardware.unit
    data, faults = [], []
    state: list[Words] = []
    stained = np.zeros(runs[0].values.shape[1], dtype=bool)
    for number, (lane, execution) in enumerate(zip(image.lanes, runs, strict=True)):
        emits = np.flatnonzero(config.decode(lane.words)["op"] == Op.EMIT)
        spread = width if number else 1
        met = np.logical_or.accumulate(execution.faults, axis=0)
        vector = packed_words(config, np.array(state)) if number else None
        state = []
        for column, p in enumerate(emits):
            words = execution.values[p].reshape(-1, spread).T
            value = words[0]
            if vector is not None and column < image.folded[number]:
                value = hardware_words(
                    config, fold_column(config.ring, vector, packed_words(config, words), sign)[None]
                )[0]
            stained = stained | met[p].reshape(-1, spread).any(axis=1)
            if column < image.sent[number]:
                data.append(value)
                faults.append(stained)
            else:
                state.append(value)
    return np.array(data), np.array(faults)


def plan(
    image: Image | EngineImage,
    sizes: Sequence[int],
    gaps: Sequence[int] | None = None,
    stalls: Sequence[int] | None = None,
    pauses: Sequence[int] = (),
) -> Timetable:
    """When everything happens, from cycle 0 after reset, in a core or an engine; see :func:`.cycles.schedule`. An
    engine is busy until all lanes were read and what they sent is through the fold."""
    if isinstance(image, Image):
        return schedule(image, sizes, gaps, stalls, pauses=pauses)
    config = image.config
    turns = len(image) * config.threads
    emits = [np.flatnonzero(config.decode(lane.words)["op"] == Op.EMIT).tolist() for lane in image.lanes]
    accepted: list[int] = []
    starts: list[int] = []
    valid: list[int] = []
    taken: list[int] = []
    ends: list[int] = []
    idle: list[int] = []
    loading = Loading(pauses)
    #: Of each lane, for each batch, when the fold read its last word.
    read: list[list[int]] = [[] for _ in image.lanes]
    before = -lane_again(config)
    for batch, size in enumerate(sizes):
        free = 0 if batch < 2 else starts[batch - 2] + turns - 1 + BUFFER_DELAY
        for _ in range(size * image.vector):
            offered = (accepted[-1] + 1 if accepted else 0) + (gaps[len(accepted)] if gaps is not None else 0)
            accepted.append(max(offered, free))
        rooms = [
            start_cycle(lane, accepted[-1], taken=done[batch - lane.batches] if batch >= lane.batches else None)
            for lane, done in zip(image.lanes, read, strict=True)
        ]
        start = max(*rooms, starts[-1] + turns if starts else 0)
        written = len(loading.loaded)
        starts.append(loading.delay(start, idle[-1] if idle else 0))
        for number, done in enumerate(read):
            spread = image.hardware.lane(number).spread
            earliest = before + lane_again(config)
            if number == 0 and batch >= image.batches:
                earliest = max(earliest, ends[batch - image.batches] + BATCH_AGAIN)
            if number == 0 and ends and len(loading.loaded) > written:
                # Results of the program before may fill the FIFO in another measure.
                earliest = max(earliest, ends[-1] + BATCH_AGAIN)
            fetched = done[-1] if done else -1
            for column, p in enumerate(emits[number]):
                for thread in range(size * spread):
                    retired = starts[-1] + p * config.threads + thread + retire_delay(config)
                    before = fetched = max(retired + FIFO_DELAY, fetched + 1, earliest)
                    if column < image.sent[number] and thread % spread == spread - 1:
                        shown = before + push_delay(config) + FIFO_DELAY
                        valid.append(max(shown, taken[-1] + 1 if taken else 0))
                        taken.append(valid[-1] + (stalls[len(taken)] if stalls is not None else 0))
            done.append(before)
        ends.append(taken[-1])
        # A lane knows a cycle late that it is done.
        idle.append(max(starts[-1] + turns + retire_delay(config), before + push_delay(config)) + 1)
    loading.delay(NEVER, idle[-1] if idle else 0)
    columns = (accepted, starts, valid, taken, busy_changes(starts, idle), loading.loaded)
    return Timetable(*(np.array(column, dtype=np.int64) for column in columns))


def cycles_per_inference(image: Image | EngineImage) -> float:
    """In the long run, with a source and a sink that never wait."""
    config = image.config
    starts = plan(image, [image.batch] * 16).starts
    vectors = 8 * image.batch
    return float(starts[-1] - starts[-9]) / vectors / config.inferences
