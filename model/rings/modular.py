"""Modular integers: two's complement words that wrap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from skinny.model.errors import InputError

from .ring import Array, Number, NumpyRing, exact_number

__all__ = ["Modular"]


@dataclass(frozen=True, repr=False)
class Modular(NumpyRing):
    """Z/2^bits, read as two's complement. Overflow of intermediates is harmless: results are exact mod 2^bits."""

    bits: int
    signed = True

    def __post_init__(self) -> None:
        if not 1 <= self.bits <= 64:
            raise InputError(f"the bits of a modular ring must be 1 to 64, not {self.bits!r}")

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"modular:{self.bits}"

    @property
    def packed_dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        return np.dtype(next(f"u{size}" for size in (1, 2, 4, 8) if 8 * size >= self.bits))

    def encode(self, value: Number) -> int:
        number = self._integer(value)
        if not -(1 << (self.bits - 1)) <= number < (1 << self.bits):
            raise InputError(f"{value} does not fit {self.name} ({-(1 << (self.bits - 1))} to {(1 << self.bits) - 1})")
        return self.embed(number)

    def encode_plain(self, values: Array) -> Array | None:
        half = 1 << (self.bits - 1)
        if self.bits > 60 or not values.size or not (values.min() >= -half and values.max() < 2 * half):
            return None
        whole = values.astype(np.int64)
        return None if (whole != values).any() else ((whole + half) & (2 * half - 1)) - half

    def embed(self, value: Number) -> int:
        half = 1 << (self.bits - 1)
        return (self._integer(value) + half) % (2 * half) - half

    def _integer(self, value: Number) -> int:
        exact = exact_number(value)
        if exact.denominator != 1:
            raise InputError(f"{value} is not an integer, so not an element of {self.name}")
        return exact.numerator

    def decode(self, element: Any) -> int:
        return int(element)

    def relu(self, target: Array) -> None:
        target[(target >> self.packed_dtype.type(self.bits - 1)) & self.packed_dtype.type(1) == 1] = 0

    # Packed words hold any number that is congruent to the element: numpy wraps, unpack() takes the residue.
    def pack(self, elements: Array) -> Array:
        return np.ascontiguousarray(elements).astype(np.int64).astype(self.packed_dtype)

    def unpack(self, packed: Array, batch: int) -> Array:
        shift = np.uint64(64 - self.bits)
        return (packed.astype(np.uint64) << shift).view(np.int64) >> np.int64(shift)
