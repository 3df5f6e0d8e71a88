"""Rings: the numbers a program computes with.

One parameters object a ring. It says which Python numbers are elements, how wide a hardware word is,
and does the arithmetic on whole batches; the hardware of ``hdl`` is created from the same object.

Two representations. An *element* is the canonical number a person reads (``Modular``: signed integer,
``FixedPoint``: the raw integer, value = raw / 2^frac). *Lanes* are arrays in the storage type that is
fastest to compute with (``Modular``: unsigned words that wrap by themselves, ``Boolean``: 64 inferences
a word); :meth:`Ring.pack` and :meth:`Ring.unpack` convert, with the batch as last axis.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from math import floor, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import InputError

__all__ = [
    "Array",
    "Boolean",
    "Exact",
    "FixedPoint",
    "Modular",
    "Number",
    "PrimeField",
    "Real",
    "Ring",
    "parse_ring",
]

Number = int | float | Fraction
Array = NDArray[Any]


def exact_number(value: Number) -> Fraction:
    """``value`` as a rational; a float stands for the binary number it is."""
    if isinstance(value, np.generic):  # a numpy integer would overflow inside a Fraction
        value = value.item()
    if not isinstance(value, int | float | Fraction):
        raise InputError(f"a number must be an int, a float or a Fraction, not {value!r}")
    if isinstance(value, float) and not isfinite(value):
        raise InputError(f"a number must be finite, not {value!r}")
    return Fraction(value)


class Ring(ABC):
    """Arithmetic on elements, one by one or packed into numpy words that hold a batch.

    ``is_ring`` says whether sums and products are associative and distributive bit for bit, that is,
    whether rearranged programs give identical results. ``bits`` is the hardware word (0: no hardware).
    """

    name: str
    bits: int
    is_ring: bool = True
    element_dtype: np.dtype[Any] = np.dtype(np.int64)
    lane_dtype: np.dtype[Any] = np.dtype(np.int64)

    @abstractmethod
    def encode(self, value: Number) -> Any:
        """The element that ``value`` stands for; raises :exc:`InputError` when it does not fit."""

    @abstractmethod
    def embed(self, value: Number) -> Any:
        """The image of an exact constant. A true ring wraps it; otherwise the same as :meth:`encode`."""

    @abstractmethod
    def decode(self, element: Any) -> Number:
        """The Python number that ``element`` stands for."""

    @abstractmethod
    def add(self, a: Array, b: Array) -> Array: ...

    @abstractmethod
    def sub(self, a: Array, b: Array) -> Array: ...

    @abstractmethod
    def mul(self, a: Array, b: Array) -> Array: ...

    def accumulate(self, target: Array, scalar: Array, source: Array, sign: int, scratch: Array) -> None:
        """One instruction on packed values, in place: ``target <- target ± scalar·source``."""
        product = self.mul(scalar, source)
        target[...] = self.add(target, product) if sign > 0 else self.sub(target, product)

    def pack(self, elements: Array) -> Array:
        return np.ascontiguousarray(elements, dtype=self.lane_dtype)

    def unpack(self, packed: Array, batch: int) -> Array:
        return np.array(packed, dtype=self.element_dtype)

    def encode_all(self, values: Any) -> Array:
        """Elements of an array of Python numbers, of the same shape."""
        # As objects: numpy would turn a list with integers beyond 63 bits into floats.
        given = values if isinstance(values, np.ndarray) else np.array(values, dtype=object)
        flat = [self.encode(v) for v in given.ravel().tolist()]
        out = np.empty(len(flat), dtype=self.element_dtype)
        out[:] = flat
        return out.reshape(given.shape)

    def decode_all(self, elements: Array) -> list[Any]:
        """Nested lists of Python numbers."""
        if elements.ndim == 0:
            return self.decode(elements.item())  # type: ignore[return-value]
        return [self.decode_all(e) if elements.ndim > 1 else self.decode(e) for e in elements]

    def constant(self, element: Any, count: int) -> Array:
        """``element`` for ``count`` inferences, packed."""
        return self.pack(np.full(count, element, dtype=self.element_dtype))

    def __repr__(self) -> str:
        return self.name


def _integer(ring: Ring, value: Number) -> int:
    exact = exact_number(value)
    if exact.denominator != 1:
        raise InputError(f"{value} is not an integer, so not an element of {ring.name}")
    return exact.numerator


@dataclass(frozen=True, repr=False)
class Modular(Ring):
    """Z/2^bits, read as two's complement. Overflow of intermediates is harmless: results are exact mod 2^bits."""

    bits: int

    def __post_init__(self) -> None:
        if not 1 <= self.bits <= 64:
            raise InputError(f"the bits of a modular ring must be 1 to 64, not {self.bits!r}")

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"modular:{self.bits}"

    @property
    def lane_dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        return np.dtype(next(f"u{size}" for size in (1, 2, 4, 8) if 8 * size >= self.bits))

    def encode(self, value: Number) -> int:
        number = _integer(self, value)
        if not -(1 << (self.bits - 1)) <= number < (1 << self.bits):
            raise InputError(f"{value} does not fit {self.name} ({-(1 << (self.bits - 1))} to {(1 << self.bits) - 1})")
        return self.embed(number)

    def embed(self, value: Number) -> int:
        half = 1 << (self.bits - 1)
        return (_integer(self, value) + half) % (2 * half) - half

    def decode(self, element: Any) -> int:
        return int(element)

    # Lanes hold any number congruent to the element; the storage wraps, unpack() takes the residue.
    def pack(self, elements: Array) -> Array:
        return np.ascontiguousarray(elements).astype(np.int64).astype(self.lane_dtype)

    def unpack(self, packed: Array, batch: int) -> Array:
        shift = np.uint64(64 - self.bits)
        return (packed.astype(np.uint64) << shift).view(np.int64) >> np.int64(shift)

    def add(self, a: Array, b: Array) -> Array:
        return a + b

    def sub(self, a: Array, b: Array) -> Array:
        return a - b

    def mul(self, a: Array, b: Array) -> Array:
        return a * b

    def accumulate(self, target: Array, scalar: Array, source: Array, sign: int, scratch: Array) -> None:
        np.multiply(scalar, source, out=scratch)
        (np.add if sign > 0 else np.subtract)(target, scratch, out=target)


