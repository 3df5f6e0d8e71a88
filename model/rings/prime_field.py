"""Prime fields: integers modulo a prime, where every number but zero has an inverse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from skinny.model.errors import InputError

from .ring import Array, Number, Ring, exact_number

__all__ = ["PrimeField"]


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

    def encode_plain(self, values: Array) -> Array | None:
        if values.dtype.kind != "i" or not values.size or not (values.min() > -self.p and values.max() < self.p):
            return None
        return values % self.p

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
