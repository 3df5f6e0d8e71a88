"""What a simulation must show, and how it is compared: the same for every engine.

A :class:`Stimulus` is a program image, vectors and the behaviour of source and sink. :func:`expect` asks the cycle
model what follows from it; an engine observes a :class:`Record`; :func:`first_divergence` names the first cycle in
which the two differ. Cycles are counted from the first one in which the source may offer a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skinny.model import cycles
from skinny.model.assemble import Image
from skinny.model.isa import APPLIES, ATTENDS, Words
from skinny.model.lane_cycles import predict
from skinny.model.rings import Array, Boolean, FixedPoint, PrimeField, Ring
from skinny.model.segments import EngineImage

__all__ = [
    "RESULT",
    "RETIRE",
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
#: A result: when it was first valid, when it was taken, and the word.
RESULT = np.dtype([("valid", "i8"), ("taken", "i8"), ("data", "u8"), ("last", "u1"), ("fault", "u1"), ("", "V6")])


@dataclass(frozen=True, eq=False)
class Stimulus:
    """Batches of ``sizes`` vectors. ``gaps``: idle cycles before each input word; ``stalls``: cycles that each result
    waits for the sink; none of either by default. With ``noise`` everything that must not matter is driven the wrong
    way: ``last`` inside vectors, words that are not offered, ``ready`` while no result is there."""

    image: Image | EngineImage
    vectors: Words
    sizes: Sequence[int]
    gaps: NDArray[np.int64] | None = None
    stalls: NDArray[np.int64] | None = None
    noise: bool = False

    @classmethod
    def steady(cls, image: Image | EngineImage, vectors: Words) -> Stimulus:
        """A source and a sink that never wait."""
        return cls(image, vectors, cycles.batch_sizes(len(vectors), image.batch))

    @property
    def results(self) -> int:
        """How many result words follow."""
        return self.image.emits * len(self.vectors)

    def lasts(self) -> NDArray[np.uint8]:
        """``last`` of every input word."""
        out = np.full(self.vectors.shape, int(self.noise), dtype=np.uint8)
        out[:, -1] = 0
        ends = np.cumsum(self.sizes) - 1
        out[ends[np.asarray(self.sizes) < self.image.batch], -1] = 1
        return out.reshape(-1)


def random_stimulus(
    rng: np.random.Generator,
    image: Image | EngineImage,
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
    return Stimulus(image, vectors, sizes, waits(vectors.size, idle), waits(plain.results, stall), noise=True)


@dataclass(eq=False)
class Record:
    """What was observed, or is expected: ``accepted`` the cycle of each input word, ``results`` and ``trace`` rows of
    :data:`RESULT` and :data:`RETIRE` (no trace: it was not asked for), ``fault`` the first cycle with ``fault`` high or
    -1, ``cycles`` until the core was idle, ``busy`` retirements for which the multiplier worked, ``extra`` results
    that nobody expected, ``seconds`` that the simulation took."""

    accepted: NDArray[np.int64]
    results: NDArray[Any]
    trace: NDArray[Any] | None
    fault: int = -1
    cycles: int = 0
    busy: int = 0
    extra: int = 0
    seconds: float = 0.0


def expect(stimulus: Stimulus, trace: bool = True) -> Record:
    """What the cycle model says."""
    image, gaps, stalls = stimulus.image, _listed(stimulus.gaps), _listed(stimulus.stalls)
    if isinstance(image, EngineImage):
        plan, retired, *words = predict(image, stimulus.vectors, stimulus.sizes, gaps, stalls)
    else:
        execution = cycles.execute(image, stimulus.vectors)
        plan = cycles.schedule(image, stimulus.sizes, gaps, stalls)
        starts = plan.starts.tolist()
        words = list(cycles.results(image, execution, starts, stimulus.sizes)[3:])
        retired = [cycles.retirements(image, execution, starts, stimulus.sizes)]
    results = np.zeros(len(plan.valid), dtype=RESULT)
    for name, column in zip(("valid", "taken", "data", "last", "fault"), (plan.valid, plan.taken, *words), strict=True):
        results[name] = column
    rows = np.zeros(sum(len(lane.cycle) for lane in retired), dtype=RETIRE)
    for name in RETIRE.names or ():
        if name in cycles.Retirements._fields:
            rows[name] = np.concatenate([getattr(lane, name) for lane in retired])
    rows["lane"] = np.repeat(np.arange(len(retired)), [len(lane.cycle) for lane in retired])
    rows = rows[np.lexsort((rows["lane"], rows["cycle"]))]
    faults = np.flatnonzero(rows["fault"])
    last = max(results["taken"].max(initial=-1), rows["cycle"].max(initial=-1), plan.accepted.max(initial=-1))
    return Record(
        accepted=plan.accepted,
        results=results,
        trace=rows if trace else None,
        fault=int(rows["cycle"][faults[0]]) + 1 if len(faults) else -1,
        cycles=int(last) + 1,
        busy=int(np.isin(rows["op"], (*APPLIES, *ATTENDS)).sum()),
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
        return record.busy / record.cycles if record.cycles else 0.0
    span = int(record.trace["cycle"][-1] - record.trace["cycle"][0]) + 1
    return record.busy / span


def first_divergence(stimulus: Stimulus, expected: Record, found: Record) -> str | None:
    """The first cycle in which ``found`` is not what was ``expected``, in words, or None."""
    candidates = []
    if expected.trace is not None and found.trace is not None:
        at = _first_difference(expected.trace, found.trace)
        if at is not None:
            want, got = _row(expected.trace, at), _row(found.trace, at)
            candidates.append((_earliest(want, got, "cycle"), 0, describe_retirement(stimulus.image, want, got)))
    at = _first_difference(expected.results, found.results)
    if at is not None:
        want, got = _row(expected.results, at), _row(found.results, at)
        candidates.append((_earliest(want, got, "valid", "taken"), 1, describe_result(stimulus, at, want, got)))
    at = _first_difference(expected.accepted, found.accepted)
    if at is not None:
        want, got = _row(expected.accepted, at), _row(found.accepted, at)
        candidates.append((min(c for c in (want, got) if c is not None), 2, describe_input(stimulus, at, want, got)))
    if found.fault != expected.fault:
        moments = [c for c in (expected.fault, found.fault) if c >= 0]
        text = f"fault expected {_moment(expected.fault)}, got {_moment(found.fault)}"
        candidates.append((min(moments), 3, f"cycle {min(moments)}: {text}"))
    if found.extra:
        candidates.append((found.cycles, 4, f"{found.extra} results more than the {len(expected.results)} expected"))
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
    moments = [min(int(want[name]), int(got[name])) for name in names if want[name] != got[name]]
    return min(moments) if moments else int(want[names[0]])


def _moment(cycle: int) -> str:
    return "never" if cycle < 0 else f"in cycle {cycle}"


def describe_retirement(image: Image | EngineImage, want: Any, got: Any) -> str:
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


def describe_input(stimulus: Stimulus, at: int, want: Any, got: Any) -> str:
    vector, u = divmod(at, stimulus.image.vector)
    seen = "never" if got is None else f"in cycle {got}"
    expected = "never" if want is None else f"in cycle {want}"
    first = min(int(c) for c in (want, got) if c is not None)
    return f"cycle {first}: input word {u} of vector {vector} expected to be accepted {expected}, was {seen}"


def _place(image: Image | EngineImage, row: Any) -> str:
    lane = image.lanes[int(row["lane"])]
    where = f"lane {row['lane']}, " * (len(image.lanes) > 1) + f"thread {row['thread']}, "
    return where + (lane.describe(int(row["pc"])) if row["pc"] < len(lane) else f"word {row['pc']} (past the end)")


def _register(image: Image | EngineImage, row: Any) -> str:
    return "S" if row["dst"] == image.config.width else f"R{row['dst']}"


def _value(image: Image | EngineImage, word: Any) -> str:
    if image.config.ring.name == "boolean":
        return f"0x{int(word):x}"
    number = image.config.unpack(np.array([[word]], dtype=np.uint64), 1)[0, 0]
    return f"{image.config.ring.decode(number)} (0x{int(word):x})"
