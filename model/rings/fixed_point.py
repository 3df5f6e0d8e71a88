"""Fixed point, and how its products are rounded.

The product of two words with ``frac`` fraction bits has ``2·frac`` of them. It is rounded half up to ``frac``,

    (a·b + 2^(frac-1)) >> frac        (>> rounds towards minus infinity; nothing is added when frac is 0)

and then wraps to ``bits`` bits. A half always goes towards plus infinity: 0.5 steps become 1, -0.5 steps become 0. Sums
wrap. Numbers given by a person (inputs, weights) are rounded half up too, but must fit: they never wrap.

Nothing saturates, because a saturated sum could not be undone, and programs are run backwards. ``skinny.model.bounds``
says when nothing wraps and how large the error is. ``hdl/parts/arithmetic.py`` has the hardware.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
from skinny.model.errors import InputError

from .ring import Array, Number, Ring, exact_number

__all__ = ["FixedPoint"]

#: Numbers that are encoded at once.
CHUNK = 1 << 13


@dataclass(frozen=True, repr=False)
class FixedPoint(Ring):
    """Signed numbers of ``bits`` bits, ``frac`` of them behind the binary point. Elements are the raw integers."""

    bits: int
    frac: int
    is_ring = False
    signed = True

    def __post_init__(self) -> None:
        if not 2 <= self.bits <= 32:
            raise InputError(f"the bits of a fixed-point format must be 2 to 32, not {self.bits!r}")
        if not 0 <= self.frac < self.bits:
            raise InputError(f"the fraction bits must be 0 to {self.bits - 1}, not {self.frac!r}")

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"fixed:{self.bits}.{self.frac}"

    def encode(self, value: Number) -> int:
        """The raw integer nearest to ``value``, the greater one of two that are equally near."""
        raw = floor(exact_number(value) * (1 << self.frac) + Fraction(1, 2))
        half = 1 << (self.bits - 1)
        if not -half <= raw < half:
            raise InputError(
                f"{value} does not fit {self.name} ({-half / (1 << self.frac)} to {(half - 1) / (1 << self.frac)})"
            )
        return raw

    def encode_plain(self, values: Array) -> Array | None:
        flat = np.ascontiguousarray(values).reshape(-1)
        out = np.empty(len(flat), dtype=np.int64)
        half = 1 << (self.bits - 1)
        largest = half >> self.frac
        # In pieces that stay in the processor's cache.
        for first in range(0, len(flat), CHUNK):
            given, raw = flat[first : first + CHUNK], out[first : first + CHUNK]
            # Comparisons with what is no number are false.
            if not (given.min() >= -largest and given.max() <= largest):
                return None
            if given.dtype.kind == "i":
                np.left_shift(given, self.frac, out=raw)
            else:
                # Powers of two change no digit, and neither does a difference of numbers that are so close.
                parts = given * float(1 << self.frac)
                whole = np.floor(parts)
                parts -= whole
                whole += parts >= 0.5
                raw[:] = whole
            if raw.max() >= half:
                return None
        return out.reshape(values.shape)

    def embed(self, value: Number) -> int:
        return self.encode(value)

    def decode(self, element: Any) -> float:
        return int(element) / (1 << self.frac)

    def wrap(self, raw: Array) -> Array:
        """The ``bits`` low bits of ``raw`` as a signed number."""
        shift = np.int64(64 - self.bits)
        return (raw << shift) >> shift

    def rounded(self, product: Array) -> Array:
        """The product of two raw integers, brought back to ``frac`` fraction bits, rounded half up."""
        half = np.int64((1 << self.frac) >> 1)
        return (product + half) >> np.int64(self.frac)

    def add(self, a: Array, b: Array) -> Array:
        return self.wrap(a + b)

    def sub(self, a: Array, b: Array) -> Array:
        return self.wrap(a - b)

    def mul(self, a: Array, b: Array) -> Array:
        return self.wrap(self.rounded(a * b))

    def accumulate(self, target: Array, scalar: Array, source: Array, sign: int, scratch: Array) -> None:
        # This is ``add`` or ``sub`` of ``mul``, without new arrays. The rounded product stays in ``scratch``.
        np.multiply(scalar, source, out=scratch)
        if self.frac:
            scratch += np.int64(1 << (self.frac - 1))
            scratch >>= np.int64(self.frac)
        (np.add if sign > 0 else np.subtract)(target, scratch, out=target)
        shift = np.int64(64 - self.bits)
        target <<= shift
        target >>= shift
