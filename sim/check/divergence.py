"""The first cycle in which two records of one stimulus differ, in words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from skinny.model.machine.image import MachineImage
from skinny.model.rings import Boolean

from .record import Record
from .stimulus import Stimulus

__all__ = [
    "describe_change",
    "describe_input",
    "describe_level",
    "describe_load",
    "describe_result",
    "describe_retirement",
    "first_divergence",
]


def first_divergence(stimulus: Stimulus, expected: Record, found: Record) -> str | None:
    """The first cycle in which ``found`` differs from ``expected``, in words, or None if they are equal."""
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
    # A result that changed while it waited is reported already.
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
    """The message for a retirement that is not the expected one; either may be None."""
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
    """The message for a result that is not the expected one; either may be None."""
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
    """The message for a result that did not stay as it was until it was taken."""
    return f"cycle {cycle}: {pin} of result {result} changed while it waited"


def describe_level(cycle: int, pin: str, expected: int) -> str:
    """The message for a pin that does not have the ``expected`` level."""
    return f"cycle {cycle}: {pin} expected {expected}, got {1 - expected}"


def describe_load(at: int, want: Any, got: Any) -> str:
    """The message for a word at the load port that was not taken in the cycle ``want``."""
    first = min(int(c) for c in (want, got) if c is not None)
    return f"cycle {first}: word {at} at the load port expected to be taken {_when(want)}, was {_when(got)}"


def describe_input(stimulus: Stimulus, at: int, want: Any, got: Any) -> str:
    """The message for an input word that was not accepted in the cycle ``want``."""
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
    return "S" if row["dst"] == image.config.accumulator else f"R{row['dst']}"


def _value(image: MachineImage, word: Any) -> str:
    if isinstance(image.config.ring, Boolean):
        return f"0x{int(word):x}"
    number = image.config.unpack(np.array([[word]], dtype=np.uint64), 1)[0, 0]
    return f"{image.config.ring.decode(number)} (0x{int(word):x})"
