"""A simulated board at the end of a simulated serial line: a :class:`skinny.model.link.requests.Channel`.

All of a board but its pins and clock is verilated; the host's end of the line is bits in time (``board.cpp``).
"""

from __future__ import annotations

import ctypes
import weakref
from functools import cache
from pathlib import Path

from skinny.hdl.export.export import to_verilog
from skinny.hdl.link.linked import LinkedCore
from skinny.model.link.wire import BoardInfo
from skinny.model.machine.assemble import Image
from skinny.sim.build import build_library
from skinny.sim.simulators.state import State, expose, state_text

__all__ = ["SimulatedBoard"]

TOP = "skinny_board"


@cache
def _library(path: Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(path))
    handle, integer = ctypes.c_void_p, ctypes.c_int64
    for name, arguments, result in (
        ("open", [ctypes.c_double], handle),
        ("close", [handle], None),
        ("cycles", [handle], integer),
        ("write", [handle, ctypes.c_char_p, integer], None),
        ("run", [handle, integer], ctypes.c_int32),
        ("reset", [handle, integer], None),
        ("disturb", [handle, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint32], None),
        ("flip", [handle, ctypes.c_void_p, ctypes.c_uint8, integer, ctypes.c_int32], None),
    ):
        function = getattr(library, f"board_{name}")
        function.argtypes, function.restype = arguments, result
    return library


class SimulatedBoard:
    """A board with a core, at the end of a line whose bits take ``divisor`` cycles at the board and ``bit`` cycles at
    the host (the same by default). Time is that of the board's clock. With ``image`` the core holds it from the
    beginning. With ``exposed`` there is ``state``, all registers and memories of the board, and bits of it can be
    flipped."""

    def __init__(
        self,
        device: BoardInfo,
        image: Image | None = None,
        *,
        divisor: int = 4,
        bit: float | None = None,
        exposed: bool = False,
    ) -> None:
        verilog = to_verilog(LinkedCore(device, image, divisor), TOP)
        harness = (Path(__file__).parent / "board.cpp").read_text()
        if exposed:
            verilog, elements = expose(verilog, device.config.width)
            harness += state_text("Board")
        self._library = _library(build_library(verilog, TOP, harness))
        self._board = ctypes.c_void_p(self._library.board_open(divisor if bit is None else bit))
        self._clock = device.clock
        weakref.finalize(self, self._library.board_close, self._board)
        if exposed:
            self.state = State(self._library, self._board, elements)
        self.reset()

    @property
    def cycles(self) -> int:
        """Cycles since the beginning."""
        return int(self._library.board_cycles(self._board))

    def write(self, data: bytes) -> None:
        """Queue bytes for the line."""
        self._library.board_write(self._board, data, len(data))

    def read(self, seconds: float) -> bytes:
        """Run until a byte has come, or for so many ``seconds`` of simulated time."""
        byte = self._library.board_run(self._board, round(seconds * self._clock))
        return b"" if byte < 0 else bytes([byte])

    def reset(self, cycles: int = 1) -> None:
        """Hold reset for so many cycles. Bytes that come meanwhile are lost."""
        self._library.board_reset(self._board, cycles)

    def disturb(self, seed: int, chance: float, longest: int) -> None:
        """From now on, in each cycle and each direction, the line is inverted with this chance for 1 to ``longest``
        cycles."""
        self._library.board_disturb(self._board, seed, round(chance * (1 << 32)), longest)

    def flip(self, element: int, word: int, bit: int, wait: int, busy: bool) -> None:
        """Flip bit ``bit`` of word ``word`` of an element of the state after ``wait`` cycles; with ``busy`` only those
        count in which the core runs. One flip can be waiting at a time."""
        byte, mask = self.state.locate(element, word, bit)
        self._library.board_flip(self._board, self.state.places[element].at + byte, mask, wait, busy)
