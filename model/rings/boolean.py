"""The field of two elements, for circuits; a packed word holds many inferences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from skinny.model.errors import InputError

from .ring import Array, Number, Ring, exact_number

__all__ = ["Boolean"]


@dataclass(frozen=True, repr=False)
class Boolean(Ring):
    """GF(2): + is XOR, · is AND. A packed word holds 64 inferences, a bit for each."""

    name = "boolean"
    bits = 1
    element_dtype = np.dtype(np.uint8)
    packed_dtype = np.dtype(np.uint64)
    inferences_per_word = 64

    def encode(self, value: Number) -> int:
        if value not in (0, 1, -1):
            raise InputError(f"{value} does not fit boolean (0 or 1)")
        return int(value) & 1

    def embed(self, value: Number) -> int:
        exact = exact_number(value)
        if exact.denominator % 2 == 0:
            raise InputError(f"{value} is not an element of boolean: its denominator is even")
        return exact.numerator & 1

    def decode(self, element: Any) -> int:
        return int(element)

    def pack(self, elements: Array) -> Array:
        bits = np.packbits(np.asarray(elements, dtype=np.uint8), axis=-1, bitorder="little")
        pad = -bits.shape[-1] % 8
        padded = np.pad(bits, [(0, 0)] * (bits.ndim - 1) + [(0, pad)])
        return np.ascontiguousarray(padded).view(np.uint64)

    def unpack(self, packed: Array, batch: int) -> Array:
        octets = np.ascontiguousarray(packed).view(np.uint8)
        return np.unpackbits(octets, axis=-1, count=batch, bitorder="little")

    def add(self, a: Array, b: Array) -> Array:
        return a ^ b

    def sub(self, a: Array, b: Array) -> Array:
        return a ^ b

    def mul(self, a: Array, b: Array) -> Array:
        return a & b

    def accumulate(self, target: Array, scalar: Array, source: Array, sign: int, scratch: Array) -> None:
        np.bitwise_and(scalar, source, out=scratch)
        np.bitwise_xor(target, scratch, out=target)
