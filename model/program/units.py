"""The user's own units: how numbers become elements of a ring, and elements numbers, by the scales of a program.

An input ``x`` with the scale ``e`` enters the program as the element of ``x/2^e``; what an output with the scale ``g``
sends counts times ``2^g``. Scales are powers of two, so nothing is rounded here that the ring does not round. All
commands and the front door encode and decode by this class; ``docs/units.md`` explains it to users.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from skinny.model.errors import InputError
from skinny.model.rings import Array, Exact, FixedPoint, Number, Real, Ring, exact_number

from .probabilities import probabilities
from .program import Program

__all__ = ["Encoded", "Units", "scaled"]


class Encoded(NamedTuple):
    """Inputs as elements of shape ``(batch, inputs)``; ``rounded`` marks those that are not the given number."""

    elements: Array
    rounded: Array

    @classmethod
    def exactly(cls, elements: Array) -> Encoded:
        """Elements that nothing was rounded for."""
        return cls(elements, np.zeros(elements.shape, dtype=np.bool_))

    def row(self, number: int) -> Encoded:
        """One row, as a batch of one."""
        return Encoded(self.elements[number : number + 1], self.rounded[number : number + 1])


def scaled(value: Fraction, exponent: int) -> Fraction:
    """``value·2^exponent``, exactly."""
    return value * (1 << exponent) if exponent >= 0 else value / (1 << -exponent)


class Units:
    """The inputs and outputs of ``program`` in ``ring``, seen in the user's units. The inputs of a stream are the words
    of a sample."""

    def __init__(self, program: Program, ring: Ring) -> None:
        has_scales = any(program.input_scales) or any(output.scale for output in program.outputs)
        if has_scales and not isinstance(ring, FixedPoint | Exact | Real):
            raise InputError(
                f"the program has scales, so it runs in fixed:BITS.FRAC, exact or real, not in {ring.name}"
            )
        self.ring = ring
        self.inputs = program.samples
        self.outputs = program.results
        self._bare = bool(program.argmax)
        self._probabilities = program.probabilities
        self._input_scales = tuple(program.input_scales[u] for u in program.sample_inputs)
        self._output_scales = tuple(output.scale for output in program.outputs)

    def encode(self, u: int, value: Number) -> Any:
        """The element of input ``u`` for ``value``; raises :exc:`InputError` when it does not fit."""
        exponent = self._input_scales[u]
        if not exponent:
            return self.ring.encode(value)
        exact = exact_number(value)
        try:
            return self.ring.encode(scaled(exact, -exponent))
        except InputError:
            if not isinstance(self.ring, FixedPoint):
                raise
            half, unit = 1 << (self.ring.bits - 1), 2.0 ** (exponent - self.ring.frac)
            raise InputError(
                f"{value} does not fit {self.ring.name} times 2^{exponent} ({-half * unit} to {(half - 1) * unit})"
            ) from None

    def decode_input(self, u: int, element: Any) -> Number:
        """The number that ``element`` of input ``u`` stands for."""
        return _times(self.ring.decode(element), self._input_scales[u])

    def decode(self, number: int, element: Any) -> Number:
        """The number that ``element``, sent as result ``number``, stands for, before a host makes probabilities of
        it. What argmax sends is a bare number."""
        if self._bare:
            return int(element)
        return _times(self.ring.decode(element), self._output_scales[number])

    def in_output(self, number: int, value: Number) -> Number:
        """``value``, a difference or a part of output ``number`` in numbers of the ring, in the user's units."""
        return _times(value, self._output_scales[number])

    def encode_columns(
        self,
        columns: Sequence[Sequence[Any]],
        batch: int,
        number: Callable[[Any], Number],
        place: Callable[[str, int], str],
    ) -> Encoded:
        """The elements of a column of values for each input. ``number`` reads a value; equal values are read once.
        ``place`` names an input and a row, counted from 1, in messages."""
        out = Encoded.exactly(np.empty((batch, len(self.inputs)), dtype=self.ring.element_dtype))
        for u, (name, column) in enumerate(zip(self.inputs, columns, strict=True)):
            known: dict[Any, tuple[Any, bool]] = {}
            for row, value in enumerate(column):
                try:
                    found = known.get(value)
                except TypeError:  # what cannot be a key is no number, and is refused as such
                    found = None
                if found is None:
                    try:
                        read = number(value)
                        element = self.encode(u, read)
                    except InputError as error:
                        raise InputError(f"{place(name, row + 1)}: {error}") from None
                    found = known[value] = element, self._is_rounded(u, element, read)
                out.elements[row, u], out.rounded[row, u] = found
        return out

    def decode_columns(self, elements: Array) -> dict[str, list[Number]]:
        """The numbers of each output from elements of shape ``(batch, outputs)``, or probabilities where the program
        sends scores for them."""
        columns = [[self.decode(number, element) for element in column] for number, column in enumerate(elements.T)]
        if self._probabilities:
            columns = probabilities(self._probabilities, np.array(columns, dtype=np.float64).T).T.tolist()
        return dict(zip(self.outputs, columns, strict=True))

    def decode_row(self, elements: Array) -> dict[str, Number]:
        """The same of elements of shape ``(outputs,)``, a number of each."""
        return {name: column[0] for name, column in self.decode_columns(elements[None]).items()}

    def _is_rounded(self, u: int, element: Any, value: Number) -> bool:
        if not isinstance(self.ring, FixedPoint):
            return False
        return exact_number(self.decode_input(u, element)) != exact_number(value)


def _times(value: Number, exponent: int) -> Number:
    """``value·2^exponent``; a float stays one."""
    if not exponent:
        return value
    return value * 2.0**exponent if isinstance(value, float) else scaled(exact_number(value), exponent)
