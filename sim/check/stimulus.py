"""Stimuli: all that the outside does to a core in one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from skinny.model.machine import cycles as model
from skinny.model.machine.image import MachineImage, Write
from skinny.model.machine.isa import Words
from skinny.model.machine.windows import Filling
from skinny.model.rings import Array, Boolean, FixedPoint, PrimeField, Ring

__all__ = ["Stimulus", "random_elements", "random_stimulus"]


@dataclass(frozen=True, eq=False)
class Stimulus:
    """The vectors of a run, and how source, sink and loader behave.

    The vectors come in batches of ``sizes``. ``gaps`` are the idle cycles before each input word, ``stalls`` the cycles
    that each result waits for the sink; without them nobody waits. ``loads`` are words that are offered at the load
    port during the run, each after ``pauses`` idle cycles. Those that are taken before the last batch starts must leave
    everything as ``image`` has it, but for weights, which count from the next batch on (not in an engine). In a core
    with state or a window all streams begin anew with the first batch of a run: a reset or a load of the image comes
    before.
    """

    image: MachineImage
    vectors: Words
    sizes: Sequence[int]
    gaps: NDArray[np.int64] | None = None
    stalls: NDArray[np.int64] | None = None
    loads: Sequence[Write] = ()
    pauses: NDArray[np.int64] | None = None

    @classmethod
    def steady(cls, image: MachineImage, vectors: Words) -> Stimulus:
        """The stimulus of a source and a sink that never wait."""
        return cls(image, vectors, model.batch_sizes(len(vectors), image.batch))

    @property
    def runs(self) -> list[int]:
        """The vectors of each batch that run, in a core with a window those that find it full. Nothing is loaded on the
        way that makes streams begin anew."""
        if not self.image.config.window:
            return list(self.sizes)
        filling = Filling(self.image.lanes[0])
        return [filling.arrive(size) for size in self.sizes]

    @property
    def results(self) -> int:
        """The number of result words that follow, or less when windows are emptied on the way."""
        return self.image.emits * sum(self.runs)

    def lasts(self, noise: np.random.Generator | None = None) -> NDArray[np.uint8]:
        """``last`` of every input word: zero, or a bit of ``noise``, where it means nothing."""
        out = np.zeros(self.vectors.shape, dtype=np.uint8)
        if noise is not None:
            out = noise.integers(0, 2, out.shape, dtype=np.uint8)
        ends = np.cumsum(self.sizes) - 1
        early = np.asarray(self.sizes) < self.image.batch
        inner = np.ones(len(out), dtype=bool)
        inner[ends] = False
        out[inner, -1] = 0
        out[ends[early], -1] = 1
        return out.reshape(-1)


def random_stimulus(
    rng: np.random.Generator,
    image: MachineImage,
    vectors: Words,
    idle: float = 0,
    stall: float = 0,
    early: float = 0,
) -> Stimulus:
    """A stimulus whose source, sink and batches are random: a share ``early`` of the batches ends early, a share
    ``idle`` of the input words comes late, and a share ``stall`` of the results has to wait, now and then for long."""
    full = image.batch
    sizes: list[int] = []
    left = len(vectors)
    while left:
        size = int(rng.integers(1, full + 1)) if rng.random() < early else full
        sizes.append(min(size, left))
        left -= sizes[-1]

    def waits(count: int, share: float) -> NDArray[np.int64] | None:
        if not share:
            return None
        long = 2 * image.config.threads * image.steps
        out = np.where(rng.random(count) < 0.02, rng.integers(1, long + 1, count), rng.integers(1, 6, count))
        return np.where(rng.random(count) < share, out, 0)

    plain = Stimulus(image, vectors, sizes)
    return Stimulus(image, vectors, sizes, waits(vectors.size, idle), waits(plain.results, stall))


def random_elements(rng: np.random.Generator, ring: Ring, shape: tuple[int, ...]) -> Array:
    """Elements spread over the whole ring; one in eight is an extreme one: the least, the greatest, zero, one (where a
    fixed-point format has it)."""
    if isinstance(ring, Boolean):
        return rng.integers(0, 2, shape).astype(ring.element_dtype)
    if isinstance(ring, PrimeField):
        low, high = 0, ring.p
    else:
        low, high = -(1 << (ring.bits - 1)), 1 << (ring.bits - 1)
    out = rng.integers(low, high, shape)
    one = min(high - 1, 1 << ring.frac if isinstance(ring, FixedPoint) else 1)
    extremes = rng.choice(np.array([low, high - 1, 0, one], dtype=np.int64), shape)
    return np.where(rng.random(shape) < 1 / 8, extremes, out)
