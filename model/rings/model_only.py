"""Rings of the model only, without hardware: the rationals and the floats."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from skinny.model.errors import InputError

from .ring import Array, Number, NumpyRing, exact_number

__all__ = ["Exact", "Real"]


@dataclass(frozen=True, repr=False)
class Exact(NumpyRing):
    """The rationals, for proofs. Elements are :class:`fractions.Fraction`; no hardware."""

    name = "exact"
    bits = 0
    signed = True
    element_dtype = np.dtype(object)
    packed_dtype = np.dtype(object)

    def encode(self, value: Number) -> Fraction:
        return exact_number(value)

    embed = encode

    def decode(self, element: Any) -> Fraction:
        return Fraction(element)


@dataclass(frozen=True, repr=False)
class Real(NumpyRing):
    """Double-precision floats, for learning. Not a ring, because floats round; no hardware."""

    name = "real"
    bits = 0
    is_ring = False
    signed = True
    element_dtype = np.dtype(np.float64)
    packed_dtype = np.dtype(np.float64)

    def encode(self, value: Number) -> float:
        try:
            return float(exact_number(value))
        except OverflowError:
            raise InputError(f"{value} does not fit {self.name} (64-bit floats)") from None

    embed = encode

    def encode_plain(self, values: Array) -> Array | None:
        return values.astype(np.float64) if np.isfinite(values).all() else None

    def decode(self, element: Any) -> float:
        return float(element)
