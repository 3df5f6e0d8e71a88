"""The names of rings, as commands and files use them."""

from __future__ import annotations

import re

from skinny.model.errors import InputError

from .boolean import Boolean
from .fixed_point import FixedPoint
from .model_only import Exact, Real
from .modular import Modular
from .prime_field import PrimeField
from .ring import Ring

__all__ = ["parse_ring"]


def parse_ring(text: str) -> Ring:
    """The ring with the name ``text``, like ``modular:16``, ``fixed:16.8``, ``prime:8191`` or ``boolean``."""
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
