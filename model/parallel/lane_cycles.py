"""The cycle model of the parallel engine: ``machine/cycles.py`` for its lanes, and when the combiner does what.

All lanes begin a batch in the same cycle. The combiner reads their result FIFOs one after the other, a word a cycle;
the first word of a lane waits until the vector of the lane before is complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from skinny.model.machine.cycles import (
    FIFO_DELAY,
    TAKEN_TO_START,
    Execution,
    Ports,
    Prediction,
    Timetable,
    execute,
    hardware_words,
    packed_words,
    retire_delay,
    retirements,
    start_cycle,
)
from skinny.model.machine.image import NO_WAITS, Waits
from skinny.model.machine.isa import CoreConfig, Words

from .combine import combine_column

if TYPE_CHECKING:
    from .segments import EngineImage

__all__ = ["combine_stages", "predict", "timetable"]

Marks = NDArray[np.bool_]

#: From the cycle in which the engine's last result of a batch is taken to the combiner's first word of the batch that
#: waited for its room; the combiner needs no cycle to start.
BATCH_AGAIN = TAKEN_TO_START - 1


def combine_stages(config: CoreConfig) -> int:
    """Pipeline stages of the combiner's multiplier."""
    return min(config.threads - 1, 4)


def push_delay(config: CoreConfig) -> int:
    """Cycles from the combiner's reading of a column's last word to its value: operands, multiplier, sum."""
    return combine_stages(config) + 2


def lane_again(config: CoreConfig) -> int:
    """Cycles from the last word of a lane to the first of the next: the value is then in the vector."""
    return push_delay(config) + 1


def timetable(image: EngineImage, sizes: Sequence[int], waits: Waits = NO_WAITS) -> Timetable:
    """When everything happens in an engine, from cycle 0 after reset, with batches of ``sizes`` vectors. An engine is
    busy until all lanes were read and what they sent is through the combiner."""
    config = image.config
    emits = [lane.emit_steps.tolist() for lane in image.lanes]
    ports = Ports(image, waits)
    #: For each lane and batch, when the combiner read its last word.
    read: list[list[int]] = [[] for _ in image.lanes]
    before = -lane_again(config)
    for batch, size in enumerate(sizes):
        accepted = ports.accept(size)
        rooms = [
            start_cycle(lane, accepted, taken=done[batch - lane.batches] if batch >= lane.batches else None)
            for lane, done in zip(image.lanes, read, strict=True)
        ]
        start, loaded = ports.load(max(*rooms, ports.starts[-1] + ports.turns if ports.starts else 0))
        ports.begin_batch(start)
        for number, done in enumerate(read):
            spread = image.hardware.lane(number).spread
            earliest = before + lane_again(config)
            if number == 0 and batch >= image.batches:
                earliest = max(earliest, ports.ends[batch - image.batches] + BATCH_AGAIN)
            if number == 0 and ports.ends and loaded:
                # Results of the program before may fill the FIFO in another measure.
                earliest = max(earliest, ports.ends[-1] + BATCH_AGAIN)
            fetched = done[-1] if done else -1
            for column, p in enumerate(emits[number]):
                for thread in range(size * spread):
                    retired = start + p * config.threads + thread + retire_delay(config)
                    before = fetched = max(retired + FIFO_DELAY, fetched + 1, earliest)
                    if column < image.sent[number] and thread % spread == spread - 1:
                        ports.send(before + push_delay(config) + FIFO_DELAY)
            done.append(before)
        ports.ends.append(ports.taken[-1])
        # A lane knows a cycle late that it is done.
        ports.idle.append(max(start + ports.turns + retire_delay(config), before + push_delay(config)) + 1)
    return ports.timetable()


def predict(image: EngineImage, vectors: Words, when: Timetable, sizes: Sequence[int]) -> Prediction:
    """All that happens in an engine with ``vectors`` in batches of ``sizes``, whose timetable is ``when``."""
    runs = _execute(image, vectors)
    retired = [
        retirements(
            lane, execution, when.starts.tolist(), [size * image.hardware.lane(number).spread for size in sizes]
        )
        for number, (lane, execution) in enumerate(zip(image.lanes, runs, strict=True))
    ]
    data, faults = _combine(image, runs)
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


def _execute(image: EngineImage, vectors: Words) -> list[Execution]:
    """The execution of each lane; a vector's threads are neighbours."""
    width = image.config.width
    word, _ = image.hardware.unit
    units = np.zeros((width, width), dtype=np.uint64)
    np.fill_diagonal(units, word)
    begin = np.tile(units, len(vectors))
    spread = np.repeat(np.asarray(vectors, dtype=np.uint64), width, axis=0)
    first, *others = image.lanes
    return [execute(first, vectors), *(execute(lane, spread, begin) for lane in others)]


def _combine(image: EngineImage, runs: Sequence[Execution]) -> tuple[Words, Marks]:
    """The outputs, and whether a fault came before them, each of shape ``(outputs, vectors)``."""
    config, width = image.config, image.config.width
    _, sign = image.hardware.unit
    data, faults = [], []
    state: list[Words] = []
    stained = np.zeros(runs[0].values.shape[1], dtype=bool)
    for number, (lane, execution) in enumerate(zip(image.lanes, runs, strict=True)):
        spread = width if number else 1
        met = np.logical_or.accumulate(execution.faults, axis=0)
        vector = packed_words(config, np.array(state)) if number else None
        state = []
        for column, p in enumerate(lane.emit_steps):
            words = execution.values[p].reshape(-1, spread).T
            value = words[0]
            if vector is not None and column < image.combined[number]:
                value = combine_column(config.ring, vector, packed_words(config, words), sign)
                value = hardware_words(config, value[None])[0]
            stained = stained | met[p].reshape(-1, spread).any(axis=1)
            if column < image.sent[number]:
                data.append(value)
                faults.append(stained)
            else:
                state.append(value)
    return np.array(data), np.array(faults)
