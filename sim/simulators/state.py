"""Every bit of state of an exported design: its registers and memories, found in the Verilog and made reachable."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["MEMORIES", "PLACES", "Element", "Place", "State", "expose", "state_text"]

MODULE = re.compile(r"^module (\S+) ?\(.*?^endmodule", re.MULTILINE | re.DOTALL)
#: Registers, and words of a memory with their index, are what a clocked block assigns.
ASSIGNED = re.compile(r"^ +(\\\S+ |\w+)(\[.*\])? *<= ", re.MULTILINE)
PUBLIC = " /*verilator public_flat_rw*/"

#: The purpose of an element, by the first pattern that its path matches; a memory's path ends in ``[]``.
_PATTERNS = (
    (r"\.program\.memory\[\]", "program memory"),
    (r"\.weights\.(memory\.)?memory\[\]", "weight memory"),
    (r"\.inputs\.memory\.(memory\.)?memory\[\]", "input memory"),
    (r"\.registers\.\w+\.memory\.memory\[\]", "register memory"),
    (r"\.results\.memory\.memory\[\]", "result FIFO"),
    (r"guard|echo|numbering|parity|alarm|cleared|argmax_copy", "guard"),
    (r"\.argmax\W", "argmax"),
    (r"\.(program|weights|memory|registers)\.", "memory outputs"),
    (r"\.datapath\.r\d+_\d+$", "registers R"),
    (r"\.datapath\.sum_\d+$", "accumulator S"),
    (r"\.arithmetic\.", "multiply-add"),
    (r"\.datapath\.(x1|w1|w2|s2|scalar|held)", "operands"),
    (r"\.datapath\.(write|start|clear)", "write-back"),
    (r"differs|stain|core\.fault", "check"),
    (r"control|effect|decoder|\.mover\.|core\.(f3_)?word", "instructions"),
    (r"\.sequencer\.|waiting|behind|drained", "sequencer"),
    (r"\.inputs\.", "input control"),
    (r"\.results\.", "FIFO control"),
    (r"\.store\.", "start and settings"),
    (r"", "tags"),
)
#: The purposes in the order of a table: from control to data, then checking, memories last.
PLACES = (
    *("sequencer", "tags", "instructions", "input control", "FIFO control", "start and settings"),
    *("memory outputs", "operands", "multiply-add", "write-back", "registers R", "accumulator S", "check"),
    *("argmax", "guard"),
    *("program memory", "weight memory", "input memory", "register memory", "result FIFO"),
)
MEMORIES = PLACES[-5:]


class Element(NamedTuple):
    """A register, or a memory of ``words`` words, of ``bits`` bits each. ``scope`` and ``name`` are those of the
    simulation, ``place`` is its purpose."""

    scope: str
    name: str
    bits: int
    words: int
    place: str


def expose(verilog: str, width: int) -> tuple[str, list[Element]]:
    """``verilog`` with all state readable and writable from C++, and the elements of the state. ``width`` is the number
    of registers of a thread."""
    modules = {found[1].removeprefix("\\"): found[0] for found in MODULE.finditer(verilog)}
    elements = []
    for scope, body in modules.items():
        text = body
        for raw in dict.fromkeys(found[1] for found in ASSIGNED.finditer(body)):
            name = raw.strip()
            declared = re.compile(
                rf"^( *(?:output )?reg (?:\[(\d+):0\] )?{re.escape(name)}) ?( \[(\d+):0\])?(?= *[;=])", re.MULTILINE
            )
            found = declared.search(text)
            if found is None:
                raise ValueError(f"no declaration of {name} in {scope}")
            bits, words = int(found[2] or 0) + 1, int(found[4] or 0) + 1
            # Verilator drops the escape of a plain word (a keyword, say).
            name = name[1:] if re.fullmatch(r"\\\w+", name) else raw
            text = declared.sub(lambda m: f"{m[1]} {m[3] or ''}{PUBLIC}", text, count=1)
            elements.append(Element(scope, name, bits, words, _place(scope, name, bool(found[3]), width)))
        verilog = verilog.replace(body, text)
    return verilog, elements


def _place(scope: str, name: str, memory: bool, width: int) -> str:
    name = name.strip().removeprefix("\\")
    if (register := re.fullmatch(r"r(\d+)_(\d+)", name)) and int(register[1]) == width:
        name = f"sum_{register[2]}"
    path = f"{scope}.{name}{'[]' * memory}"
    return next(place for pattern, place in _PATTERNS if re.search(pattern, path))


class Place(ctypes.Structure):
    """The place of an element in the memory of the simulator: its address and its bytes."""

    _fields_ = [("at", ctypes.c_void_p), ("bytes", ctypes.c_int64)]


def state_text(device: str) -> str:
    """The C++ text that a harness whose handles are pointers to ``device`` needs for :class:`State`."""
    return f"#define DEVICE {device}\n" + (Path(__file__).parent / "state.cpp").read_text()


class State:
    """The ``elements`` (see :func:`expose`) of a simulated design, in the memory of this process. ``library`` was built
    with :func:`state_text`, ``handle`` is the design. Raises :exc:`KeyError` when the simulator lacks an element."""

    def __init__(self, library: ctypes.CDLL, handle: ctypes.c_void_p, elements: Sequence[Element]) -> None:
        self.elements = elements
        self.places = (Place * len(elements))()
        self._handle = handle
        self._settle = library.state_settle
        self._settle.argtypes, self._settle.restype = [ctypes.c_void_p], None
        find = library.state_find
        find.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(Place)]
        find.restype = ctypes.c_int64
        for element, place in zip(elements, self.places, strict=True):
            if not find(handle, element.scope.encode(), element.name.encode(), ctypes.byref(place)):
                raise KeyError(f"there is no {element.name} in {element.scope}")

    def locate(self, element: int, word: int, bit: int) -> tuple[int, int]:
        """The byte of an element that holds bit ``bit`` of word ``word``, and the bit's mask in it."""
        size = self.places[element].bytes // self.elements[element].words
        return word * size + bit // 8, 1 << bit % 8

    def randomise(self, rng: np.random.Generator) -> None:
        """Fill every register and memory with random bits, as they may be when power comes on."""
        for element, place in zip(self.elements, self.places, strict=True):
            held = (ctypes.c_uint8 * place.bytes).from_address(place.at)
            view: NDArray[np.uint8] = np.frombuffer(held, dtype=np.uint8).reshape(element.words, -1)
            # The simulator relies on it that bits beyond the element are zero.
            beyond = 8 * np.arange(view.shape[1]) - element.bits
            masks = np.where(beyond >= 0, 0, 0xFF >> np.clip(beyond + 8, 0, 8)).astype(np.uint8)
            view[:] = rng.integers(0, 256, view.shape, dtype=np.uint8) & masks
        self._settle(self._handle)
