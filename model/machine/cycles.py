"""The cycle model: what the core does in every cycle. Plain code, to be read as the specification of the timing.

Cycles are counted from any one clock edge. ``T`` is the number of threads, ``l`` the number of program words. A batch
that starts in cycle ``t0`` issues step ``p`` of thread ``t`` in cycle ``t0 + p·T + t``; see ``docs/isa.md``. A step is
a word that is issued: without loops step ``p`` issues word ``p``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from skinny.model.errors import InputError
from skinny.model.rings import Array, Boolean, PrimeField

from .image import NO_WAITS, MachineImage, Waits
from .isa import ATTENDS, ONE, CoreConfig, Op, Sending, Words
from .windows import Filling, window_rows

if TYPE_CHECKING:
    from .assemble import Image

__all__ = [
    "ACCEPT_TO_START",
    "BUFFER_DELAY",
    "FIFO_DELAY",
    "LOADED_TO_START",
    "NEVER",
    "TAKEN_TO_START",
    "Execution",
    "Ports",
    "Prediction",
    "Results",
    "Retirements",
    "Timetable",
    "batch_sizes",
    "buffer_delay",
    "cycles_per_inference",
    "execute",
    "latency",
    "overhead",
    "predict",
    "results",
    "retire_delay",
    "retirements",
    "start_cycle",
    "timetable",
]

#: From the cycle in which the last input word of a batch is accepted to its first issue.
ACCEPT_TO_START = 2
#: From the cycle in which a batch's last result is taken to the first issue of the batch that waited for its room.
TAKEN_TO_START = 3
#: From the cycle in which a word at ``load`` is taken to the earliest first issue of a batch.
LOADED_TO_START = 2
#: Word at block RAM, word registered, operands at block RAM, operands registered, scalar chosen.
FETCH = 5
#: From retirement to a valid word at ``o``: memory written, read, output register.
FIFO_DELAY = 3
#: From the last issue of a batch to the first cycle in which its input buffer takes words again.
BUFFER_DELAY = 3

#: Later than every cycle.
NEVER = 1 << 62

Cycles = NDArray[np.int64]


def retire_delay(config: CoreConfig) -> int:
    """From issue to retirement: the fetch stages, then once round the ring; or through a pipeline to the register
    memory. Indices that loops move take a cycle more."""
    return (config.pipeline if config.deep else FETCH + config.threads - 1) + bool(config.repeat)


def buffer_delay(config: CoreConfig) -> int:
    """From the last issue of a batch to the first cycle in which its input buffer takes words again."""
    return BUFFER_DELAY + bool(config.repeat)


def accept_to_start(config: CoreConfig) -> int:
    """From the cycle in which the last input word of a batch is accepted to its first issue: whether a window is full
    is known a cycle later."""
    return ACCEPT_TO_START + config.window


def fifo_delay(config: CoreConfig) -> int:
    """From retirement to a valid word at ``o``: argmax holds words for a cycle."""
    return FIFO_DELAY + bool(config.argmax)


def overhead(config: CoreConfig) -> int:
    """The constant of ``l·T + constant``: cycles from the acceptance of the last input word of a batch to the last
    result at ``o``, when the core was empty and the program ends with its last output."""
    return accept_to_start(config) - 1 + retire_delay(config) + fifo_delay(config)


def start_cycle(image: Image, accepted: int, before: int | None = None, taken: int | None = None) -> int:
    """The cycle of a batch's first issue. ``accepted``: its last input word was accepted; ``before``: the first issue
    of the batch before; ``taken``: the last result of the batch ``image.batches`` before was taken. (A batch that waits
    for the port ``load`` starts later: :class:`Loading`.)"""
    start = accepted + accept_to_start(image.config)
    if before is not None:
        start = max(start, before + image.steps * image.config.threads)
    if taken is not None:
        start = max(start, taken + TAKEN_TO_START)
    return start


def batch_sizes(vectors: int, threads: int) -> list[int]:
    """Full batches, and one that ends early with ``last``."""
    return [threads] * (vectors // threads) + ([vectors % threads] if vectors % threads else [])


class Execution(NamedTuple):
    """What every step computes for every vector: arrays of shape ``(steps, vectors)``. ``values`` are hardware words,
    ``faults`` tells where the word is malformed or a check fails. ``sent`` are the words that go to the result FIFO,
    where one does: the values, but for an argmax the number of the largest. ``left`` are the registers in the end, of
    shape ``(width, vectors)``; ``tainted`` are the vectors whose stream met a fault before their run."""

    values: Words
    faults: NDArray[np.bool_]
    sent: Words
    left: Words
    tainted: NDArray[np.bool_]


def execute(image: Image, vectors: Words, begin: Words | None = None, *, goes_on: bool = False) -> Execution:
    """Run the program words of ``image`` on hardware words ``vectors`` of shape ``(vectors, image.reads)``. The
    registers begin with the start vector, or with ``begin`` of shape ``(width, vectors)``; registers in memory with
    words that mean nothing. ``goes_on``: the runs are not the first ones of their streams."""
    config, ring = image.config, image.config.ring
    vectors = np.asarray(vectors, dtype=np.uint64)
    if vectors.ndim != 2 or vectors.shape[1] != image.reads:
        raise InputError(f"the vectors must have the shape (vectors, {image.reads}), not {vectors.shape}")
    count = len(vectors)
    zero = packed_words(config, np.zeros((1, 1), dtype=np.uint64))[0]
    # Memory past the vector or the weights holds nothing that a program may use; it reads as zero.
    x = np.broadcast_to(zero, (config.inputs, count)).copy()
    x[: image.reads] = packed_words(config, vectors.T)
    x = x[:: -1 if config.window else 1]
    w = np.broadcast_to(zero, (config.weights, 1)).copy()
    w[: len(image.weights)] = packed_words(config, image.weights[:, None])
    start = packed_words(config, _poisoned(config, count) if config.deep else image.start[:, None])

    registers = np.broadcast_to(start if begin is None else packed_words(config, begin), (config.width, count)).copy()
    restarted = [register for register in range(config.width) if register not in image.state]
    s = np.broadcast_to(zero, (count,))
    values = np.broadcast_to(zero, (image.steps, count)).copy()
    malformed = config.malformed(image.issued)
    faults = np.repeat(malformed[:, None], count, axis=1)
    fields = config.decode(image.issued)
    relu = fields.pop("relu", np.zeros(image.steps, dtype=np.int64)).tolist()
    fields.pop("rest", None)
    columns = [column.tolist() for column in fields.values()]
    for p, (op, neg, flag, dst, src, u, k) in enumerate(zip(*columns, strict=True)):
        if malformed[p]:
            continue
        add = ring.sub if neg else ring.add
        if op in config.applies:
            empty = flag and not config.assign
            scalar = x[u] if op == Op.APPLY_X else w[k] if op in (Op.APPLY_W, Op.BEGIN) else zero if empty else s
            product = ring.mul(scalar, registers[src])
            writes = op != Op.BEGIN or not goes_on
            if dst == config.accumulator:
                values[p] = np.broadcast_to(add(zero if flag else s, product), (count,))
                s = values[p].copy() if writes else s
                continue
            values[p] = add(zero if flag and config.assign else registers[dst], product)
            if flag and relu[p]:
                ring.relu(values[p])
            if writes:
                registers[dst] = values[p]
        elif op in ATTENDS:
            product = ring.mul(w[k], x[u]) if op == Op.ATTEND else w[k]
            s = values[p] = np.broadcast_to(add(zero if flag else s, product), (count,))
        elif op == Op.EMIT:
            if not config.argmax or src & 3 != Sending.ZERO:
                values[p] = registers[dst]
            if flag:
                registers[restarted] = np.broadcast_to(start, registers.shape)[restarted]
        elif op == Op.CHECK and config.deep:
            values[p] = registers[dst]
            expected = np.uint64(config.one if flag else 0)
            faults[p] = hardware_words(config, values[p : p + 1])[0] != expected
        elif op == Op.CHECK:
            faults[p] = (hardware_words(config, registers) != image.start[:, None]).any(axis=0)
    words = hardware_words(config, values)
    sent = _decided(image, words) if config.argmax else words
    return Execution(words, faults, sent, hardware_words(config, registers), np.zeros(count, dtype=np.bool_))


def execute_streams(
    image: Image, vectors: Words, sizes: Sequence[int], fresh: Sequence[bool], tuned: Sequence[Image] = ()
) -> Execution:
    """The same for streams: batch after batch of ``sizes`` vectors, of which thread ``t`` runs the next sample of
    stream ``t`` on the state that its last one left. Where ``fresh`` is set all streams begin anew. ``tuned`` is the
    image of each batch, if weights are written in between."""
    config, threads, kept = image.config, image.config.threads, list(image.state)
    start = _poisoned(config, threads) if config.deep else np.repeat(image.start[:, None], threads, axis=1)
    parts, first = [execute(image, vectors[:0], start[:, :0])], 0
    for number, (size, anew) in enumerate(zip(sizes, fresh, strict=True)):
        if anew:
            state, tainted = start.copy(), np.zeros(threads, dtype=np.bool_)
        now = tuned[number] if tuned else image
        part = execute(now, vectors[first : first + size], state[:, :size], goes_on=not anew)
        parts.append(part._replace(tainted=tainted[:size].copy()))
        if anew and config.deep:  # threads without a vector begin their streams, too
            state[kept] = image.state_start[:, None]
        state[kept, :size] = part.left[kept]
        tainted[:size] |= part.faults.any(axis=0)
        first += size
    return Execution(*(np.concatenate(columns, axis=-1) for columns in zip(*parts, strict=True)))


def _decided(image: Image, values: Words) -> Words:
    """The words that are sent, when those that a run compares are numbered and the number of the largest is sent."""
    config, out = image.config, values.copy()
    fields = config.decode(image.issued)
    numbers = (values << np.uint64(64 - config.bits)).view(np.int64)  # the order of signed words
    sending = np.where(fields["op"] == Op.EMIT, fields["src"] & 3, Sending.SEND)
    compared = np.flatnonzero(sending != Sending.SEND)
    for p in np.flatnonzero(sending == Sending.DECIDE).tolist():
        out[p] = np.argmax(numbers[compared[compared <= p]], axis=0)
    return out


def _poisoned(config: CoreConfig, count: int) -> Words:
    """What registers in memory hold at the start of a run: register 1 is one, the others may be anything."""
    limit = config.ring.p if isinstance(config.ring, PrimeField) else 1 << config.bits
    words = np.random.default_rng(0).integers(0, limit, (config.width, count), dtype=np.uint64)
    words[ONE] = config.one
    return words


def packed_words(config: CoreConfig, words: Words) -> Array:
    """Hardware words in the type the ring computes with."""
    if isinstance(config.ring, Boolean):
        return words
    return config.ring.pack(config.unpack(words, len(words)))


def hardware_words(config: CoreConfig, packed: Array) -> Words:
    if isinstance(config.ring, Boolean):
        return packed & np.uint64((1 << config.bits) - 1)
    return config.to_words(config.ring.unpack(packed, packed.shape[-1]))


class Retirements(NamedTuple):
    """Columns, a retirement a row, in order of their cycles. ``vector`` numbers the input vectors."""

    cycle: Cycles
    vector: Cycles
    thread: Cycles
    pc: Cycles
    op: Cycles
    dst: Cycles
    value: Words
    fault: NDArray[np.bool_]


def retirements(image: Image, execution: Execution, starts: Sequence[int], sizes: Sequence[int]) -> Retirements:
    """All retirements of batches of ``sizes`` vectors whose first words are issued in the cycles ``starts``."""
    config = image.config
    thread, vector, begin = _threads(starts, sizes)
    cycle = (begin + thread)[None, :] + np.arange(image.steps)[:, None] * config.threads + retire_delay(config)
    order = np.argsort(cycle, axis=None, kind="stable")
    p, v = np.unravel_index(order, cycle.shape)
    fields = config.decode(image.issued)
    attends = np.isin(fields["op"], ATTENDS) & config.attention & (not config.deep)
    dst = np.where(attends, config.width, fields["dst"])
    return Retirements(
        *(cycle[p, v], vector[v], thread[v], image.addresses[p], fields["op"][p], dst[p]),
        *(execution.values[p, v], execution.faults[p, v]),
    )


class Results(NamedTuple):
    """Columns, a result word a row, in the order of ``o``. ``cycle`` is that of the retirement."""

    cycle: Cycles
    vector: Cycles
    pc: Cycles
    data: Words
    last: NDArray[np.bool_]
    fault: NDArray[np.bool_]


def results(image: Image, execution: Execution, starts: Sequence[int], sizes: Sequence[int]) -> Results:
    """All result words: of each batch, for each emit in order, one a thread."""
    config = image.config
    thread, vector, begin = _threads(starts, sizes)
    fields = config.decode(image.issued)
    emits = image.emit_steps
    stained = np.logical_or.accumulate(execution.faults, axis=0) | execution.tainted
    final = np.zeros(len(thread), dtype=bool)
    final[np.cumsum(np.asarray(sizes, dtype=np.int64)) - 1] = True
    cycle = (begin + thread)[None, :] + emits[:, None] * config.threads + retire_delay(config)
    e, v = np.unravel_index(np.argsort(cycle, axis=None, kind="stable"), cycle.shape)
    p = emits[e]
    last = (fields["neg"][p] == 1) & final[v]
    return Results(cycle[e, v], vector[v], image.addresses[p], execution.sent[p, v], last, stained[p, v])


def _threads(starts: Sequence[int], sizes: Sequence[int]) -> tuple[Cycles, Cycles, Cycles]:
    """Of each vector: its thread, its number, the first issue of its batch."""
    size = np.asarray(sizes, dtype=np.int64)
    first = np.cumsum(size) - size
    vector = np.arange(size.sum())
    return vector - np.repeat(first, size), vector, np.repeat(np.asarray(starts, dtype=np.int64), size)


class Timetable(NamedTuple):
    """Cycles: ``accepted`` of each input word, ``starts`` of each batch, ``valid`` and ``taken`` of each result; those
    in which ``busy`` changes, first to high; ``loaded`` of each word at the load port. ``fresh`` tells of each batch of
    a core with state whether streams begin anew with it; ``runs``, in a core with a window, how many vectors of each
    batch find it full. Batches of which none does are not among the others."""

    accepted: Cycles
    starts: Cycles
    valid: Cycles
    taken: Cycles
    busy: Cycles
    loaded: Cycles
    fresh: NDArray[np.bool_]
    runs: Cycles


class Loading:
    """Words offered at the load port during a run, word ``n`` when ``pauses[n]`` cycles have passed since the word
    before was taken; ``loaded`` are the cycles in which they are."""

    def __init__(self, pauses: Sequence[int], begin: int = 0) -> None:
        self.pauses = pauses
        self.begin = begin
        self.loaded: list[int] = []

    def _next(self) -> int:
        """When the next word is offered."""
        return (self.loaded[-1] + 1 if self.loaded else self.begin) + self.pauses[len(self.loaded)]

    def advance(self, until: int, idle: int) -> None:
        """Load what is taken in cycle ``until`` or earlier. Nothing runs from cycle ``idle`` until then."""
        while len(self.loaded) < len(self.pauses) and max(self._next(), idle) <= until:
            self.loaded.append(max(self._next(), idle))

    def delay(self, start: int, idle: int, aligned: Callable[[int], int]) -> int:
        """When a batch starts that could start in cycle ``start`` if nothing was offered. What began before keeps
        ``busy`` high until cycle ``idle``. ``aligned`` is the first cycle, not before a given one, in which a batch may
        start with what was loaded so far."""
        if self.loaded:
            start = max(start, self.loaded[-1] + LOADED_TO_START)
        while len(self.loaded) < len(self.pauses):
            offered = self._next()
            if offered >= aligned(start):
                break
            self.loaded.append(max(offered, idle))
            start = max(start, self.loaded[-1] + LOADED_TO_START)
        return aligned(start)


def _busy_changes(starts: Sequence[int], idle: Sequence[int]) -> list[int]:
    """The cycles in which ``busy`` changes when a batch keeps it high from ``starts`` until before ``idle``."""
    changes: list[int] = []
    for start, end in zip(starts, idle, strict=True):
        if changes and start <= changes[-1]:
            changes[-1] = max(changes[-1], end)
        else:
            changes += [start, end]
    return changes


class Ports:
    """The ports of a core or an engine while a :class:`Timetable` is made: what was accepted, sent and loaded so far.

    ``starts`` and ``idle`` hold for each batch the cycle of its first issue and the first cycle in which it keeps
    ``busy`` high no more; ``ends`` those in which its last result was taken. ``runs`` are the vectors of each batch
    that came in, full windows or not, that run. ``turns`` are the cycles from the first
    issue of a batch to that of the next, at least. ``begin`` is the first cycle after reset.
    """

    def __init__(self, image: MachineImage, waits: Waits, begin: int = 0) -> None:
        self.image = image
        self.gaps = waits.gaps
        self.stalls = waits.stalls
        self.begin = begin
        self.turns = image.steps * image.config.threads
        self.loading = Loading(waits.pauses, begin)
        self.renews = waits.renews
        self.fresh: list[bool] = []
        self.ran = 0
        self.runs: list[int] = []
        self.filling = Filling(image.lanes[0])
        self.first = self.rested = begin
        self.accepted: list[int] = []
        self.starts: list[int] = []
        self.idle: list[int] = []
        self.ends: list[int] = []
        self.valid: list[int] = []
        self.taken: list[int] = []

    def accept(self, size: int) -> int:
        """Take the input words of the next batch, of ``size`` vectors; returns the cycle of the last."""
        config, free = self.image.config, max(self.rested, self._released(-2))
        if config.window:
            free = self._begin_windows(free)
            begin = len(self.accepted)
        for _ in range(size * self.image.vector):
            offered = self.accepted[-1] + 1 if self.accepted else self.begin
            offered += self.gaps[len(self.accepted)] if self.gaps is not None else 0
            self.accepted.append(max(offered, free))
        if config.window:
            # Threads without a vector pass by, a cycle each; after every batch there is one.
            self.rested = self.accepted[-1] + 1 + max(1, config.threads - size)
            self.first = self.accepted[begin]
            size = self.filling.arrive(size)
        self.runs.append(size)
        return self.accepted[-1]

    def _begin_windows(self, free: int) -> int:
        """A batch begins to come in, in cycle ``free`` or later: windows are empty if streams began anew since the one
        before began to come in, and then all that came in before must have been read. Returns the cycle from which on
        it may come in."""
        gap = self.gaps[len(self.accepted)] if self.gaps is not None else 0
        first = max(free, gap + (self.accepted[-1] + 1 if self.accepted else self.begin))
        quiet = max(self._released(-1), self.accepted[-1] + 2 if self.accepted else self.begin)
        while True:
            self.loading.advance(first - 1, self.idle[-1] if self.idle else self.begin)
            loaded = zip(self.loading.loaded, self.renews, strict=False)
            renewed = [cycle for cycle, renews in loaded if renews and self.first <= cycle < first]
            if renewed:
                self.filling.empty()
            if not renewed or first > max(quiet, renewed[-1] + 1):
                return first
            first = max(quiet, renewed[-1] + 1) + 1

    def _released(self, batch: int) -> int:
        """The first cycle in which the input buffer takes words in place of a batch that started, counted from the
        end."""
        if len(self.starts) < -batch:
            return self.begin
        return self.starts[batch] + self.turns - 1 + buffer_delay(self.image.config)

    def load(self, start: int) -> tuple[int, bool]:
        """When a batch starts that could start in cycle ``start`` if nothing was offered at the load port, and whether
        words were loaded before it and after the start of the batch before."""
        start = self.loading.delay(start, self.idle[-1] if self.idle else self.begin, self._aligned)
        return start, len(self.loading.loaded) > self.ran

    def is_fresh(self) -> bool:
        """Whether streams begin anew with the next batch: none began since reset, or more than weights were loaded
        since."""
        return not self.starts or any(self.renews[self.ran : len(self.loading.loaded)])

    def begin_batch(self, start: int) -> None:
        """A batch issues its first instruction in cycle ``start``."""
        self.fresh.append(self.is_fresh())
        self.ran = len(self.loading.loaded)
        self.starts.append(start)

    def _aligned(self, start: int) -> int:
        """The first cycle, not before ``start``, in which a batch may start: streams go on in their turns."""
        if start == NEVER or not self.image.config.state or self.is_fresh():
            return start
        return start + (self.starts[-1] - start) % self.image.config.threads

    def send(self, shown: int) -> None:
        """Send a result that can be at ``o`` in cycle ``shown``, and not before the result before it was taken."""
        self.valid.append(max(shown, self.taken[-1] + 1 if self.taken else 0))
        self.taken.append(self.valid[-1] + (self.stalls[len(self.taken)] if self.stalls is not None else 0))

    def timetable(self) -> Timetable:
        """All that happened, when what is left for the load port is loaded, too."""
        self.load(NEVER)
        accepted, starts, valid, taken, busy, loaded = (
            np.array(column, dtype=np.int64)
            for column in (
                *(self.accepted, self.starts, self.valid, self.taken),
                *(_busy_changes(self.starts, self.idle), self.loading.loaded),
            )
        )
        fresh, runs = np.array(self.fresh, dtype=np.bool_), np.array(self.runs, dtype=np.int64)
        return Timetable(accepted, starts, valid, taken, busy, loaded, fresh, runs)


def timetable(image: Image, sizes: Sequence[int], waits: Waits = NO_WAITS, begin: int = 0) -> Timetable:
    """When everything happens in a core, from the first cycle ``begin`` after reset, with batches of ``sizes``
    vectors."""
    config = image.config
    emits = image.emit_steps.tolist()
    ports = Ports(image, waits, begin)
    for size in sizes:
        accepted = ports.accept(size)
        if not ports.runs[-1]:
            continue
        before, batch = ports.starts[-1] if ports.starts else None, len(ports.starts)
        room = ports.ends[batch - image.batches] if batch >= image.batches else None
        start, loaded = ports.load(start_cycle(image, accepted, before, room))
        if loaded and ports.ends:
            # Results of the program before may fill the FIFO in another measure.
            start, _ = ports.load(max(start, ports.ends[-1] + TAKEN_TO_START))
        ports.begin_batch(start)
        ports.idle.append(start + ports.turns + retire_delay(config))
        for p in emits:
            for thread in range(ports.runs[-1]):
                ports.send(start + p * config.threads + thread + retire_delay(config) + fifo_delay(config))
        ports.ends.append(ports.taken[-1] if ports.taken else 0)
    return ports.timetable()


class Prediction(NamedTuple):
    """All that happens: when, the retirements of each lane, and the result words in the order of ``o``."""

    when: Timetable
    retired: list[Retirements]
    data: Words
    last: NDArray[np.bool_]
    fault: NDArray[np.bool_]


def predict(
    image: Image,
    vectors: Words,
    when: Timetable,
    sizes: Sequence[int],
    tunes: Sequence[tuple[int, int] | None] = (),
) -> Prediction:
    """All that happens in a core with ``vectors`` in batches of ``sizes``, whose timetable is ``when``. ``tunes`` are
    the address and the word of those that were loaded on the way and are weights."""
    if image.config.window:
        vectors = window_rows(image, vectors, sizes, when.runs.tolist())
        sizes = when.runs[when.runs > 0].tolist()
    tuned = _tuned(image, when, tunes)
    if image.config.state:
        execution = execute_streams(image, vectors, sizes, when.fresh.tolist(), tuned)
    elif tuned:
        ends = np.cumsum(sizes)[:-1]
        parts = [execute(tuned[batch], part) for batch, part in enumerate(np.split(vectors, ends))]
        execution = Execution(*(np.concatenate(columns, axis=-1) for columns in zip(*parts, strict=True)))
    else:
        execution = execute(image, vectors)
    starts = when.starts.tolist()
    found = results(image, execution, starts, sizes)
    return Prediction(when, [retirements(image, execution, starts, sizes)], found.data, found.last, found.fault)


def _tuned(image: Image, when: Timetable, tunes: Sequence[tuple[int, int] | None]) -> list[Image]:
    """The image of each batch, where a weight was written that is not the one of ``image``; else nothing."""
    written = [
        (cycle, tune)
        for cycle, tune in zip(when.loaded.tolist(), tunes, strict=False)
        if tune is not None and tune[0] < len(image.weights)
    ]
    if all(image.weights[address] == word for _, (address, word) in written):
        return []
    out = []
    for start in when.starts.tolist():
        while written and written[0][0] < start:
            address, word = written.pop(0)[1]
            weights = image.weights.copy()
            weights[address] = word
            image = replace(image, weights=weights)
        out.append(image)
    return out


def latency(image: MachineImage) -> int:
    """Cycles from the acceptance of the last input word of a full batch to its last result, from idle."""
    when = image.timetable([image.batch] * _filling_batches(image))
    return int(when.taken[-1] - when.accepted[-1])


def _filling_batches(image: MachineImage) -> int:
    """Full batches up to the first one that runs."""
    lane = image.lanes[0]
    return -(-lane.fill // lane.vector) if lane.config.window else 1


def cycles_per_inference(image: MachineImage) -> float:
    """Cycles of an inference in the long run, with a source and a sink that never wait."""
    starts = image.timetable([image.batch] * (15 + _filling_batches(image))).starts
    vectors = 8 * image.batch
    return float(starts[-1] - starts[-9]) / vectors / image.config.inferences
