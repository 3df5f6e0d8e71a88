"""The case that is to be bounded: a program with all that it is given in one format of fixed point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from skinny.model.program.program import Program

__all__ = ["Case"]


class Case(NamedTuple):
    """A program in a format with ``frac`` fraction bits. ``box`` (the least and the greatest of each input),
    ``weights``, ``start`` and the ranges of the weights that are ``named`` are raw words."""

    program: Program
    frac: int
    box: Sequence[tuple[int, int]]
    weights: Sequence[int]
    start: Sequence[int]
    named: Mapping[int, tuple[int, int]]

    @property
    def unit(self) -> Fraction:
        """A step of the format."""
        return Fraction(1, 1 << self.frac)
