"""The programs that are learned, as arrays: many of them at once, evaluated and differentiated on a batch of rows.

A program has *units*, each a product of two affine forms of the inputs (*products*), the square of one (*squares*),
or one form where it is above zero (*relu*, the usual network, which is the rival of the others), and outputs that are
affine in inputs and units, ``y = W·x + V·h``. Units are shared by all outputs; those of the family
*separate* are squares that belong to one output and are added or taken away, which three registers can hold.

``forms`` holds the affine forms of all units and then those of all outputs, one row each, the bias last. Rows of data
come with a one at their end, with the axes group, row, input: the first models see the first group of rows, as many
the next, and so on.
``kept`` and ``read`` are the masks of forms and of ``V``; what they leave out is zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["FAMILIES", "Array", "Gradient", "Models", "Shape", "initial"]

Array = NDArray[Any]

#: Affine forms of a unit.
FAMILIES = {"linear": 0, "squares": 1, "products": 2, "separate": 1, "relu": 1}


class Shape(NamedTuple):
    """A family of programs: ``units`` of them in all, with the separate family a multiple of ``outputs``."""

    family: str
    units: int
    inputs: int
    outputs: int

    @property
    def factors(self) -> int:
        """Forms of all units together."""
        return self.units * FAMILIES[self.family]

    @property
    def shared(self) -> bool:
        """Whether an output reads units with weights of its own."""
        return self.family != "separate"


class Gradient(NamedTuple):
    """The mean gradient over a batch, or the mean of the squared gradients of its rows."""

    forms: Array
    reads: Array


@dataclass
class Models:
    """Several programs of one ``shape``. ``forms`` has the shape ``(models, factors + outputs, inputs + 1)``, ``reads``
    (the matrix ``V``) the shape ``(models, outputs, units)``."""

    shape: Shape
    forms: Array
    reads: Array
    kept: Array
    read: Array

    def __len__(self) -> int:
        return len(self.forms)

    def part(self, chosen: Any) -> Models:
        """A copy of the models that an index array chooses."""
        return Models(self.shape, *(a[chosen].copy() for a in (self.forms, self.reads, self.kept, self.read)))

    def values(self, rows: Array) -> tuple[Array, Array, Array]:
        """The forms of units, the units and the outputs, with the axes model, number, row."""
        shape = self.shape
        all_forms = self._by_group(self.forms, rows) @ rows.swapaxes(1, 2)
        all_forms = all_forms.reshape(len(self), -1, rows.shape[1])
        factors, outputs = all_forms[:, : shape.factors], all_forms[:, shape.factors :]
        if not shape.units:
            return factors, factors, outputs
        if shape.family == "relu":
            units = np.maximum(factors, 0)
            return factors, units, outputs + self.reads @ units
        second = factors[:, 1::2] if shape.family == "products" else factors
        units = factors[:, :: FAMILIES[shape.family]] * second
        return factors, units, outputs + self.reads @ units

    def backwards(self, rows: Array, factors: Array, units: Array, errors: Array) -> Gradient:
        """The mean gradient of a loss whose derivative by each output of each row is ``errors``."""
        forms, _ = self._errors(factors, errors)
        count = rows.shape[1]
        by_forms = (self._by_group(forms, rows) @ rows).reshape(self.forms.shape)
        by_forms *= self.kept
        by_forms /= count
        reads = errors @ units.swapaxes(1, 2)
        return Gradient(by_forms, reads * self.read / count)

    def squares(self, rows: Array, factors: Array, units: Array, errors: Array) -> Gradient:
        """The mean of the squared gradient of each row, for all weights whether they are kept or not."""
        forms, _ = self._errors(factors, errors)
        count = rows.shape[1]
        reads = (errors * errors) @ (units * units).swapaxes(1, 2)
        by_forms = self._by_group(forms * forms, rows) @ (rows * rows)
        return Gradient(by_forms.reshape(self.forms.shape) / count, reads / count)

    @staticmethod
    def _by_group(forms: Array, rows: Array) -> Array:
        """What belongs to the forms of all models of a group of rows, one below the other."""
        return forms.reshape(len(rows), -1, forms.shape[-1])

    def _errors(self, factors: Array, errors: Array) -> tuple[Array, Array]:
        """The derivatives by all forms, and those by units."""
        if not self.shape.units:
            return errors, errors[:, :0]
        by_units = self.reads.swapaxes(1, 2) @ errors
        if self.shape.family == "products":
            by_factors = np.empty_like(factors)
            np.multiply(by_units, factors[:, 1::2], out=by_factors[:, 0::2])
            np.multiply(by_units, factors[:, 0::2], out=by_factors[:, 1::2])
        elif self.shape.family == "relu":
            by_factors = by_units * (factors > 0)
        else:
            by_factors = 2 * by_units * factors
        return np.concatenate([by_factors, errors], axis=1), by_units

    def mask(self) -> None:
        """Make zero what is not kept."""
        self.forms *= self.kept
        self.reads *= self.read


def initial(shape: Shape, count: int, rng: np.random.Generator, kind: Any = np.float32) -> Models:
    """``count`` random models."""
    inputs = shape.inputs
    factors = rng.normal(0, 1.4 / np.sqrt(inputs), (count, shape.factors, inputs + 1))
    outputs = rng.normal(0, 0.01, (count, shape.outputs, inputs + 1))
    factors[..., -1] = 0
    outputs[..., -1] = 0
    read = np.ones((count, shape.outputs, shape.units), bool)
    reads = 0.3 * rng.normal(0, 1, read.shape)
    if not shape.shared:
        owner = np.arange(shape.units) % shape.outputs
        read[:] = owner == np.arange(shape.outputs)[:, None]
        reads = np.where(rng.random(read.shape) < 1 / 2, -1.0, 1.0) * read
    forms = np.concatenate([factors, outputs], axis=1).astype(kind)
    return Models(shape, forms, reads.astype(kind), np.ones(forms.shape, bool), read)
