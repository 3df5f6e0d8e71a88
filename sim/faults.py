"""Campaigns of single-event upsets: a bit of state is flipped in one cycle, and what the receiver sees is judged."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skinny.hdl.core import Core
from skinny.hdl.export import TOP, to_verilog
from skinny.model.assemble import Image
from skinny.model.cycles import schedule
from skinny.model.errors import CheckError
from skinny.model.isa import Op
from skinny.model.rings import Boolean

from .build import build_library
from .bulk import BulkCore, harness
from .check import Stimulus, expect, random_elements
from .state import MEMORIES, expose

__all__ = ["FLIP", "OUTCOMES", "Campaign", "Upsets", "campaign"]

#: What becomes of an upset, as the harness numbers it. ``masked``: all results right, nothing raised; ``detected``:
#: ``fault`` was raised before a wrong batch was trusted; ``timeout``: likewise, but seen only by a word that is missing
#: or one too many; ``wrong``: a batch with a wrong word was trusted.
OUTCOMES = ("masked", "detected", "timeout", "wrong")
#: An upset, as the harness reads and completes it: ``byte`` and ``mask`` within an element.
FLIP = np.dtype(
    [
        *(("cycle", "i8"), ("element", "u4"), ("byte", "u4"), ("mask", "u1")),
        *(("outcome", "u1"), ("", "V6"), ("when", "i8")),
    ]
)
#: Batches of a run; the upset hits the second, so that the core is busy with others before and after.
BATCHES = 4
#: Upsets that share one set of inputs.
ROUND = 2000
#: Cycles between two snapshots of the run without upsets: at least so many, and so many that all fit this many bytes.
STRIDE, ROOM = 16, 1 << 28


class _Element(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), ("bytes", ctypes.c_int64)]


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
        config = image.config
        verilog, self.elements = expose(to_verilog(Core(config)), config.width)
        text = harness(config, public=True) + (Path(__file__).parent / "faults.cpp").read_text()
        self._core = BulkCore(config, path=build_library(verilog, TOP, text))
        self._core.load(image)
        self._places = (_Element * len(self.elements))()
        for element, place in zip(self.elements, self._places, strict=True):
            if not self._call("element", element.scope.encode(), element.name.encode(), ctypes.byref(place)):
                raise KeyError(f"there is no {element.name} in {element.scope}")

    def _call(self, name: str, *arguments: Any) -> int:
        function = getattr(self._core.library, f"skinny_{name}")
        function.restype = ctypes.c_int64
        return int(function(self._core.handle, *arguments))

    def flip(self, element: int, word: int, bit: int, cycle: int) -> Any:
        """A row of :data:`FLIP`: bit ``bit`` of word ``word`` of an element, when ``cycle`` begins."""
        row = np.zeros((), dtype=FLIP)
        size = self._places[element].bytes // self.elements[element].words
        row["cycle"], row["element"] = cycle, element
        row["byte"], row["mask"] = word * size + bit // 8, 1 << bit % 8
        return row

    def run(self, stimulus: Stimulus, flips: NDArray[Any]) -> NDArray[Any]:
        """``flips`` with their outcomes. Raises :exc:`CheckError` when the core fails without them."""
        expected = expect(stimulus, trace=False)
        image = self.image
        stalls = np.zeros(stimulus.results) if stimulus.stalls is None else stimulus.stalls
        # What the status word holds does not matter, only its fault bit.
        emits = image.instructions[image.config.decode(image.words)["op"] == Op.EMIT]
        matters = np.concatenate([np.repeat(emits != -1, size) for size in stimulus.sizes])
        words = stimulus.vectors.reshape(-1).astype(np.uint64)
        columns = (
            words,
            stimulus.lasts(),
            stalls.astype(np.uint32),
            *(np.ascontiguousarray(expected.results[name]) for name in ("data", "last")),
            matters.astype(np.uint8),
        )
        given = _Stimulus(*(column.ctypes.data for column in columns), len(words), stimulus.results)
        flips = np.ascontiguousarray(flips)
        quiet = expected.cycles + 2 * image.config.threads + 8
        stride = max(STRIDE, -(-quiet * sum(place.bytes for place in self._places) // ROOM))
        outcome = self._call(
            "upsets",
            self._places,
            ctypes.c_int64(len(self._places)),
            ctypes.byref(given),
            ctypes.c_int64(stride),
            ctypes.c_int64(quiet),
            ctypes.c_int64(2 * quiet),
            ctypes.c_void_p(flips.ctypes.data),
            ctypes.c_int64(len(flips)),
        )
        if outcome:
            raise CheckError(f"the core fails without an upset: {OUTCOMES[outcome]}")
        return flips


@dataclass(frozen=True, eq=False)
class Campaign:
    """Upsets with their outcomes; ``place`` and ``word`` (the program word that was issued when the bit was flipped)
    of each."""

    image: Image
    outcome: NDArray[np.uint8]
    place: NDArray[Any]
    word: NDArray[np.int64]

    def counts(self, chosen: NDArray[np.bool_]) -> dict[str, int]:
        """How often each outcome is met among the ``chosen`` upsets."""
        found = np.bincount(self.outcome[chosen], minlength=len(OUTCOMES))
        return dict(zip(OUTCOMES, found.tolist(), strict=True))

    @property
    def wrong(self) -> NDArray[np.bool_]:
        return self.outcome == OUTCOMES.index("wrong")

    @property
    def in_memory(self) -> NDArray[np.bool_]:
        return np.isin(self.place, MEMORIES)


def campaign(image: Image, count: int, seed: int, progress: Callable[[int], None] = lambda done: None) -> Campaign:
    """``count`` upsets of registers and ``count`` of memories, a quarter each, at bits and cycles that are chosen
    evenly from the second of four batches. ``progress`` is told how many are done."""
    upsets = Upsets(image)
    config = image.config
    rng = np.random.default_rng(seed)
    sizes = np.array([element.bits * element.words for element in upsets.elements])
    places = np.array([element.place for element in upsets.elements])
    groups = [(~np.isin(places, MEMORIES), count), *((places == memory, -(-count // 4)) for memory in MEMORIES)]
    chosen = np.concatenate(
        [rng.choice(len(sizes), wanted, p=np.where(group, sizes, 0) / sizes[group].sum()) for group, wanted in groups]
    )
    rng.shuffle(chosen)
    parts = []
    for first in range(0, len(chosen), ROUND):
        stimulus = _stimulus(rng, image)
        starts = schedule(image, stimulus.sizes, stalls=stimulus.stalls.tolist()).starts
        part = chosen[first : first + ROUND]
        flips = np.concatenate(
            [
                upsets.flip(
                    number,
                    int(rng.integers(upsets.elements[number].words)),
                    int(rng.integers(upsets.elements[number].bits)),
                    int(rng.integers(starts[1], starts[2])),
                )[None]
                for number in part.tolist()
            ]
        )
        flips = upsets.run(stimulus, flips)
        words = np.minimum((flips["cycle"] - starts[1]) // config.threads, len(image) - 1)
        parts.append((flips["outcome"], places[part], words))
        progress(first + len(part))
    return Campaign(image, *(np.concatenate(column) for column in zip(*parts, strict=True)))


def _stimulus(rng: np.random.Generator, image: Image) -> Stimulus:
    """Four batches, of which the third may be short, for a receiver that lets one word in four wait."""
    config = image.config
    sizes = [config.threads] * BATCHES
    sizes[2] = int(rng.integers(1, config.threads + 1))
    lanes = config.lanes if isinstance(config.ring, Boolean) else 1
    vectors = config.pack(random_elements(rng, config.ring, (sum(sizes) * lanes, image.vector)))
    plain = Stimulus(image, vectors, sizes)
    stalls = np.where(rng.random(plain.results) < 0.25, rng.integers(1, 8, plain.results), 0)
    return Stimulus(image, vectors, sizes, stalls=stalls)
