"""Sweeps: one formula or one table of data over all combinations of settings, and the best of them.

Programs are made first, each once; then every point is estimated, and what may be best is synthesised. The work is
spread over processes by Dask, and what is finished stands in a record (:mod:`.record`), so that a sweep that was
interrupted goes on where it was.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

from skinny.model.compiler.goal import parse_keep
from skinny.model.errors import InputError
from skinny.model.files import read_text
from skinny.model.formula.parse import parse_definitions
from skinny.model.limits import INPUTS_BYTE, current
from skinny.model.machine.isa import REGISTERS
from skinny.model.rings import Number, parse_ring

from .compiling import WIDTH, box_names
from .extras import needs_extra
from .points import QUALITIES, finished, unit_key
from .record import Record
from .values import as_box, as_number, as_path, as_whole, expect_choice, shown

if TYPE_CHECKING:
    from dask.distributed import Client

__all__ = ["FIGURES", "WORDS", "WORKERS", "area", "front", "sweep"]

#: Processes on this machine, unless others are asked for.
WORKERS = 2
#: Seconds that a scheduler has to answer.
PATIENCE = 5
#: Columns of a row that synthesis or an estimate gives.
FIGURES = ("cycles", "lut", "cells", "mhz", "inferences_per_second")
#: What a core is made of: points that have all of it in common are one core.
CORE = ("program", "format", "threads", "registers", "device")
#: What is done to cores, in words.
WORDS = {"estimate": "estimates", "synthesis": "syntheses"}

Row = dict[str, Any]
Unit = Mapping[str, Any]
#: Is told what is being done, and how many of how many.
Watch = Callable[[str, int, int], None]


@needs_extra("sweep")
def sweep(
    source: str,
    *,
    rings: Sequence[str] = ("fixed:16",),
    widths: Sequence[int] | None = None,
    threads: Sequence[int] = (4,),
    registers: Sequence[str] = ("flipflops",),
    devices: Sequence[str] = ("up5k",),
    budgets: Sequence[int] = (300,),
    target: str | None = None,
    box: Any = None,
    error: Number | None = None,
    keep: str = "linear,reversible",
    effort: float = 1.0,
    synthesis: str = "front",
    workers: int = WORKERS,
    scheduler: str | None = None,
    record: str | None = None,
    watch: Watch = lambda what, done, count: None,
) -> list[Row]:
    """All combinations of settings for the formula ``source`` or, with the column ``target`` that is to be learned, for
    the table in the CSV file ``source``: a dict each. ``skinny sweep --help`` explains the settings and the keys.

    ``record`` is the file that keeps what is finished. Local workers are processes that import the main module again:
    a script calls this below ``if __name__ == "__main__":``.
    """
    from skinny.sim.fpga.devices import find_device

    for device in devices:
        find_device(device)
    for place in registers:
        expect_choice(place, REGISTERS, "place of registers")
    expect_choice(synthesis, ("front", "none"), "synthesis")
    if not 1 <= as_whole(workers, "number of workers") <= 1000:
        raise InputError(f"the number of workers must be 1 to 1000, not {workers}")
    asked: dict[str, Sequence[Any] | None] = {"ring": rings, "width": widths, "budget": budgets, "threads": threads}
    if target is None:
        fixed = _formula(source, box, error, keep)
        asked |= {"width": (WIDTH,) if widths is None else widths, "budget": (None,)}
    else:
        fixed = _table(source, target, box, error, effort)
        asked |= {"width": (16,) if widths is None else widths}
    asked |= {"registers": registers, "device": devices}
    rows = _grid(asked)
    _expect_rings(asked["ring"] or (), chosen=target is not None or box is not None)
    with Record(None if record is None else as_path(record, "record")) as known, ExitStack() as stack:
        work = _Work(known, watch, lambda: stack.enter_context(_client(workers, scheduler)))
        _add_programs(rows, fixed, work)
        _add_figures(rows, "estimate", work)
        if synthesis == "front":
            _add_figures([row for row in rows if row["front"] or (row["reason"] and row["cycles"])], "synthesis", work)
    if not any(row["figures"] for row in rows):
        _mark([row for row in rows if row["cycles"]])
    known_cores = set()
    for row in rows:
        core = tuple(row[name] for name in CORE)
        row["front"] = row["front"] and core not in known_cores
        known_cores.add(core)
        del row["program"]
    return rows


def front(rows: Iterable[Row]) -> list[Row]:
    """The rows that no other row of the same device beats: none is better in quality, area or inferences a second and
    not worse in the others. Where there are no figures of cores, quality and cycles decide."""
    valued = [(row, _values(row)) for row in rows]
    return [
        row
        for row, own in valued
        if not any(
            rival["device"] == row["device"] and other != own and all(a >= b for a, b in zip(other, own, strict=True))
            for rival, other in valued
        )
    ]


def area(row: Row) -> tuple[str, int]:
    """The cells of which a core takes up most of its device: their name, and how many."""
    return ("LUT", row["lut"]) if row["cells"] is None else ("logic cells", row["cells"])


def _values(row: Row) -> tuple[float, ...]:
    """What is better the greater it is."""
    judged = (row[name] if more else -row[name] for name, more in QUALITIES.items() if name in row)
    return (*judged, *((-area(row)[1], row["inferences_per_second"]) if row["figures"] else (-row["cycles"],)))


def _formula(text: str, box: Any, error: Number | None, keep: str) -> Unit:
    """What the units of all programs of a formula have in common."""
    if "@" in re.sub("#.*", "", text):
        raise InputError("a sweep runs elsewhere, too, where no files are: its formula goes without @FILE inside")
    names = box_names(parse_definitions(text))
    if box is None and error is not None:
        raise InputError("error is about inputs in a box: box is missing")
    parse_keep(keep)
    pairs = None if box is None else dict(zip(names, as_box(box, names), strict=True))
    return {
        "kind": "formula",
        "text": text,
        "box": pairs and {name: (str(Fraction(low)), str(Fraction(high))) for name, (low, high) in pairs.items()},
        "error": None if error is None else str(as_number(error, "error")),
        "keep": keep,
    }


def _table(path: str, target: str, box: Any, error: Number | None, effort: float) -> Unit:
    """What the units of all programs that are learned from a table have in common."""
    from .table import parse_table

    if not effort > 0:
        raise InputError(f"the effort must be above zero, not {effort:g}")
    if box is not None or error is not None:
        raise InputError("box and error are about formulas: what is learned has the box of its data")
    text = read_text(path, INPUTS_BYTE)
    parse_table(text, target, path)
    return {"kind": "table", "text": text, "target": target, "effort": float(effort)}


def _grid(asked: Mapping[str, Iterable[Any] | None]) -> list[Row]:
    """A row for each combination of what is asked for; settings that mean nothing are None and left out."""
    for name, values in asked.items():
        if isinstance(values, str) or not isinstance(values, Iterable) or not list(values):
            raise InputError(f"sweep takes one {name} or several, as a list, not {shown(values)}")
    chosen = {name: list(dict.fromkeys(values or ())) for name, values in asked.items()}
    for name, called, least in (("width", "width", 3), ("threads", "number of threads", 1), ("budget", "budget", 1)):
        for value in chosen[name]:
            if value is not None and as_whole(value, called) < least:
                raise InputError(f"the {called} must be {least} or more, not {value}")
    return [
        {name: value for name, value in zip(chosen, values, strict=True) if value is not None}
        for values in product(*chosen.values())
    ]


def _expect_rings(names: Iterable[Any], *, chosen: bool) -> None:
    """Refuse what is no ring of a core; only where formats are ``chosen`` may the fraction be left out."""
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"a ring must be text like 'fixed:16' here, not {shown(name)}")
        if re.fullmatch("fixed:[0-9]+", name):
            if not chosen:
                raise InputError(f"the place of the point of {name} is chosen by a box: give one, or like {name}.8")
        elif not parse_ring(name).bits:
            raise InputError(f"there is no hardware for the ring {name}")


class _Work:
    """Units of work, done where they are not known yet."""

    def __init__(self, record: Record, watch: Watch, connect: Callable[[], Client]) -> None:
        self._record, self._watch, self._connect = record, watch, connect
        self._client: Client | None = None

    def results(self, what: str, units: Sequence[Unit]) -> list[dict[str, Any]]:
        """The result of each unit. A unit that fails for reasons outside of it is not finished: the reason is its
        result, and the next sweep tries it again."""
        keys = [unit_key(unit) for unit in units]
        wanted = dict(zip(keys, units, strict=True))
        missing = {key: unit for key, unit in wanted.items() if key not in self._record}
        failed: dict[str, dict[str, Any]] = {}
        done = len(wanted) - len(missing)
        if wanted:
            self._watch(what, done, len(wanted))
        if missing:
            for key, result, whole in self._run(missing):
                if whole:
                    self._record.add(key, missing[key]["kind"], result)
                else:
                    failed[key] = result
                done += 1
                self._watch(what, done, len(wanted))
        return [failed[key] if key in failed else self._record[key] for key in keys]

    def _run(self, units: Mapping[str, Unit]) -> Iterator[tuple[str, dict[str, Any], bool]]:
        """The key and the result of each unit as it comes, and whether it was finished."""
        from dask.distributed import as_completed

        self._client = self._client or self._connect()
        limits = current()
        futures = {
            self._client.submit(finished, unit, limits, key=f"skinny-{key}", pure=True): key
            for key, unit in units.items()
        }
        for future in as_completed(list(futures)):
            key = futures.pop(future)
            if future.cancelled():
                raise InputError("the scheduler went away; the same sweep goes on when it is back")
            error = future.exception()
            if error is None:
                yield key, future.result(), True
            else:
                said = f"{type(error).__name__}: {error}".splitlines()[0]
                yield key, {"reason": said[:200]}, False


@contextmanager
def _client(workers: int, scheduler: str | None) -> Iterator[Client]:
    """A connection to the ``scheduler``, or to one of our own with processes on this machine."""
    from dask.distributed import Client, LocalCluster

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what fails is told by the row
    if scheduler is not None:
        try:
            client = Client(scheduler, timeout=PATIENCE)
        except (OSError, ValueError) as error:
            raise InputError(f"no scheduler answers at {scheduler}: start one with 'dask scheduler'") from error
        with client:
            yield client
        return
    try:
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",  # any port that is free
            silence_logs=logging.CRITICAL,
        )
    except (OSError, RuntimeError) as error:
        raise InputError(f"the workers cannot be started ({error})") from error
    with cluster, Client(cluster) as client:
        yield client


def _add_programs(rows: Sequence[Row], fixed: Unit, work: _Work) -> None:
    """Give each row its program and what it is judged by."""
    units = [{**fixed, **{name: row[name] for name in ("ring", "width", "budget") if name in row}} for row in rows]
    found = work.results("programs", units)
    quality = next((name for result in found for name in result.get("quality", ())), None)
    for row, result in zip(rows, found, strict=True):
        row["format"] = result.get("format")
        if quality is not None:
            row[quality] = result.get("quality", {}).get(quality)
        row |= dict.fromkeys((*FIGURES, "figures"))
        row |= {"front": False, "reason": result.get("reason"), "program": result.get("program")}


def _add_figures(rows: Sequence[Row], kind: str, work: _Work) -> None:
    """Give each row that has a program the figures of its core."""
    rows = [row for row in rows if row["program"]]
    found = work.results(WORDS[kind], [{"kind": kind, **{name: row[name] for name in CORE}} for row in rows])
    for row, result in zip(rows, found, strict=True):
        row |= dict.fromkeys(FIGURES) | {"cycles": row["cycles"], "front": False, "reason": None} | result
        row["figures"] = None if row["reason"] else kind
    _mark([row for row in rows if row["figures"] == kind])


def _mark(rows: Sequence[Row]) -> None:
    """Mark the front of ``rows``, and take off the marks of the others."""
    best = front(rows)
    for row in rows:
        row["front"] = any(row is other for other in best)
