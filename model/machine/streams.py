"""Samples of streams in the order in which a core takes them: sample by sample, and in each a vector for each thread.

A thread is a stream, or as many as a word of the Boolean ring has slices. Streams begin and go on together; the threads
after the last stream get no vectors.
"""

from __future__ import annotations

import numpy as np
from skinny.model.errors import InputError
from skinny.model.program.program import Program
from skinny.model.rings import Array

from .isa import CoreConfig, Words

__all__ = ["expect_room", "interleaved", "padding", "separated", "threads_used"]


def threads_used(config: CoreConfig, streams: int) -> int:
    """The threads that so many streams take."""
    return -(-streams // config.inferences)


def expect_room(config: CoreConfig, streams: int) -> None:
    """Raise :exc:`InputError` for more streams than the core has threads for."""
    most = config.threads * config.inferences
    if streams > most:
        raise InputError(f"{streams} streams are too many: the core has room for {most}")


def padding(program: Program) -> int:
    """The samples of zeros after which the next sample finds the window full, and before which none does."""
    return -(-(program.window - program.hop) // program.hop) if program.window else 0


def interleaved(config: CoreConfig, samples: Array) -> Words:
    """The vectors of ``samples``, elements of shape ``(streams, samples, words)``. A program without inputs gets a
    vector of one word that nobody reads."""
    streams, count, words = samples.shape
    used = threads_used(config, streams)
    if not words:
        return np.zeros((count * used, 1), dtype=np.uint64)
    filled = np.zeros((used * config.inferences, count, words), dtype=samples.dtype)
    filled[:streams] = samples
    return config.pack(filled.swapaxes(0, 1).reshape(-1, words))


def separated(config: CoreConfig, words: Words, streams: int) -> Array:
    """The elements of shape ``(streams, runs, results)`` of result words, a row for each vector that ran."""
    used = threads_used(config, streams)
    elements = config.unpack(words, len(words) * config.inferences)
    return elements.reshape(-1, used * config.inferences, words.shape[1]).swapaxes(0, 1)[:streams]
