"""Campaigns of single-event upsets: a bit of state is flipped in one cycle, and the outcome is judged."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skinny.model.errors import CheckError
from skinny.model.machine.assemble import Image
from skinny.model.machine.image import Waits
from skinny.sim.check.generate import random_vectors
from skinny.sim.check.record import expect
from skinny.sim.check.stimulus import Stimulus
from skinny.sim.simulators.bulk import BulkCore, load_columns
from skinny.sim.simulators.state import MEMORIES, Element

__all__ = ["FLIP", "OUTCOMES", "Campaign", "Upsets", "campaign", "draw_bits"]

#: The outcomes of an upset, as the harness numbers them. ``masked``: all results right, nothing raised; ``detected``:
#: ``fault`` was raised before a wrong batch was trusted; ``timeout``: likewise, but seen only by a word that is missing
#: or one too many; ``wrong``: a batch with a wrong word was trusted.
OUTCOMES = ("masked", "detected", "timeout", "wrong")
#: An upset, as the harness reads and completes it: ``byte`` and ``mask`` within an element; ``recovered``: after it,
#: reset, load and the same vectors again gave right results.
FLIP = np.dtype(
    [
        *(("cycle", "i8"), ("element", "u4"), ("byte", "u4"), ("mask", "u1")),
        *(("outcome", "u1"), ("recovered", "u1"), ("", "V5"), ("when", "i8")),
    ]
)
#: Batches of a run; the upset hits the second, so that the core is busy with others before and after.
BATCHES = 4
#: Upsets that share one set of inputs.
ROUND = 2000
#: Cycles between two snapshots of the run without upsets: at least so many, and so many that all fit this many bytes.
STRIDE, ROOM = 16, 1 << 28


class _Loads(ctypes.Structure):
    _fields_ = [*((name, ctypes.c_void_p) for name in ("space", "address", "data")), ("count", ctypes.c_int64)]


class _Stimulus(ctypes.Structure):
    columns = ("words", "lasts", "stalls", "data", "ends", "matters")
    _fields_ = [
        *((name, ctypes.c_void_p) for name in columns),
        *((name, ctypes.c_int64) for name in ("word_count", "result_count")),
    ]


class Upsets:
    """A simulated core that holds ``image``, all of whose state can be flipped. ``elements`` is that state."""

    def __init__(self, image: Image) -> None:
        self.image = image
        extra = (Path(__file__).parent / "campaign.cpp").read_text()
        self._core = BulkCore(image.config, exposed=True, extra=extra)
        self._core.load(image)
        self._state = self._core.state
        self.elements = self._state.elements

    def flip(self, element: int, word: int, bit: int, cycle: int) -> Any:
        """A row of :data:`FLIP`: bit ``bit`` of word ``word`` of an element, when ``cycle`` begins."""
        row = np.zeros((), dtype=FLIP)
        row["cycle"], row["element"] = cycle, element
        row["byte"], row["mask"] = self._state.locate(element, word, bit)
        return row

    def run(self, stimulus: Stimulus, flips: NDArray[Any], recover: bool = False) -> NDArray[Any]:
        """``flips`` with their outcomes and, with ``recover``, whether the core recovers. Raises :exc:`CheckError` when
        the core fails without them."""
        expected = expect(stimulus, trace=False)
        image = self.image
        stalls = np.zeros(stimulus.results) if stimulus.stalls is None else stimulus.stalls
        # The value of the status word does not matter, only its fault bit.
        emits = image.instructions[image.addresses[image.emit_steps]]
        matters = np.concatenate([np.repeat(emits != -1, size) for size in stimulus.sizes])
        words = stimulus.vectors.reshape(-1).astype(np.uint64)
        columns: tuple[NDArray[Any], ...] = (
            words,
            stimulus.lasts(),
            stalls.astype(np.uint32),
            *(np.ascontiguousarray(expected.results[name]) for name in ("data", "last")),
            matters.astype(np.uint8),
        )
        given = _Stimulus(*(column.ctypes.data for column in columns), len(words), stimulus.results)
        items = load_columns(image.loads())
        loads = _Loads(*(column.ctypes.data for column in items), len(items[0]))
        flips = np.ascontiguousarray(flips)
        places = self._state.places
        quiet = expected.cycles + 2 * image.config.threads + 8
        stride = max(STRIDE, -(-quiet * sum(place.bytes for place in places) // ROOM))
        upsets = self._core.library.skinny_upsets
        upsets.restype = ctypes.c_int64
        outcome = upsets(
            self._core.handle,
            places,
            ctypes.c_int64(len(places)),
            ctypes.byref(given),
            ctypes.c_int64(stride),
            ctypes.c_int64(quiet),
            ctypes.c_int64(2 * quiet),
            ctypes.byref(loads) if recover else None,
            ctypes.c_void_p(flips.ctypes.data),
            ctypes.c_int64(len(flips)),
        )
        if outcome:
            raise CheckError(f"the core fails without an upset: {OUTCOMES[outcome]}")
        return flips


@dataclass(frozen=True, eq=False)
class Campaign:
    """Upsets with their outcomes; ``place`` and ``word`` (the program word that was issued when the bit was flipped)
    of each, and whether reset, load and the same vectors again gave right results (if that was tried)."""

    image: Image
    outcome: NDArray[np.uint8]
    recovered: NDArray[np.bool_]
    place: NDArray[Any]
    word: NDArray[np.int64]

    def counts(self, chosen: NDArray[np.bool_]) -> dict[str, int]:
        """The number of times that each outcome is met among the ``chosen`` upsets."""
        found = np.bincount(self.outcome[chosen], minlength=len(OUTCOMES))
        return dict(zip(OUTCOMES, found.tolist(), strict=True))

    @property
    def wrong(self) -> NDArray[np.bool_]:
        return np.isin(self.outcome, OUTCOMES.index("wrong"))

    @property
    def in_memory(self) -> NDArray[np.bool_]:
        return np.isin(self.place, MEMORIES)


def campaign(
    image: Image, count: int, seed: int, progress: Callable[[int], None] = lambda done: None, *, recover: bool = False
) -> Campaign:
    """``count`` upsets of registers and ``count`` of memories, an equal part each, in the second of four batches.
    No bit is flipped twice before every bit of its kind was flipped once. ``progress`` is told how many are done."""
    upsets = Upsets(image)
    config = image.config
    rng = np.random.default_rng(seed)
    places = np.array([element.place for element in upsets.elements])
    memories = [places == memory for memory in MEMORIES if memory in places]
    groups = [(~np.isin(places, MEMORIES), count), *((memory, -(-count // len(memories))) for memory in memories)]
    chosen = np.concatenate([draw_bits(rng, upsets.elements, np.flatnonzero(group), n) for group, n in groups])
    rng.shuffle(chosen)
    parts = []
    for first in range(0, len(chosen), ROUND):
        stimulus = _stimulus(rng, image)
        assert stimulus.stalls is not None
        starts = image.timetable(stimulus.sizes, Waits(stalls=stimulus.stalls.tolist())).starts
        part = chosen[first : first + ROUND]
        cycles = rng.integers(starts[1], starts[2], len(part))
        bits: list[tuple[int, int, int]] = part.tolist()
        flips = np.stack([upsets.flip(*bit, cycle) for bit, cycle in zip(bits, cycles.tolist(), strict=True)])
        flips = upsets.run(stimulus, flips, recover)
        words = image.addresses[np.minimum((flips["cycle"] - starts[1]) // config.threads, image.steps - 1)]
        parts.append((flips["outcome"], flips["recovered"].astype(bool), places[part[:, 0]], words))
        progress(first + len(part))
    return Campaign(image, *(np.concatenate(column) for column in zip(*parts, strict=True)))


def draw_bits(
    rng: np.random.Generator, elements: Sequence[Element], among: NDArray[np.int64], count: int
) -> NDArray[np.int64]:
    """``count`` rows ``(element, word, bit)`` of the elements ``among``: each bit as often as every other, or once
    more."""
    bits = np.array([elements[number].bits for number in among])
    ends = np.cumsum([elements[number].bits * elements[number].words for number in among])
    whole, rest = divmod(count, int(ends[-1]))
    flat = np.concatenate([np.tile(np.arange(ends[-1]), whole), rng.choice(ends[-1], rest, replace=False)])
    place = np.searchsorted(ends, flat, side="right")
    return np.stack([among[place], *np.divmod(flat - np.append(0, ends)[place], bits[place])], axis=1)


def _stimulus(rng: np.random.Generator, image: Image) -> Stimulus:
    """Four batches, of which the third may be short, for a receiver that lets one word in four wait."""
    config = image.config
    sizes = [config.threads] * BATCHES
    sizes[2] = int(rng.integers(1, config.threads + 1))
    vectors = random_vectors(rng, image, sum(sizes))
    plain = Stimulus(image, vectors, sizes)
    stalls = np.where(rng.random(plain.results) < 0.25, rng.integers(1, 8, plain.results), 0)
    return Stimulus(image, vectors, sizes, stalls=stalls)
