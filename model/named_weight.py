"""Named weights: constants of a formula that keep their name, so that they can be set after compiling."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from .errors import InputError

__all__ = ["NamedWeight"]


class NamedWeight(NamedTuple):
    """The weight ``name``, which may have any value from ``low`` to ``high`` and now has ``value``.

    In a program, ``words`` are the weights that come from it, as ``(k, factor)``: ``w[k]`` is ``factor·value``. A
    formula has none yet.
    """

    name: str
    value: Fraction
    low: Fraction
    high: Fraction
    words: tuple[tuple[int, Fraction], ...] = ()

    def checked(self) -> NamedWeight:
        """The weight itself, if its value is in its range."""
        if self.low > self.high:
            wrong = f"the least value of its range, {self.low}, is above the greatest, {self.high}"
            raise InputError(f"weight {self.name}: {wrong}")
        if not self.low <= self.value <= self.high:
            raise InputError(f"weight {self.name}: {self.value} is outside its range {self.low}:{self.high}")
        return self
