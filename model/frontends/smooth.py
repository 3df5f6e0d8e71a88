"""Smooth: the functions of a model become polynomials, one for all values of a layer that have the same function.

Precondition: a model with ``tanh`` or ``sigmoid`` in it, and the ranges of its inputs or rows. Postcondition: the same
model with polynomials, within the error that was asked for on the range that the arguments have, and a note for each
layer. A polynomial is odd around the middle of a symmetric range, and its argument is folded into the layer's weights.
Where the function changes by no more than half of the error, its argument is cut off by two relus, so that the degree
stays low however far arguments go. Cost: some tens of milliseconds a layer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from skinny.model.errors import CheckError
from skinny.model.formula.formula import Formula, constant, postorder, product, total, variables
from skinny.model.formula.function import apply
from skinny.model.functions.approximate import approximate
from skinny.model.functions.prove import monomials

from .imported import Imported, Layer
from .ranges import Range, term

__all__ = ["Activation", "Activations", "find_activations", "has_functions", "smoothed"]

#: Half of a range is a multiple of one in so many, and is not smaller than this.
STEPS, SMALLEST = 4096, 1e-3


class Activation(NamedTuple):
    """What stands for a function: ``half`` of its symmetric range, whether arguments beyond it are ``cut`` off, the
    ``coefficients`` of the polynomial over the range mapped to -1 to 1, and the bound of its error."""

    half: Fraction
    cut: bool
    coefficients: tuple[Fraction, ...]
    error: Fraction


def has_functions(imported: Imported) -> bool:
    """Whether there is a function in the model."""
    return any(node.kind == "function" for node in postorder(*imported.outputs.values()))


#: The activations of a model, by the number of the layer and the name of the function.
Activations = dict[tuple[int, str], Activation]


def find_activations(
    imported: Imported, find_ranges: Callable[[Collection[Formula]], dict[int, Range]], error: Fraction, margin: float
) -> Activations:
    """What is to stand for the functions of a model. ``find_ranges`` gives the ranges of nodes; they are widened by
    ``margin``."""
    ranges = find_ranges(list(imported.outputs.values()))
    out: Activations = {}
    for number, functions in enumerate(_functions(imported)):
        for name in dict.fromkeys(str(node.value) for node in functions):
            size = max(ranges[id(node.args[0])].size for node in functions if node.value == name)
            try:
                out[number, name] = _activation(name, size * margin, error)
            except CheckError as refused:
                raise CheckError(f"{_layer_name(imported, number)}: {str(refused).partition(': ')[2]}") from None
    return out


def smoothed(imported: Imported, activations: Activations) -> Imported:
    """The model with polynomials in place of its functions."""
    known: dict[int, Formula] = {}
    for number, functions in enumerate(_functions(imported)):
        for node in functions:
            activation = activations[number, str(node.value)]
            argument = _rebuilt(node.args[0], known)
            t = _cut(argument, activation.half) if activation.cut else _divided(argument, activation.half)
            known[id(node)] = _horner(t, activation.coefficients)
    return replace(
        imported,
        outputs={name: _rebuilt(value, known) for name, value in imported.outputs.items()},
        layers=tuple(
            Layer(name, tuple(_rebuilt(value, known) for value in values)) for name, values in imported.layers
        ),
        notes=(
            *imported.notes,
            *(
                f"{_layer_name(imported, number)}: {name} became a polynomial of degree {len(made.coefficients) - 1} "
                f"on ±{float(made.half):.3g}{', cut off beyond' if made.cut else ''}, with an error of at most "
                f"{float(made.error):.2g}"
                for (number, name), made in activations.items()
            ),
        ),
    )


def _functions(imported: Imported) -> list[list[Formula]]:
    """The functions of each layer that are in no layer before it, and those behind all layers."""
    seen: set[int] = set()
    out = []
    for values in (*(layer.values for layer in imported.layers), tuple(imported.outputs.values())):
        found = [node for node in postorder(*values) if node.kind == "function" and id(node) not in seen]
        seen.update(id(node) for node in found)
        out.append(found)
    return out


def _layer_name(imported: Imported, number: int) -> str:
    return imported.layers[number].name if number < len(imported.layers) else "outputs"


def _activation(name: str, size: float, error: Fraction) -> Activation:
    """A polynomial within ``error`` of the function, whose argument is at most ``size``. The sigmoid of ``v`` is half
    of ``1 + tanh(v/2)``, so that all polynomials are odd but for a number."""
    factor = 2 if name == "sigmoid" else 1
    tail = float(error) * factor / 2
    far = 0.0 if tail >= 1 else math.atanh(1 - tail) if 1 - tail < 1 else math.inf
    cut = size / factor > far
    half = Fraction(math.ceil((far if cut else max(size / factor, SMALLEST)) * STEPS), STEPS)
    (v,) = variables("v")
    allowed = error * factor / (2 if cut else 1)
    found = approximate({"y": Formula("function", (v,), "tanh")}, {"v": (-half, half)}, allowed)["y"]
    (part,) = found.parts
    coefficients = [coefficient / factor for coefficient in monomials(part.chebyshev)]
    coefficients[0] += Fraction(factor - 1, 2)
    made = found.error / factor + (error / 2 if cut else 0)
    return Activation(half * factor, cut, tuple(coefficients), made)


def _cut(argument: Formula, half: Fraction) -> Formula:
    """``argument / half``, cut off at -1 and 1."""
    above = apply("relu", _divided(argument, half, 1))
    left = apply("relu", total([product([constant(-1), above]), constant(2)]))
    return total([product([constant(-1), left]), constant(1)])


def _horner(t: Formula, coefficients: tuple[Fraction, ...]) -> Formula:
    """The polynomial over ``t``, whose powers are odd but for the number, by Horner's rule in ``t²``."""
    odd = coefficients[1::2]
    inner = constant(odd[-1])
    square = t**2
    for coefficient in odd[-2::-1]:
        inner = total([product([inner, square]), constant(coefficient)])
    out = product([inner, t])
    return total([out, constant(coefficients[0])]) if coefficients[0] else out


def _divided(argument: Formula, half: Fraction, shift: int = 0) -> Formula:
    """``argument / half + shift``, folded into its terms."""
    terms = []
    bias = Fraction(shift)
    for arg in argument.args if argument.kind == "sum" else (argument,):
        factor, rest = term(arg)
        scale = (Fraction(1) if factor is None else factor.value) / half
        if rest is None:
            bias += scale
        else:
            terms.append(product([constant(scale), rest]))
    return total([*terms, constant(bias)])


def _rebuilt(root: Formula, known: dict[int, Formula]) -> Formula:
    """``root`` with nodes that are known replaced; what does not change stays the same node."""
    for node in postorder(root):
        if id(node) not in known:
            args = tuple(known[id(arg)] for arg in node.args)
            same = all(new is old for new, old in zip(args, node.args, strict=True))
            known[id(node)] = node if same else Formula(node.kind, args, node.value)
    return known[id(root)]
