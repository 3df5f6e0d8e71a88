"""What fixed point took away, said in one line: weights that became zero or changed much, rows that wrapped, inputs
that were rounded or lie outside the box that the program was compiled for. Other rings take nothing away, or do what
their name says."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor

import numpy as np
from skinny.model.program.program import Program
from skinny.model.program.units import scaled
from skinny.model.rings import Array, FixedPoint, Ring

__all__ = ["Precision", "lost_weights", "outside_rows"]

#: The greatest relative change of a weight that is not worth a word.
SMALL = Fraction(1, 100)
#: Names that are listed in a message.
LISTED = 5


@dataclass(frozen=True)
class Precision:
    """The losses of a run in ``ring``: names of weights that became ``zero`` and that ``changed`` by more than 1 %, how
    many of ``rows`` rows ``wrapped``, how many are ``outside`` the box and the names of inputs that are ``beyond`` it,
    how many input numbers were ``rounded``."""

    ring: str
    zero: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    rows: int = 0
    wrapped: int = 0
    outside: int = 0
    beyond: tuple[str, ...] = ()
    rounded: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """The numbers, as answers in JSON have them."""
        return {
            "zero_weights": len(self.zero),
            "changed_weights": len(self.changed),
            "wrapped_rows": self.wrapped,
            "outside_rows": self.outside,
            "rounded_inputs": self.rounded,
        }

    @property
    def line(self) -> str:
        """All losses in one line, empty if there are none."""
        said = []
        if self.zero:
            said.append(f"{_count(self.zero, 'weight')} became 0 ({_listed(self.zero)})")
        if self.changed:
            said.append(f"{_count(self.changed, 'weight')} changed by more than 1 % ({_listed(self.changed)})")
        rows = f"{self.rows:,} row{'s' * (self.rows != 1)}"
        if self.wrapped:
            said.append(f"{self.wrapped:,} of {rows} wrapped, so that results are wrong by more than rounding")
        if self.outside:
            where = f"outside the box of the program ({_listed(self.beyond)}), where nothing is proven"
            said.append(f"{self.outside:,} of {rows} {where}")
        if self.rounded:
            said.append(f"{self.rounded:,} input value{'s' * (self.rounded != 1)} rounded")
        return f"{self.ring}: {'; '.join(said)}" if said else ""


def lost_weights(program: Program, ring: Ring) -> Precision:
    """The losses of the weights of ``program`` in ``ring``."""
    if not isinstance(ring, FixedPoint):
        return Precision(ring.name)
    zero, changed = [], []
    elements = program.quantise(ring).tolist()
    for name, weight, element in zip(program.weight_names(), program.weights, elements, strict=True):
        if weight and not element:
            zero.append(f"{name} = {_short(weight)}")
        elif abs(Fraction(element, 1 << ring.frac) - weight) > SMALL * abs(weight):
            changed.append(f"{name} = {_short(weight)} is {_short(Fraction(element, 1 << ring.frac))}")
    return Precision(ring.name, tuple(zero), tuple(changed))


def outside_rows(program: Program, ring: Ring, elements: Array) -> tuple[int, tuple[str, ...]]:
    """How many rows of ``elements``, which are inputs or samples, have a word in fixed point that no value of the
    program's box is rounded to, and the names of such inputs."""
    if program.box is None or not isinstance(ring, FixedPoint):
        return 0, ()
    outside = np.zeros(len(elements), dtype=np.bool_)
    beyond = []
    for column, u in zip(elements.T, program.sample_inputs, strict=True):
        ends, exponent = program.box[u], program.input_scales[u]
        low, high = (floor(scaled(end, ring.frac - exponent) + Fraction(1, 2)) for end in ends)
        out = (column < low) | (column > high)
        outside |= out
        if out.any():
            beyond.append(program.inputs[u])
    return int(outside.sum()), tuple(beyond)


def _short(value: Fraction) -> str:
    return f"{float(value):.6g}"


def _count(names: tuple[str, ...], what: str) -> str:
    return f"{len(names):,} {what}{'s' * (len(names) != 1)}"


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names[:LISTED]) + ", …" * (len(names) > LISTED)
