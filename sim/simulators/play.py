"""A simulated core whose pins are all played and recorded, a row a cycle: for checks that judge every pin."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from skinny.model.machine.isa import CoreConfig

from .bulk import BulkCore

__all__ = ["INPUTS", "OUTPUTS", "Player"]

Rows = NDArray[np.uint64]

#: The columns of rows that are played.
INPUTS = ("rst", "i_valid", "i_data", "i_last", "o_ready", "load_valid", "load_space", "load_address", "load_data")
#: The columns of rows that are recorded.
OUTPUTS = (
    *("i_ready", "o_valid", "o_data", "o_last", "o_fault", "load_ready", "busy", "fault"),
    *("retire_valid", "retire_thread", "retire_pc", "retire_op", "retire_dst", "retire_value", "retire_fault"),
)


class Player:
    """A loadable core of ``config``. Each call of :meth:`play` goes on from the state that the call before left."""

    def __init__(self, config: CoreConfig) -> None:
        # Few cycles are played, so that a quick build counts for more than a quick core.
        self._core = BulkCore(config, extra=(Path(__file__).parent / "play.cpp").read_text(), level="-O0")
        self._play = self._core.library.skinny_play
        self._play.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
        self._play.restype = None

    def play(self, rows: Rows) -> Rows:
        """The output pins in each cycle of ``rows``, input pins of one cycle a row."""
        rows = np.ascontiguousarray(rows, dtype=np.uint64)
        if rows.ndim != 2 or rows.shape[1] != len(INPUTS):
            raise ValueError(f"rows must have {len(INPUTS)} columns, not the shape {rows.shape}")
        seen = np.empty((len(rows), len(OUTPUTS)), dtype=np.uint64)
        self._play(self._core.handle, rows.ctypes.data, seen.ctypes.data, len(rows))
        return seen
