"""The bulk simulator: a verilated core as a shared library that takes whole batches as numpy arrays.

Python is not in the loop over cycles, so a run goes at nearly the speed of a C++ main program, with or without the
trace of every retirement.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skinny.hdl.core.layout import retire_port
from skinny.hdl.export.export import TOP, to_verilog
from skinny.hdl.parallel.engine import component
from skinny.model.errors import CheckError
from skinny.model.machine.image import Hardware, MachineImage
from skinny.sim.build import build_library
from skinny.sim.check.divergence import first_divergence
from skinny.sim.check.record import RESULT, RETIRE, WAITING, Record, expect
from skinny.sim.check.steps import CoreStep, LoadImage, ResetCore, RunStimulus
from skinny.sim.check.stimulus import Stimulus

from .state import State, expose, state_text

__all__ = ["BulkCore", "harness", "load_columns"]

#: Cycles without an end in sight after which a core is taken to hang, beyond what the stimulus itself needs.
PATIENCE = 10_000


def harness(config: Hardware, *, rom: bool = False, exposed: bool = False) -> str:
    """The C++ text that makes a verilated core or engine of ``config`` callable, and with ``exposed`` its state
    (:mod:`.state`)."""
    core, lanes = config.core, config.cores
    # A batch starts soon after its last input word, but streams that go on wait for their turn.
    quiet = 4 + (core.threads if core.streams else 0)
    sizes = {"BITS": core.bits, "ADDRESS_BITS": config.address_bits, "LOAD_BITS": config.load_bits, "QUIET": quiet}
    lines = [f"#define {name} {bits}\n" for name, bits in sizes.items()]
    lines.append(f"#define LANES {' '.join(f'LANE({n}, {retire_port(n)})' for n in range(lanes))}\n")
    lines += ["#define ROM\n"] * rom + ["#define EXPOSED\n"] * exposed
    text = "".join(lines) + (Path(__file__).parent / "harness.cpp").read_text()
    return text + state_text("Core") if exposed else text


def load_columns(loads: Iterable[tuple[int, int, int]]) -> tuple[NDArray[Any], ...]:
    """Space, address and data of writes at the load port, as the harness takes them."""
    items = np.array([tuple(map(int, item)) for item in loads], dtype=np.uint64).reshape(-1, 3)
    return tuple(np.ascontiguousarray(items[:, n].astype(kind)) for n, kind in enumerate(("u1", "u4", "u8")))


class _Run(ctypes.Structure):
    pointers: tuple[str, ...] = ("words", "lasts", "gaps", "stalls", "space", "address", "data", "pauses")
    pointers += ("accepted", "loaded", "results", "trace", "busy", "load_ready")
    numbers: tuple[str, ...] = ("word_count", "result_count", "load_count", "limit", "trace_room", "change_room")
    numbers += ("cycles", "total", "sent", "taken", "extra", "traced", "worked", "fault", "written")
    numbers += ("busy_changes", "load_ready_changes", "changed", "changed_result", "changed_pin")
    _fields_ = [*((name, ctypes.c_void_p) for name in pointers), *((name, ctypes.c_int64) for name in numbers)]


@cache
def _library(path: Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(path))
    handle, pointer, integer = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64
    library.skinny_open.restype = handle
    for name, arguments, result in (
        ("close", [handle], None),
        ("reset", [handle], None),
        ("load", [handle, pointer, pointer, pointer, integer, integer], integer),
        ("run", [handle, ctypes.POINTER(_Run)], None),
    ):
        function = getattr(library, f"skinny_{name}")
        function.argtypes, function.restype = arguments, result
    return library


class BulkCore:
    """A simulated core or engine. Without ``image`` it is empty until :meth:`load`; with ``image`` that is its initial
    contents.

    With ``exposed`` there is ``state``, all its registers and memories, and bits of it can be flipped. ``extra`` is C++
    text that follows the harness; its functions are found in ``library`` and take ``handle``. ``level`` is how much the
    compiler optimises.
    """

    def __init__(
        self,
        config: Hardware,
        image: MachineImage | None = None,
        *,
        rom: bool = False,
        target: str = "generic",
        exposed: bool = False,
        extra: str = "",
        level: str = "-O3",
    ) -> None:
        self.config = config
        self.cycles = 0
        self._rng = np.random.default_rng(1)
        core = component(config, image, rom=rom, target=target)
        verilog = to_verilog(core) + core.target.models()
        if exposed:
            verilog, elements = expose(verilog, config.core.width)
        text = harness(config, rom=rom, exposed=exposed) + extra
        self.library = _library(build_library(verilog, TOP, text, level=level))
        self.handle = ctypes.c_void_p(self.library.skinny_open())
        weakref.finalize(self, self.library.skinny_close, self.handle)
        if exposed:
            self.state = State(self.library, self.handle, elements)
        self.reset()

    def reset(self) -> None:
        """Hold reset for a cycle. Memories keep their contents, as in hardware."""
        self.library.skinny_reset(self.handle)

    def load(self, image: MachineImage) -> None:
        """Write ``image`` at the load port, with a pause now and then."""
        columns = load_columns(image.loads())
        count = len(columns[0])
        done = self.library.skinny_load(self.handle, *(column.ctypes.data for column in columns), count, count)
        if done != count:
            raise CheckError(f"the load port took {done} words in {count} cycles")

    def flip(self, element: int, word: int, bit: int, cycle: int) -> None:
        """Flip bit ``bit`` of word ``word`` of an element of the state when cycle ``cycle`` of the next run begins."""
        byte, mask = self.state.locate(element, word, bit)
        function = self.library.skinny_flip
        function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint8, ctypes.c_int64]
        function(self.handle, self.state.places[element].at + byte, mask, cycle)

    def run(self, stimulus: Stimulus, trace: bool = True, cycles: int | None = None) -> Record:
        """Offer the vectors and take the results until the core is idle or for ``cycles``; returns the record, without
        the trace of retirements unless ``trace``."""
        image = stimulus.image
        words = np.ascontiguousarray(stimulus.vectors, dtype=np.uint64).reshape(-1)
        lasts = stimulus.lasts(self._rng)
        waits = (stimulus.gaps, stimulus.stalls, stimulus.pauses)
        gaps, stalls, pauses = (None if each is None else each.astype(np.uint32) for each in waits)
        space, address, data = load_columns(stimulus.loads)
        results = np.zeros(stimulus.results, dtype=RESULT)
        accepted, loaded = np.zeros(len(words), dtype=np.int64), np.zeros(len(space), dtype=np.int64)
        # A broken core may retire more than the program has, or change a pin more often; one more is enough to see it.
        busy, load_ready = np.zeros((2, 2 * len(stimulus.sizes) + 1), dtype=np.int64)
        spread = sum(lane.steps * (image.config.width if n else 1) for n, lane in enumerate(image.lanes))
        rows = np.empty(spread * len(stimulus.vectors) + 1 if trace else 0, dtype=RETIRE)
        if cycles is None:
            issue = image.steps * image.config.threads * len(stimulus.sizes)
            waiting = sum(0 if each is None else int(each.sum()) for each in (gaps, stalls, pauses))
            cycles = issue + waiting + 2 * (len(words) + len(results) + len(loaded)) + PATIENCE
        arrays = {
            **{"words": words, "lasts": lasts, "gaps": gaps, "stalls": stalls},
            **{"space": space, "address": address, "data": data, "pauses": pauses},
            **{"accepted": accepted, "loaded": loaded, "results": results, "trace": rows if trace else None},
            **{"busy": busy, "load_ready": load_ready},
        }
        run = _Run(
            **{name: None if array is None else array.ctypes.data for name, array in arrays.items()},
            word_count=len(words),
            result_count=len(results),
            load_count=len(loaded),
            limit=cycles,
            trace_room=len(rows),
            change_room=len(busy),
        )
        before = perf_counter()
        self.library.skinny_run(self.handle, ctypes.byref(run))
        seconds = perf_counter() - before
        self.cycles += run.total
        return Record(
            accepted=accepted[: run.sent],
            results=results[: run.taken],
            trace=rows[: min(run.traced, len(rows))] if trace else None,
            busy=busy[: run.busy_changes],
            load_ready=load_ready[: run.load_ready_changes] if run.load_ready_changes >= 0 else None,
            loaded=loaded[: run.written],
            fault=run.fault,
            cycles=run.cycles,
            worked=run.worked,
            extra=run.extra,
            changed=None if run.changed < 0 else (run.changed, run.changed_result, WAITING[run.changed_pin]),
            seconds=seconds,
        )

    def do(self, steps: Iterable[CoreStep]) -> Iterator[Record]:
        """Do ``steps`` one after the other; yields the record of each run. The first difference from the cycle model is
        a :exc:`CheckError`."""
        for step in steps:
            match step:
                case ResetCore():
                    self.reset()
                case LoadImage(image):
                    self.load(image)
                case RunStimulus(stimulus, cycles):
                    record = self.run(stimulus, cycles=cycles)
                    expected = expect(stimulus, cycles=cycles)
                    if (difference := first_divergence(stimulus, expected, record)) is not None:
                        raise CheckError(difference)
                    yield record
