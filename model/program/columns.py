"""Instructions as numpy columns, and what an instruction does with the register that it writes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Columns", "Mode"]


class Mode(IntEnum):
    """What becomes of the product of an instruction."""

    #: ``R[dst] <- R[dst] ± s·R[src]``
    ADD = 0
    #: ``R[dst] <- ± s·R[src]``
    ASSIGN = 1
    #: ``R[dst] <- max(± s·R[src], 0)``
    RELU = 2


@dataclass(frozen=True, eq=False, slots=True)
class Columns:
    """Instructions as parallel arrays; ``sign`` is +1 or -1, ``form`` indexes the table of forms, ``mode`` is a
    :class:`Mode`, :attr:`Mode.ADD` for all if it is left out."""

    dst: NDArray[np.uint16]
    src: NDArray[np.uint16]
    sign: NDArray[np.int8]
    form: NDArray[np.int32]
    mode: NDArray[np.uint8] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.mode is None:
            object.__setattr__(self, "mode", np.zeros(len(self.dst), np.uint8))

    @classmethod
    def of(cls, dst: Any, src: Any, sign: Any, form: Any, mode: Any = None) -> Columns:
        columns = (dst, src, sign, form, [Mode.ADD] * len(dst) if mode is None else mode)
        kinds = (np.uint16, np.uint16, np.int8, np.int32, np.uint8)
        return cls(*(np.asarray(column, kind) for column, kind in zip(columns, kinds, strict=True)))

    @classmethod
    def empty(cls) -> Columns:
        return cls.of([], [], [], [])

    def __len__(self) -> int:
        return len(self.dst)

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """``dst, src, sign, form, mode``."""
        return self.dst, self.src, self.sign, self.form, self.mode

    def part(self, chosen: Any) -> Columns:
        """The instructions that a slice, a mask or an index array chooses."""
        return Columns(*(column[chosen] for column in self.arrays()))
