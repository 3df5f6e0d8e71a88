"""Steps: a node of the graph as its operator sees it, with its attributes, what it is given, and how it is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from skinny.model.errors import InputError

from .forms import Forms, Held, Numbers

__all__ = ["Array", "End", "Quantised", "Step", "Value"]

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class End:
    """What stands at the end of a network only: ``function``, ``softmax``, ``sigmoid`` or ``argmax``, of the elements
    of ``forms``, as the node ``where`` made it."""

    function: str
    forms: Forms
    where: Step


@dataclass(frozen=True, eq=False)
class Quantised:
    """Values that depend on the inputs, on their way from a QuantizeLinear to a DequantizeLinear of the same scale and
    zero point."""

    forms: Forms
    scale: Array
    zero: Array


#: What flows through the graph: constants as arrays of their own type, and forms of the inputs.
Value = Array | Forms | End | Quantised


@dataclass(eq=False)
class Step:
    """A node: ``operator``, ``name`` for layers, its ``attributes`` in Python's types, what it is ``given`` (None for
    an optional input that is left out), the version ``opset`` of the operators, and the network's ``held`` values.
    ``outputs`` is how many results somebody reads."""

    operator: str
    name: str
    attributes: dict[str, Any]
    given: list[Value | None]
    opset: int
    held: Held
    outputs: int

    def __str__(self) -> str:
        return f"{self.operator} {self.name!r}"

    def refuse(self, why: str, instead: str) -> NoReturn:
        """Raise the error that names this node, says why it is refused, and what to do instead."""
        raise InputError(f"{self}: {why}: {instead}")

    def malformed(self, why: str) -> NoReturn:
        """Refuse a node that no exporter writes."""
        self.refuse(why, "the file is not a valid model")

    def has(self, index: int) -> bool:
        """Whether input ``index`` is there."""
        return index < len(self.given) and self.given[index] is not None

    def depends(self, index: int) -> bool:
        """Whether input ``index`` depends on the inputs of the network."""
        return self.has(index) and not isinstance(self.given[index], np.ndarray)

    def value(self, index: int = 0) -> Array | Forms:
        """Input ``index``, which must be there."""
        if not self.has(index):
            self.malformed(f"its input {index + 1} is missing")
        found = self.given[index]
        if isinstance(found, End | Quantised):
            raise TypeError(f"{self} was given {found}")  # the graph has replaced or refused these
        assert found is not None
        return found

    def forms(self, index: int = 0) -> Forms:
        """Input ``index`` as forms."""
        found = self.value(index)
        if isinstance(found, Forms):
            return found
        if not (np.issubdtype(found.dtype, np.number) or found.dtype == np.bool_):
            self.malformed(f"its input {index + 1} is of the type {found.dtype}, not of numbers")
        return Forms.of_numbers(self.held.weights(found))

    def constant(self, index: int, what: str) -> Array:
        """Input ``index``, which must not depend on the inputs of the network."""
        found = self.value(index)
        if isinstance(found, Forms):
            why = f"its {what} must be constant, not computed from the inputs of the network"
            self.refuse(why, "export it with a constant there")
        return found

    def weights(self, index: int, what: str) -> Numbers:
        """Input ``index``, constants that are multiplied or added."""
        return self.held.weights(self.constant(index, what))

    def wholes(self, index: int, attribute: str) -> tuple[int, ...] | None:
        """A list of whole numbers, which newer versions of the operator have as input ``index`` and older ones as an
        attribute; None when there is none."""
        if self.has(index):
            found = self.constant(index, attribute)
            if not np.issubdtype(found.dtype, np.integer):
                self.malformed(f"its {attribute} must be whole numbers, not {found.dtype}")
            return tuple(int(value) for value in found.ravel())
        given = self.attributes.get(attribute)
        return None if given is None else self.listed(attribute, given)

    def listed(self, attribute: str, given: Any) -> tuple[int, ...]:
        if not isinstance(given, list) or not all(isinstance(value, int) for value in given):
            self.malformed(f"its {attribute} must be a list of whole numbers")
        return tuple(given)

    def list_of(self, attribute: str, default: Sequence[int], length: int) -> tuple[int, ...]:
        """An attribute of ``length`` whole numbers."""
        found = self.listed(attribute, self.attributes.get(attribute, list(default)))
        if len(found) != length:
            self.malformed(f"its {attribute} must have {length} values, not {len(found)}")
        return found

    def whole(self, attribute: str, default: int) -> int:
        """An attribute that is a whole number."""
        found = self.attributes.get(attribute, default)
        if not isinstance(found, int):
            self.malformed(f"its {attribute} must be a whole number")
        return found

    def number(self, attribute: str, default: float) -> float:
        """An attribute that is a number."""
        found = self.attributes.get(attribute, default)
        if not isinstance(found, int | float):
            self.malformed(f"its {attribute} must be a number")
        return float(found)

    def text(self, attribute: str, default: str) -> str:
        """An attribute that is text."""
        found = self.attributes.get(attribute, default)
        if not isinstance(found, str):
            self.malformed(f"its {attribute} must be text")
        return found

    def axis(self, given: int, rank: int, extra: int = 0) -> int:
        """An axis of a tensor of ``rank`` axes, from its end when it is below zero; ``extra`` for one past the end."""
        if not -rank - extra <= given < rank + extra:
            self.malformed(f"there is no axis {given} in a tensor of {rank} axes")
        return given + rank if given < 0 else given
