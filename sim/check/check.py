"""What a simulation must show, and how it is compared: the same for every engine.

A :class:`Stimulus` is a program image, vectors and the behaviour of source and sink. :func:`expect` asks the cycle
model what follows from it; an engine observes a :class:`Record`; :func:`first_divergence` names the first cycle in
which the two differ. Cycles are counted from the first one in which the source may offer a word.

Every engine drives new random bits in every cycle on all pins that mean nothing then, the same ones in every
simulation; a word at the load port is on its pins only when it is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skinny.model.machine import cycles as model
from skinny.model.machine.image import MachineImage, Write
from skinny.model.machine.isa import APPLIES, ATTENDS, Words
from skinny.model.rings import Array, Boolean, FixedPoint, PrimeField, Ring

__all__ = [
    "RESULT",
    "RETIRE",
    "WAITING",
    "Record",
    "Stimulus",
    "expect",
    "first_divergence",
    "outputs",
    "random_elements",
    "random_stimulus",
    "utilisation",
]

#: A retirement, as the harness writes it. ``lane`` tells the cores of an engine apart.
RETIRE = np.dtype(
    [
        *(
            ("cycle", "i8"),
            ("value", "u8"),
            ("pc", "u4"),
            ("thread", "u1"),
            ("op", "u1"),
            ("dst", "u1"),
            ("fault", "u1"),
        ),
        *(("lane", "u1"), ("", "V7")),
    ]
)
#: A result: when it was first valid, when it was taken (-1: not in this run), and the word.
RESULT = np.dtype([("valid", "i8"), ("taken", "i8"), ("data", "u8"), ("last", "u1"), ("fault", "u1"), ("", "V6")])
#: The pins on which a result waits.
WAITING = ("valid", "data", "last", "fault")


@dataclass(frozen=True, eq=False)
class Stimulus:
    """Batches of ``sizes`` vectors. ``gaps``: idle cycles before each input word; ``stalls``: cycles that each result
    waits for the sink; none of either by default. ``loads``: words that are offered at the load port meanwhile, each
    after ``pauses`` idle cycles; up to the start of the last batch they must leave everything as ``image`` has it."""

    image: MachineImage
    vectors: Words
    sizes: Sequence[int]
    gaps: NDArray[np.int64] | None = None
    stalls: NDArray[np.int64] | None = None
    loads: Sequence[Write] = ()
    pauses: NDArray[np.int64] | None = None

    @classmethod
    def steady(cls, image: MachineImage, vectors: Words) -> Stimulus:
        """A source and a sink that never wait."""
        return cls(image, vectors, model.batch_sizes(len(vectors), image.batch))

    @property
    def results(self) -> int:
        """How many result words follow."""
        return self.image.emits * len(self.vectors)

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
    """Vectors in batches of which a share ``early`` ends early, from a source that idles and to a sink that stalls: of
    the words a share ``idle`` comes late, of the results a share ``stall`` has to wait, now and then for long."""
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
        long = 2 * image.config.threads * len(image)
        out = np.where(rng.random(count) < 0.02, rng.integers(1, long + 1, count), rng.integers(1, 6, count))
        return np.where(rng.random(count) < share, out, 0)

    plain = Stimulus(image, vectors, sizes)
    return Stimulus(image, vectors, sizes, waits(vectors.size, idle), waits(plain.results, stall))


@dataclass(eq=False)
class Record:
    """What was observed, or is expected.

    ``accepted``: the cycle of each input word. ``results``, ``trace``: rows of :data:`RESULT` and :data:`RETIRE` (no
    trace: it was not asked for). ``busy``: the cycles in which that pin changes, first to high. ``load_ready``:
    likewise, first to low (None: there is no load port). ``loaded``: the cycle of each word at the load port.
    ``fault``: the first cycle with ``fault`` high, or -1. ``cycles``: until the core was idle. ``worked``: retirements
    for which the multiplier worked. ``extra``: results that nobody expected. ``changed``: the first cycle in which a
    waiting result did, its number and the pin. ``seconds``: how long the simulation took."""

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
    """What the cycle model says, of the first ``cycles`` cycles or of all."""
    image, gaps, stalls = stimulus.image, _listed(stimulus.gaps), _listed(stimulus.stalls)
    pauses = _listed(stimulus.pauses) or [0] * len(stimulus.loads)
    plan, retired, *words = image.predict(stimulus.vectors, stimulus.sizes, gaps, stalls, pauses)
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


def outputs(stimulus: Stimulus, record: Record) -> Words:
    """The results of a complete run by vector, as hardware words of shape ``(vectors, outputs)``."""
    emits = stimulus.image.emits
    out = np.zeros((len(stimulus.vectors), emits), dtype=np.uint64)
    first = 0
    for size in stimulus.sizes:
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


def first_divergence(stimulus: Stimulus, expected: Record, found: Record) -> str | None:
    """The first cycle in which ``found`` is not what was ``expected``, in words, or None."""
    candidates = []
    if expected.trace is not None and found.trace is not None:
        at = _first_difference(expected.trace, found.trace)
        if at is not None:
            want, got = _row(expected.trace, at), _row(found.trace, at)
            candidates.append((_earliest(want, got, "cycle"), 0, describe_retirement(stimulus.image, want, got)))
    if found.fault != expected.fault:
        moments = [c for c in (expected.fault, found.fault) if c >= 0]
        text = f"fault expected {_moment(expected.fault)}, got {_moment(found.fault)}"
        candidates.append((min(moments), 1, f"cycle {min(moments)}: {text}"))
    for order, name, first in ((2, "busy", 1), (3, "load_ready", 0)):
        changes, seen = getattr(expected, name), getattr(found, name)
        if changes is None or seen is None or (at := _first_difference(changes, seen)) is None:
            continue
        want, got = _row(changes, at), _row(seen, at)
        late = got is None or (want is not None and want < got)
        cycle = int(want if late else got)
        candidates.append((cycle, order, describe_level(cycle, name, first ^ at & 1 ^ (not late))))
    at = _first_difference(expected.loaded, found.loaded)
    if at is not None:
        want, got = _row(expected.loaded, at), _row(found.loaded, at)
        candidates.append((min(c for c in (want, got) if c is not None), 4, describe_load(at, want, got)))
    at = _first_difference(expected.accepted, found.accepted)
    if at is not None:
        want, got = _row(expected.accepted, at), _row(found.accepted, at)
        candidates.append((min(c for c in (want, got) if c is not None), 5, describe_input(stimulus, at, want, got)))
    if found.changed is not None:
        candidates.append((found.changed[0], 6, describe_change(*found.changed)))
    at = _first_difference(expected.results, found.results)
    # What becomes of a result that changed while it waited is no news.
    if at is not None and (found.changed is None or at < found.changed[1]):
        want, got = _row(expected.results, at), _row(found.results, at)
        candidates.append((_earliest(want, got, "valid", "taken"), 7, describe_result(stimulus, at, want, got)))
    if found.extra:
        candidates.append((found.cycles, 8, f"{found.extra} results more than the {len(expected.results)} expected"))
    return min(candidates)[2] if candidates else None


def _first_difference(a: NDArray[Any], b: NDArray[Any]) -> int | None:
    short = min(len(a), len(b))
    if a.dtype.names:
        differs = np.zeros(short, dtype=bool)
        for name in a.dtype.names:
            if a.dtype[name].kind != "V":
                differs |= a[name][:short] != b[name][:short]
    else:
        differs = a[:short] != b[:short]
    if differs.any():
        return int(np.argmax(differs))
    return short if len(a) != len(b) else None


def _row(rows: NDArray[Any], at: int) -> Any:
    return rows[at] if at < len(rows) else None


def _earliest(want: Any, got: Any, *names: str) -> int:
    """The cycle of the first difference between two rows whose ``names`` are cycles."""
    if want is None or got is None:
        return int((got if want is None else want)[names[0]])
    moments = [int(row[name]) for name in names if want[name] != got[name] for row in (want, got) if row[name] >= 0]
    return min(moments) if moments else int(want[names[0]])


def _moment(cycle: int) -> str:
    return "never" if cycle < 0 else f"in cycle {cycle}"


def describe_retirement(image: MachineImage, want: Any, got: Any) -> str:
    """A retirement that is not the expected one; either may be None."""
    if want is None:
        return f"cycle {got['cycle']}, {_place(image, got)}: retired, but nothing was expected"
    head = f"cycle {want['cycle']}, {_place(image, want)}"
    if got is None:
        return f"{head}: {_register(image, want)} expected {_value(image, want['value'])}, but nothing retired"
    if want["cycle"] != got["cycle"]:
        head = f"cycle {min(want['cycle'], got['cycle'])}, {_place(image, want)}"
        return f"{head}: expected to retire in cycle {want['cycle']}, the next retirement is in cycle {got['cycle']}"
    for name in ("lane", "thread", "pc", "op", "dst"):
        if want[name] != got[name]:
            return f"{head}: {name} expected {want[name]}, got {got[name]}"
    if want["value"] != got["value"]:
        expected, found = _value(image, want["value"]), _value(image, got["value"])
        return f"{head}: {_register(image, want)} expected {expected}, got {found}"
    return f"{head}: fault expected {want['fault']}, got {got['fault']}"


def describe_result(stimulus: Stimulus, at: int, want: Any, got: Any) -> str:
    if want is None or got is None:
        seen = got if want is None else want
        return f"cycle {seen['valid']}: result {at} {'was not expected' if want is None else 'is missing'}"
    names = [name for name in ("valid", "taken", "data", "last", "fault") if want[name] != got[name]]
    differences = "; ".join(
        f"{name} expected {_value(stimulus.image, want[name]) if name == 'data' else want[name]}, "
        f"got {_value(stimulus.image, got[name]) if name == 'data' else got[name]}"
        for name in names
    )
    return f"cycle {_earliest(want, got, 'valid', 'taken')}: result {at}: {differences}"


def describe_change(cycle: int, result: int, pin: str) -> str:
    """A result that did not stay as it was until it was taken."""
    return f"cycle {cycle}: {pin} of result {result} changed while it waited"


def describe_level(cycle: int, pin: str, expected: int) -> str:
    """A pin that is not what it should be."""
    return f"cycle {cycle}: {pin} expected {expected}, got {1 - expected}"


def describe_load(at: int, want: Any, got: Any) -> str:
    """A word at the load port that was not taken when it should."""
    first = min(int(c) for c in (want, got) if c is not None)
    return f"cycle {first}: word {at} at the load port expected to be taken {_when(want)}, was {_when(got)}"


def describe_input(stimulus: Stimulus, at: int, want: Any, got: Any) -> str:
    vector, u = divmod(at, stimulus.image.vector)
    first = min(int(c) for c in (want, got) if c is not None)
    return f"cycle {first}: input word {u} of vector {vector} expected to be accepted {_when(want)}, was {_when(got)}"


def _when(cycle: Any) -> str:
    return _moment(-1 if cycle is None else cycle)


def _place(image: MachineImage, row: Any) -> str:
    lane = image.lanes[int(row["lane"])]
    where = f"lane {row['lane']}, " * (len(image.lanes) > 1) + f"thread {row['thread']}, "
    return where + (lane.describe(int(row["pc"])) if row["pc"] < len(lane) else f"word {row['pc']} (past the end)")


def _register(image: MachineImage, row: Any) -> str:
    return "S" if row["dst"] == image.config.width else f"R{row['dst']}"


def _value(image: MachineImage, word: Any) -> str:
    if image.config.ring.name == "boolean":
        return f"0x{int(word):x}"
    number = image.config.unpack(np.array([[word]], dtype=np.uint64), 1)[0, 0]
    return f"{image.config.ring.decode(number)} (0x{int(word):x})"