@dataclass(frozen=True, repr=False)
class FixedPoint(Ring):
    """Signed ``bits``-bit numbers with ``frac`` fraction bits. Sums wrap; products are rounded half up,
    ``(a·b + 2^(frac-1)) >> frac``, then wrap. Never saturates: that would break reversal."""

    bits: int
    frac: int
    is_ring = False

    def __post_init__(self) -> None:
        if not 2 <= self.bits <= 32:
            raise InputError(f"the bits of a fixed-point format must be 2 to 32, not {self.bits!r}")
        if not 0 <= self.frac < self.bits:
            raise InputError(f"the fraction bits must be 0 to {self.bits - 1}, not {self.frac!r}")

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"fixed:{self.bits}.{self.frac}"

    def encode(self, value: Number) -> int:
        raw = floor(exact_number(value) * (1 << self.frac) + Fraction(1, 2))
        half = 1 << (self.bits - 1)
        if not -half <= raw < half:
            raise InputError(
                f"{value} does not fit {self.name} ({-half / (1 << self.frac)} to {(half - 1) / (1 << self.frac)})"
            )
        return raw

    def embed(self, value: Number) -> int:
        return self.encode(value)

    def decode(self, element: Any) -> float:
        return int(element) / (1 << self.frac)

    def wrap(self, raw: Array) -> Array:
        shift = np.int64(64 - self.bits)
        return (raw << shift) >> shift

    def add(self, a: Array, b: Array) -> Array:
        return self.wrap(a + b)

    def sub(self, a: Array, b: Array) -> Array:
        return self.wrap(a - b)

    def mul(self, a: Array, b: Array) -> Array:
        half = np.int64((1 << self.frac) >> 1)
        return self.wrap((a * b + half) >> np.int64(self.frac))

    def accumulate(self, target: Array, scalar: Array, source: Array, sign: int, scratch: Array) -> None:
        np.multiply(scalar, source, out=scratch)
        if self.frac:
            scratch += np.int64(1 << (self.frac - 1))
            scratch >>= np.int64(self.frac)
        (np.add if sign > 0 else np.subtract)(target, scratch, out=target)
        shift = np.int64(64 - self.bits)
        target <<= shift
        target >>= shift


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % d for d in range(2, int(number**0.5) + 1))


