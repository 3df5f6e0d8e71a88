"""The parallel engine's program: one program cut into segments, one for each lane.

The registers are a row vector and the program is a product of matrices, so no segment need wait for the ones before it.
Lane 0 runs its segment from the start vector. Every other lane runs its own from the unit vectors, a thread each: what
they end with are the rows of the segment's matrix. Whatever a lane sends is therefore a *column*: a word of each unit
vector, and the vector that comes in from the lane before times the column is the value (:mod:`.combine`). A
lane sends the outputs that lie in its segment and then, unless it is the last, its registers.

After a restart a segment depends on nothing that came in: all its threads run alike from the start vector, and a column
is *copied* from the first of them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from skinny.model.errors import InputError
from skinny.model.machine.assemble import Image, assemble
from skinny.model.machine.cycles import Prediction, Timetable
from skinny.model.machine.image import NO_WAITS, Waits, Write
from skinny.model.machine.isa import (
    MOST_BATCHES,
    MOST_FLIPFLOPS,
    CoreConfig,
    Space,
    Words,
    fifo_size,
    index_bits,
    memory_size,
)
from skinny.model.program.forms import Linear, attention_cost
from skinny.model.program.program import Output, Program
from skinny.model.rings import Array, FixedPoint, Ring

from . import lane_cycles
from .combine import run_lanes

__all__ = ["EngineConfig", "EngineImage", "Lane", "assemble_lanes", "cut"]


class Lane(NamedTuple):
    """How a core takes part in an engine: ``vectors`` a batch, ``spread`` threads for each: one that runs from the
    start vector, or one for each unit vector."""

    vectors: int
    spread: int


@dataclass(frozen=True)
class EngineConfig:
    """The size of an engine: ``cores`` lanes, each a core of the size ``core``, which has no check unit."""

    core: CoreConfig
    cores: int

    def __post_init__(self) -> None:
        if not isinstance(self.cores, int) or not 2 <= self.cores <= 16:
            raise InputError(f"the number of lanes must be 1 to 16, not {self.cores!r}")
        if self.core.deep:
            raise InputError("a lane has its registers in flip-flops: they begin with unit vectors")
        if self.core.check:
            raise InputError("a lane cannot check: its registers do not begin with the start vector")
        if self.core.threads < self.core.width:
            raise InputError(
                f"lanes run a thread for each of {self.core.width} registers: {self.core.threads} threads are too few"
            )

    @property
    def vectors(self) -> int:
        """Vectors of a batch: each takes ``width`` threads."""
        return self.core.threads // self.core.width

    def lane(self, number: int) -> Lane:
        return Lane(self.vectors, self.core.width if number else 1)

    @property
    def lane_bits(self) -> int:
        """Bits of a lane's address at the load port; the number after the last lane is the combiner's."""
        return max(self.core.address_bits, index_bits(1 + 2 * self.cores))

    @property
    def address_bits(self) -> int:
        """Bits of an address at the load port: the lane's number above the address in the lane."""
        return self.lane_bits + index_bits(self.cores + 1)

    @property
    def load_bits(self) -> int:
        """Bits of a word at the load port."""
        return max(self.core.load_bits, self.column_bits)

    @property
    def column_bits(self) -> int:
        """Bits of a number of columns."""
        return self.core.fifo.bit_length()

    @property
    def unit(self) -> tuple[int, int]:
        """What a unit vector has in its place, as a hardware word, and the sign of what comes of it. The fixed-point
        formats without one run from minus one, and the combiner subtracts."""
        ring = self.core.ring
        return self.core.one, -1 if isinstance(ring, FixedPoint) and ring.frac == ring.bits - 1 else 1

    @classmethod
    def fit(cls, program: Program, ring: Ring, cores: int, **given: Any) -> EngineConfig:
        """The smallest engine of power-of-two memories that holds ``program``; ``given`` are parameters of its cores
        that are set."""
        usual: dict[str, Any] = {"depth": 2, "check": False}
        if program.width <= MOST_FLIPFLOPS:
            usual["registers"] = "flipflops"
        core = cls(CoreConfig.fit(program, ring, **(usual | given)), cores).core
        lanes = _lane_programs(program, core, cores)
        sizes = {
            "depth": memory_size(max(lane.words + len(lane.outputs) for lane in lanes)),
            "fifo": max(core.fifo, fifo_size(core.threads * max(len(lane.outputs) for lane in lanes))),
        }
        return cls(replace(core, **(sizes | given)), cores)


