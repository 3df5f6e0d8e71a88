"""Written: what a front end gives when its formulas are compiled like those that a person writes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from skinny.model.formula.definitions import Definitions, StateFormula
from skinny.model.formula.formula import Formula
from skinny.model.program.program import Program

__all__ = ["Writable", "Written"]


@dataclass(frozen=True)
class Written:
    """Formulas of the ``outputs`` by name, in order, the ``states``, and all ``inputs`` in the order of an input
    vector, or none, if they come in the order in which the formulas name them. ``title`` says in one line what it is.

    ``ring`` is the ring that the formulas are meant for, such as ``boolean``, or empty. ``program`` is the program, if
    there is nothing to compile. ``check`` looks at the program, beyond the proof that it is its formulas, and raises
    :exc:`~skinny.model.errors.CheckError`; it says how it looked.
    """

    outputs: Mapping[str, Formula]
    title: str
    inputs: tuple[str, ...] = ()
    states: tuple[StateFormula, ...] = field(default=())
    ring: str = ""
    program: Program | None = None
    check: Callable[[Program], str] | None = None

    @property
    def definitions(self) -> Definitions:
        """The formulas for the compiler. The words of a sample arrive in the order of ``inputs``."""
        found = Definitions.of(self.outputs, self.states)
        return found._replace(samples=self.inputs) if self.inputs and found.streaming else found


class Writable(ABC):
    """What can be compiled, because it says what its formulas are."""

    @abstractmethod
    def written(self) -> Written:
        """The formulas, with what there is to know for their program."""