@dataclass(frozen=True, repr=False)
class PrimeField(Ring):
    """Z/p for a prime p up to 2^31 - 1; elements are 0 … p-1. Fractions are elements unless p divides them."""

    p: int

    def __post_init__(self) -> None:
        if not 2 <= self.p < 1 << 31:
            raise InputError(f"the prime must be 2 to {(1 << 31) - 1}, not {self.p!r}")
        if not _is_prime(self.p):
            raise InputError(f"{self.p} is not a prime")

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"prime:{self.p}"

    @property
    def bits(self) -> int:  # type: ignore[override]
        return (self.p - 1).bit_length()

    def encode(self, value: Number) -> int:
        exact = exact_number(value)
        if not -self.p < exact < self.p:
            raise InputError(f"{value} does not fit {self.name} ({1 - self.p} to {self.p - 1})")
        return self.embed(value)

    def embed(self, value: Number) -> int:
        exact = exact_number(value)
        if exact.denominator % self.p == 0:
            raise InputError(f"{value} is not an element of {self.name}: {self.p} divides its denominator")
        return exact.numerator * pow(exact.denominator, -1, self.p) % self.p

    def decode(self, element: Any) -> int:
        return int(element)

    def add(self, a: Array, b: Array) -> Array:
        return (a + b) % self.p

    def sub(self, a: Array, b: Array) -> Array:
        return (a - b) % self.p

    def mul(self, a: Array, b: Array) -> Array:
        return (a * b) % self.p

    def accumulate(self, target: Array, scalar: Array, source: Array, sign: int, scratch: Array) -> None:
        # One reduction is enough: the product is below 2^62.
        np.multiply(scalar, source, out=scratch)
        (np.add if sign > 0 else np.subtract)(target, scratch, out=target)
        target %= self.p


@dataclass(frozen=True, repr=False)
class Boolean(Ring):
    """GF(2): + is XOR, · is AND. Lanes hold 64 inferences a word."""

    name = "boolean"
    bits = 1
    element_dtype = np.dtype(np.uint8)
    lane_dtype = np.dtype(np.uint64)

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


@dataclass(frozen=True, repr=False)
class Exact(Ring):
    """The rationals, for proofs. Elements are :class:`fractions.Fraction`; no hardware."""

    name = "exact"
    bits = 0
    element_dtype = np.dtype(object)
    lane_dtype = np.dtype(object)

    def encode(self, value: Number) -> Fraction:
        return exact_number(value)

    embed = encode

    def decode(self, element: Any) -> Fraction:
        return Fraction(element)

    def add(self, a: Array, b: Array) -> Array:
        return a + b

    def sub(self, a: Array, b: Array) -> Array:
        return a - b

    def mul(self, a: Array, b: Array) -> Array:
        return a * b


@dataclass(frozen=True, repr=False)
class Real(Ring):
    """Double-precision floats, for learning. Not a ring (rounding); no hardware."""

    name = "real"
    bits = 0
    is_ring = False
    element_dtype = np.dtype(np.float64)
    lane_dtype = np.dtype(np.float64)

    def encode(self, value: Number) -> float:
        try:
            return float(exact_number(value))
        except OverflowError:
            raise InputError(f"{value} does not fit {self.name} (64-bit floats)") from None

    embed = encode

    def decode(self, element: Any) -> float:
        return float(element)

    def add(self, a: Array, b: Array) -> Array:
        return a + b

    def sub(self, a: Array, b: Array) -> Array:
        return a - b

    def mul(self, a: Array, b: Array) -> Array:
        return a * b

    def accumulate(self, target: Array, scalar: Array, source: Array, sign: int, scratch: Array) -> None:
        np.multiply(scalar, source, out=scratch)
        (np.add if sign > 0 else np.subtract)(target, scratch, out=target)


def parse_ring(text: str) -> Ring:
    """``modular:16``, ``fixed:16.8``, ``prime:8191``, ``boolean``, ``exact`` or ``real``."""
    kind, _, rest = text.partition(":")
    plain: dict[str, type[Boolean] | type[Exact] | type[Real]] = {"boolean": Boolean, "exact": Exact, "real": Real}
    if kind in plain and not rest:
        return plain[kind]()
    numbers = rest.split(".")
    wanted = {"modular": 1, "prime": 1, "fixed": 2}
    if kind in wanted and len(numbers) == wanted[kind] and all(re.fullmatch("[0-9]{1,18}", n) for n in numbers):
        values = [int(n) for n in numbers]
        if kind == "fixed":
            return FixedPoint(*values)
        return Modular(*values) if kind == "modular" else PrimeField(*values)
    raise InputError(f"unknown ring {text!r}: expected modular:BITS, fixed:BITS.FRAC, prime:P, boolean, exact or real")