@dataclass(frozen=True, eq=False)
class EngineImage:
    """What an engine holds to run a program: an image for each lane, and what the combiner makes of its columns. A
    :class:`~skinny.model.machine.image.MachineImage` of several lanes.

    ``sent[k]`` is how many of lane ``k``'s columns are outputs, ``combined[k]`` how many of its columns (outputs, then
    registers) depend on what comes in; the others are copied.
    """

    hardware: EngineConfig
    lanes: tuple[Image, ...]
    sent: tuple[int, ...]
    combined: tuple[int, ...]
    program: Program

    def __len__(self) -> int:
        """Words of the longest lane: a batch takes that many turns of all threads."""
        return max(map(len, self.lanes))

    @property
    def steps(self) -> int:
        return max(lane.steps for lane in self.lanes)

    @property
    def config(self) -> CoreConfig:
        return self.hardware.core

    @property
    def vector(self) -> int:
        return self.lanes[0].vector

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(output.name for output in self.program.outputs)

    @property
    def self_check(self) -> bool:
        """Whether runs undo themselves; lanes never do."""
        return False

    @property
    def batch(self) -> int:
        return self.hardware.vectors

    @property
    def emits(self) -> int:
        return len(self.program.outputs)

    @property
    def batches(self) -> int:
        """Batches whose results fit the engine's result FIFO together."""
        return min(MOST_BATCHES, self.config.fifo // (self.batch * self.emits))

    @property
    def settings(self) -> list[int]:
        """The combiner's settings in the order of their addresses: the batches, then ``sent`` and ``combined`` of each
        lane."""
        return [self.batches, *(n for pair in zip(self.sent, self.combined, strict=True) for n in pair)]

    def reassemble(self, program: Program) -> EngineImage:
        return assemble_lanes(program, self.hardware)

    def golden(self, elements: Array) -> Array:
        return run_lanes(self, elements)

    def timetable(self, sizes: Sequence[int], waits: Waits = NO_WAITS) -> Timetable:
        return lane_cycles.timetable(self, sizes, waits)

    def predict(self, vectors: Words, sizes: Sequence[int], waits: Waits = NO_WAITS) -> Prediction:
        return lane_cycles.predict(self, vectors, self.timetable(sizes, waits), sizes)

    def loads(self) -> Iterator[Write]:
        """The writes that put the image into an engine over its load port."""
        bits = self.hardware.lane_bits
        for number, lane in enumerate(self.lanes):
            for item in lane.loads():
                yield item._replace(address=item.address | number << bits)
        for address, value in enumerate(self.settings):
            yield Write(Space.SETTINGS, address | len(self.lanes) << bits, value)

    def listing(self) -> str:
        """The listings of all lanes."""
        return "\n".join(f"lane {number}\n{lane.listing()}" for number, lane in enumerate(self.lanes))


def assemble_lanes(program: Program, config: EngineConfig) -> EngineImage:
    """The image of ``program``, cut into as many segments as there are lanes. Raises :exc:`InputError` naming what
    does not fit."""
    core = config.core
    results = config.vectors * len(program.outputs)
    if results > core.fifo:
        raise InputError(f"{results} results of a batch do not fit a FIFO of {core.fifo}")
    programs = _lane_programs(program, core, config.cores)
    images, sent, combined = [], [], []
    for number, lane in enumerate(programs):
        try:
            images.append(assemble(lane, core))
        except InputError as error:
            raise InputError(f"lane {number}: {error}") from None
        restarts = [place for place, output in enumerate(lane.outputs, 1) if output.restart]
        sent.append(len(lane.outputs) - (core.width if number < config.cores - 1 else 0))
        combined.append(0 if number == 0 else restarts[0] if restarts else len(lane.outputs))
    return EngineImage(config, tuple(images), tuple(sent), tuple(combined), program)


def _lane_programs(program: Program, core: CoreConfig, cores: int) -> list[Program]:
    """What each lane runs: its instructions, the outputs among them, and its registers as further outputs."""
    if program.width > core.width:
        raise InputError(f"{program.width} registers do not fit the width {core.width}")
    program.expect_linear("lanes need")
    if program.argmax:
        raise InputError("lanes send outputs, not the number of the largest: argmax needs a single core")
    start = program.start + (0,) * (core.width - program.width)
    cuts = cut(program, cores, core.width)
    # An output between two segments is sent by the first of them; those at the end by the last lane.
    owners = [cores - 1 if output.at == cuts[-1] else bisect_left(cuts[1:], output.at) for output in program.outputs]
    out = []
    for number, (first, end) in enumerate(pairwise(cuts)):
        last = number == cores - 1
        outputs = [
            output._replace(at=output.at - first)
            for output, owner in zip(program.outputs, owners, strict=True)
            if owner == number
        ]
        if not last:
            outputs += [Output(f"(R{register})", register, end - first) for register in range(core.width)]
        out.append(
            replace(
                program,
                width=core.width,
                start=start,
                contract="clean",
                code=program.code.part(slice(first, end)),
                outputs=tuple(outputs),
            )
        )
    return out


def cut(program: Program, lanes: int, state: int) -> list[int]:
    """The positions 0, …, end between which ``lanes`` segments lie so that the longest takes as few words as possible;
    each but the last sends ``state`` words more. What follows the last output is left out.

    A cut never parts neighbouring instructions that use one linear form. Where a form is used again later, or the next
    one differs from it in a few terms, a cut makes the lane build it anew; that is counted.
    """
    end = program.outputs[-1].at
    cost, glued = program.costs()
    places = [output.at for output in program.outputs if output.at < end]
    emits = np.bincount(np.array(places, dtype=np.int64), minlength=end + 1)[: end + 1]
    reached = np.concatenate([[0], np.cumsum(cost[:end])]) + np.cumsum(emits)
    anew = _costs_anew(program, cost)
    free = np.flatnonzero(~glued[: end + 1])
    free = free[free < end]
    ends = np.append(free, end)

    def place(limit: int) -> list[int] | None:
        """Cuts with no lane of more than ``limit`` words, each as late as can be, or None."""
        cuts = [0]
        for lane in range(lanes - 1):
            begin = cuts[-1]
            done = int(reached[begin]) if lane else 0
            most = done + limit - state - int(anew[begin])
            nearest = int(np.searchsorted(reached[ends], most, side="right")) - 1
            cuts.append(max(begin, int(ends[max(0, nearest)])))
        begin = cuts[-1]
        left = int(reached[end] - reached[begin] + anew[begin]) + len(program.outputs) - len(places)
        return [*cuts, end] if left <= limit else None

    most = int(reached[end] + anew.max()) + state + len(program.outputs)
    found = place(bisect_left(range(most), True, key=lambda limit: place(limit) is not None))
    assert found is not None, "all in the last lane is always possible"
    return found


def _costs_anew(program: Program, cost: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each position, the steps that it takes more to begin there: the next linear form is not in the
    accumulator, nor one like it."""
    out = np.zeros(len(program) + 1, dtype=np.int64)
    more = 0
    for position, number in reversed(list(enumerate(program.code.form.tolist()))):
        form = program.forms[number]
        if isinstance(form, Linear):
            more = 1 + attention_cost(None, form) - int(cost[position])
        out[position] = more
    return out
