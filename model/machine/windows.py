"""What the threads of a core with a window find in it: when it is full, and which words a run reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .isa import Words

if TYPE_CHECKING:
    from .assemble import Image

__all__ = ["Filling", "window_rows"]


class Filling:
    """How full the windows of the threads are. In each batch the first threads get a vector each, so that of those that
    get one the first ones are full."""

    def __init__(self, image: Image) -> None:
        self.image = image
        self.words = [0] * image.config.threads

    def empty(self) -> None:
        """All streams begin anew."""
        self.words = [0] * len(self.words)

    def arrive(self, size: int) -> int:
        """A batch of ``size`` vectors comes in; returns how many of them run, the first ones."""
        for thread in range(size):
            self.words[thread] += self.image.vector
        return sum(words >= self.image.fill for words in self.words[:size])


def window_rows(image: Image, vectors: Words, sizes: Sequence[int], runs: Sequence[int]) -> Words:
    """The words that each run reads, the newest first, of shape ``(runs, image.reads)``. The ``vectors`` come in
    batches of ``sizes``, and the first ``runs`` of each batch run."""
    size, ran = np.asarray(sizes, dtype=np.int64), np.asarray(runs, dtype=np.int64)
    thread = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
    begins = np.flatnonzero(thread < np.repeat(ran, size))
    rows = np.zeros((len(thread), image.reads), dtype=np.uint64)
    for stream in range(image.config.threads):
        mine = np.flatnonzero(thread == stream)
        words = vectors[mine].reshape(-1)
        newest = (np.arange(len(mine))[:, None] + 1) * image.vector - 1 - np.arange(image.reads)
        rows[mine] = words[np.maximum(newest, 0)]
    return rows[begins]
