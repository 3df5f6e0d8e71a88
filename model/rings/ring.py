"""The interface of a ring, and the numbers that rings are given.

Numbers have two representations. An *element* is the canonical number that a person reads (``Modular``: a signed
integer; ``FixedPoint``: the raw integer, value = raw / 2^frac). *Packed* values are elements of a batch in the numpy
words that are fastest to compute with (``Modular``: unsigned words that wrap by themselves; ``Boolean``: 64 inferences
in a word). :meth:`Ring.pack` and :meth:`Ring.unpack` convert, with the batch as last axis.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skinny.model.errors import InputError

__all__ = ["Array", "Number", "NumpyRing", "Ring", "exact_number"]

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


def _plain(values: Any) -> Array | None:
    """``values`` as an array of 64-bit floats or integers, if that changes none of them."""
    try:
        found = np.asarray(values)
    except (ValueError, OverflowError):
        return None
    if found.dtype.kind == "f" and found.dtype.itemsize <= 8:
        # A list may hold integers that are no floats.
        whole = isinstance(values, np.ndarray) or not found.size or np.abs(found).max() < 1 << 53
        return found.astype(np.float64, copy=False) if whole else None
    if found.dtype.kind == "i" or (found.dtype.kind == "u" and found.dtype.itemsize < 8):
        return found.astype(np.int64, copy=False)
    return None


class Ring(ABC):
    """Arithmetic on elements, one by one or packed into numpy words that hold a batch.

    ``is_ring`` says whether sums and products are associative and distributive bit for bit, that is, whether rearranged
    programs give identical results. ``signed`` says whether elements are above or below zero, so that there is a
    :meth:`relu`. ``bits`` is the width of a hardware word, 0 where there is no hardware. A packed
    word holds ``inferences_per_word`` inferences.
    """

    name: str
    bits: int
    is_ring: bool = True
    signed: bool = False
    element_dtype: np.dtype[Any] = np.dtype(np.int64)
    packed_dtype: np.dtype[Any] = np.dtype(np.int64)
    inferences_per_word: int = 1

    @abstractmethod
    def encode(self, value: Number) -> Any:
        """The element that ``value`` stands for; raises :exc:`InputError` when it does not fit."""

    @abstractmethod
    def embed(self, value: Number) -> Any:
        """The element for an exact constant. A true ring wraps it; the others treat it like :meth:`encode`."""

    @abstractmethod
    def decode(self, element: Any) -> Number:
        """The Python number that ``element`` stands for."""

    @abstractmethod
    def add(self, a: Array, b: Array) -> Array:
        """The sum of packed values."""

    @abstractmethod
    def sub(self, a: Array, b: Array) -> Array:
        """The difference of packed values."""

    @abstractmethod
    def mul(self, a: Array, b: Array) -> Array:
        """The product of packed values, rounded where the ring rounds."""

    @abstractmethod
    def accumulate(self, target: Array, scalar: Array, source: Array, sign: int, scratch: Array) -> None:
        """One instruction on packed values, in place: ``target <- target ± scalar·source``; ``scratch`` is an array
        of the shape of ``target`` that is overwritten."""

    def relu(self, target: Array) -> None:
        """Packed values below zero become zero, in place; only for rings that are ``signed``."""
        np.maximum(target, 0, out=target)

    def pack(self, elements: Array) -> Array:
        """``elements`` in packed words, with the batch as last axis."""
        return np.ascontiguousarray(elements, dtype=self.packed_dtype)

    def unpack(self, packed: Array, batch: int) -> Array:
        """The elements of ``batch`` inferences in ``packed`` words."""
        return np.array(packed, dtype=self.element_dtype)

    def encode_all(self, values: Any) -> Array:
        """The elements for an array of Python numbers, in an array of that shape."""
        plain = _plain(values)
        found = None if plain is None else self.encode_plain(plain)
        if found is not None:
            return found
        # As objects: numpy would turn a list with integers beyond 63 bits into floats.
        given = values if isinstance(values, np.ndarray) else np.array(values, dtype=object)
        flat = [self.encode(v) for v in given.ravel().tolist()]
        out = np.empty(len(flat), dtype=self.element_dtype)
        out[:] = flat
        return out.reshape(given.shape)

    def encode_plain(self, values: Array) -> Array | None:
        """The same for an array of 64-bit floats or integers, at once; None where the numbers must be looked at one by
        one, because there is no faster way or because one of them does not fit."""
        return None

    def decode_all(self, elements: Array) -> list[Any]:
        """The Python numbers of an array of elements, as nested lists."""
        if elements.ndim == 0:
            return self.decode(elements.item())  # type: ignore[return-value]
        return [self.decode_all(e) if elements.ndim > 1 else self.decode(e) for e in elements]

    def constant(self, element: Any, count: int) -> Array:
        """``element`` for ``count`` inferences, packed."""
        return self.pack(np.full(count, element, dtype=self.element_dtype))

    def __repr__(self) -> str:
        return self.name


class NumpyRing(Ring):
    """A ring whose packed words numpy adds and multiplies as they are, with nothing to do after it."""

    def add(self, a: Array, b: Array) -> Array:
        return a + b

    def sub(self, a: Array, b: Array) -> Array:
        return a - b

    def mul(self, a: Array, b: Array) -> Array:
        return a * b

    def accumulate(self, target: Array, scalar: Array, source: Array, sign: int, scratch: Array) -> None:
        np.multiply(scalar, source, out=scratch)
        (np.add if sign > 0 else np.subtract)(target, scratch, out=target)
