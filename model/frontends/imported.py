"""Imported models: what every front end gives, whichever library the model comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from skinny.model.formula.formula import Formula, postorder

__all__ = ["KINDS", "Imported", "Layer"]

KINDS = ("classifier", "regressor")


class Layer(NamedTuple):
    """A layer: how messages name it, and the formulas of its values, which are nodes of the formulas of the outputs."""

    name: str
    values: tuple[Formula, ...]


@dataclass(frozen=True)
class Imported:
    """A trained model as formulas.

    ``outputs`` are the formulas by name, in order, and ``inputs`` the names of all inputs of the model in order, also
    of those that no formula reads. A function such as ``tanh`` stays a function here: :mod:`.smooth` makes it a
    polynomial on the range that its argument has. ``layers`` are in order, the outputs' own the last; the nodes of
    their values stand in ``outputs`` themselves, so that a layer can be scaled and measured.

    ``kind`` is one of :data:`KINDS`. A classifier has its ``classes``, one for each output, or two for a single output,
    which is above zero for the second; then ``argmax`` is the name of the one result, the number of the class, which
    replaces the outputs. It is empty where the outputs themselves are wanted. ``probabilities`` is what a host applies
    to the outputs where the library gives probabilities (:mod:`skinny.model.program.probabilities`), or empty.
    ``title`` says in one line what the model is, and ``notes`` are lines that a user must see: what was dropped or
    replaced.
    """

    outputs: Mapping[str, Formula]
    inputs: tuple[str, ...]
    kind: str
    title: str
    layers: tuple[Layer, ...] = ()
    argmax: str = ""
    classes: tuple[Any, ...] = ()
    probabilities: str = ""
    notes: tuple[str, ...] = field(default=())

    @property
    def read(self) -> frozenset[str]:
        """The names of the inputs that a formula reads."""
        return frozenset(node.value for node in postorder(*self.outputs.values()) if node.kind == "variable")

    @property
    def idle(self) -> tuple[str, ...]:
        """The names of the inputs that cannot matter."""
        read = self.read
        return tuple(name for name in self.inputs if name not in read)
