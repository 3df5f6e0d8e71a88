"""The bulk engine: a verilated core as a shared library that takes whole batches as numpy arrays.

Python is not in the loop over cycles, so a run goes at nearly the speed of a C++ main program, with or without the
trace of every retirement.
"""

from __future__ import annotations

import ctypes
import weakref
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skinny.hdl.engine import component
from skinny.hdl.export import TOP, to_verilog
from skinny.hdl.layout import retire_port
from skinny.model.assemble import Image
from skinny.model.errors import CheckError
from skinny.model.isa import CoreConfig
from skinny.model.segments import EngineConfig, EngineImage

from .build import build_library
from .check import RESULT, RETIRE, Record, Stimulus

__all__ = ["BulkCore", "harness", "load_columns"]

#: Cycles without an end in sight after which a core is taken to hang, beyond what the stimulus itself needs.
PATIENCE = 10_000


def harness(config: CoreConfig | EngineConfig, *, rom: bool = False, public: bool = False) -> str:
    """The C++ text that makes a verilated core or engine of ``config`` callable."""
    core, lanes = (config.core, config.cores) if isinstance(config, EngineConfig) else (config, 1)
    lines = [f"#define BITS {core.bits}\n"]
    lines.append(f"#define LANES {' '.join(f'LANE({n}, {retire_port(n)})' for n in range(lanes))}\n")
    lines += ["#define ROM\n"] * rom + ['#define PUBLIC\n#include "verilated_syms.h"\n'] * public
    return "".join(lines) + (Path(__file__).parent / "harness.cpp").read_text()


def load_columns(image: Image | EngineImage) -> tuple[NDArray[Any], ...]:
    """Space, address and data of the writes that load ``image``, as the harness takes them."""
    items = np.array([(int(item.space), item.address, item.data) for item in image.loads()], dtype=np.uint64)
    return tuple(np.ascontiguousarray(items[:, n].astype(kind)) for n, kind in enumerate(("u1", "u4", "u8")))


class _Stats(ctypes.Structure):
    names = ("cycles", "total", "accepted", "results", "extra", "trace", "busy", "fault")
    _fields_ = [(name, ctypes.c_int64) for name in names]


@cache
def _library(path: Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(path))
    handle, integer, pointer = ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p
    library.skinny_open.restype = handle
    for name, arguments, result in (
        ("close", [handle], None),
        ("reset", [handle], None),
        ("load", [handle, pointer, pointer, pointer, integer, integer], integer),
        (
            "run",
            [
                *(handle, pointer, pointer, integer, pointer, pointer, integer, integer, ctypes.c_int32),
                *(pointer, pointer, pointer, integer, ctypes.POINTER(_Stats)),
            ],
            None,
        ),
    ):
        function = getattr(library, f"skinny_{name}")
        function.argtypes, function.restype = arguments, result
    return library


class BulkCore:
    """A simulated core or engine. Without ``image`` it is empty until :meth:`load`; with ``image`` that is its initial
    contents.

    ``core`` takes the place of the core of ``config``: one that a test broke, say. ``public`` makes registers
    reachable for :meth:`flip`. ``path`` is a library with the functions of the harness, when it is built already.
    """

    def __init__(
        self,
        config: CoreConfig | EngineConfig,
        image: Image | EngineImage | None = None,
        *,
        rom: bool = False,
        public: bool = False,
        target: str = "generic",
        core: Any = None,
        path: Path | None = None,
    ) -> None:
        self.config = config
        self.cycles = 0
        if path is None:
            core = core or component(config, image, rom=rom, target=target)
            verilog = to_verilog(core) + core.target.models()
            path = build_library(verilog, TOP, harness(config, rom=rom, public=public), public=public)
        self.path = path
        self.library = _library(path)
        self.handle = ctypes.c_void_p(self.library.skinny_open())
        weakref.finalize(self, self.library.skinny_close, self.handle)
        self.reset()

    def reset(self) -> None:
        """One cycle of reset. Memories keep their contents, as in hardware."""
        self.library.skinny_reset(self.handle)

    def load(self, image: Image | EngineImage) -> None:
        """Write ``image`` at the load port."""
        columns = load_columns(image)
        count = len(columns[0])
        done = self.library.skinny_load(
            self.handle, *(column.ctypes.data for column in columns), count, count + PATIENCE
        )
        if done != count:
            raise CheckError(f"the load port took {done} of {count} words")

    def flip(self, register: str, bit: int, cycle: int, scope: str = "core.datapath") -> None:
        """Let bit ``bit`` of a register of the datapath be flipped when cycle ``cycle`` of the next run begins."""
        path = f"{TOP}.{scope}"
        function = self.library.skinny_flip
        function.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int32, ctypes.c_int64]
        if not function(self.handle, path.encode(), register.encode(), bit, cycle):
            raise KeyError(f"there is no register {register!r} in {path}")

    def run(self, stimulus: Stimulus, trace: bool = True, limit: int | None = None) -> Record:
        """Offer the vectors, take the results, and observe, until the core is idle or for ``limit`` cycles."""
        image = stimulus.image
        words = np.ascontiguousarray(stimulus.vectors, dtype=np.uint64).reshape(-1)
        lasts = stimulus.lasts()
        gaps, stalls = (None if w is None else w.astype(np.uint32) for w in (stimulus.gaps, stimulus.stalls))
        issue = len(image) * image.config.threads * len(stimulus.sizes)
        waits = sum(0 if w is None else int(w.sum()) for w in (gaps, stalls))
        results = np.zeros(stimulus.results, dtype=RESULT)
        accepted = np.zeros(len(words), dtype=np.int64)
        # A broken core may retire more than the program has; one row more is enough to see that.
        spread = sum(len(lane) * (image.config.width if n else 1) for n, lane in enumerate(image.lanes))
        rows = np.empty(spread * len(stimulus.vectors) + 1 if trace else 0, dtype=RETIRE)
        stats = _Stats()
        before = perf_counter()
        self.library.skinny_run(
            self.handle,
            words.ctypes.data,
            lasts.ctypes.data,
            len(words),
            None if gaps is None else gaps.ctypes.data,
            None if stalls is None else stalls.ctypes.data,
            len(results),
            issue + waits + 2 * (len(words) + len(results)) + PATIENCE if limit is None else limit,
            int(stimulus.noise),
            results.ctypes.data,
            accepted.ctypes.data,
            rows.ctypes.data if trace else None,
            len(rows),
            ctypes.byref(stats),
        )
        self.cycles += stats.total
        return Record(
            accepted=accepted[: stats.accepted],
            results=results[: stats.results],
            trace=rows[: min(stats.trace, len(rows))] if trace else None,
            fault=stats.fault,
            cycles=stats.cycles,
            busy=stats.busy,
            extra=stats.extra,
            seconds=perf_counter() - before,
        )
