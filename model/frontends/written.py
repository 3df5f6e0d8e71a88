"""Written: what a front end gives when its formulas are compiled like those that a person writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from skinny.model.formula.definitions import StateFormula
from skinny.model.formula.formula import Formula
from skinny.model.program.program import Program

__all__ = ["Written"]


@dataclass(frozen=True)
class Written:
    """Formulas of the ``outputs`` by name, in order, the ``states``, and all ``inputs`` in the order of an input
    vector, or none, if they come in the order in which the formulas name them. ``title`` says in one line what it is.

    ``ring`` is the ring that the formulas are meant for, such as ``boolean``, or empty. ``program`` is the program, if
    there is nothing to compile."""

    outputs: Mapping[str, Formula]
    title: str
    inputs: tuple[str, ...] = ()
    states: tuple[StateFormula, ...] = field(default=())
    ring: str = ""
    program: Program | None = None
