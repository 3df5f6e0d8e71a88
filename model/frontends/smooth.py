"""Smooth: the functions of a model become polynomials, one for all values of a layer that have the same function.

Precondition: a model with ``tanh`` or ``sigmoid`` in it, and the ranges of its inputs or rows. Postcondition: the same
model with polynomials, within the error that was asked for on the range that the arguments have, and a note for each
layer. A polynomial is odd around the middle of a symmetric range, and its argument is folded into the layer's weights.
Cost: some tens of milliseconds a layer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from fractions import Fraction

from skinny.model.formula.formula import Formula, constant, postorder, product, total, variables
from skinny.model.functions.approximate import approximate
from skinny.model.functions.prove import monomials

from .imported import Imported, Layer
from .ranges import Range, term

__all__ = ["Activation", "has_functions", "smoothed"]

#: Beyond the range of rows, so that those that come later have room.
MARGIN = 1.25

#: A function, half of its symmetric range, and the coefficients of its polynomial over the range mapped to -1 to 1.
Activation = tuple[str, Fraction, tuple[Fraction, ...]]


def has_functions(imported: Imported) -> bool:
    """Whether there is a function in the model."""
    return any(node.kind == "function" for node in postorder(*imported.outputs.values()))


def smoothed(
    imported: Imported, find_ranges: Callable[[Collection[Formula]], dict[int, Range]], error: Fraction, margin: float
) -> Imported:
    """The model with polynomials in place of its functions. ``find_ranges`` gives the ranges of nodes; they are widened
    by ``margin``."""
    layers: list[Layer] = []
    notes: list[str] = []
    known: dict[int, Formula] = {}
    rest = Layer("", tuple(imported.outputs.values()))
    for layer in (*imported.layers, rest):
        functions = [node for node in postorder(*layer.values) if node.kind == "function" and id(node) not in known]
        made: dict[str, tuple[Fraction, tuple[Fraction, ...]]] = {}
        if functions:
            arguments = [_rebuilt(node.args[0], known) for node in functions]
            ranges = find_ranges(arguments)
            for name in dict.fromkeys(str(node.value) for node in functions):
                own = [ranges[id(arg)] for node, arg in zip(functions, arguments, strict=True) if node.value == name]
                made[name], note = _polynomial(name, max(found.size for found in own) * margin, error)
                notes.append(f"{layer.name or 'outputs'}: {note}")
            for node, argument in zip(functions, arguments, strict=True):
                half, coefficients = made[str(node.value)]
                known[id(node)] = _horner(_divided(argument, half), coefficients)
        layers.append(Layer(layer.name, tuple(_rebuilt(value, known) for value in layer.values)))
    outputs = dict(zip(imported.outputs, layers.pop().values, strict=True))
    return replace(imported, outputs=outputs, layers=tuple(layers), notes=(*imported.notes, *notes))


def _polynomial(name: str, size: float, error: Fraction) -> tuple[tuple[Fraction, tuple[Fraction, ...]], str]:
    """Half of the range, the coefficients, and what to say of them."""
    half = Fraction(max(size, 1e-3)).limit_denominator(1 << 12)
    (v,) = variables("v")
    found = approximate({"y": Formula("function", (v,), name)}, {"v": (-half, half)}, error)["y"]
    (part,) = found.parts
    return (half, tuple(monomials(part.chebyshev))), (
        f"{name} became a polynomial of degree {found.degree} on ±{float(half):.3g}, with an error of at most "
        f"{float(found.error):.2g}"
    )


def _horner(t: Formula, coefficients: tuple[Fraction, ...]) -> Formula:
    """The polynomial over ``t``, by Horner's rule in ``t²``, as all powers but the first and the zeroth are odd."""
    odd = coefficients[1::2]
    if any(coefficients[2::2]):
        out = constant(coefficients[-1])
        for coefficient in coefficients[-2::-1]:
            out = total([product([out, t]), constant(coefficient)])
        return out
    inner = constant(odd[-1])
    square = t**2
    for coefficient in odd[-2::-1]:
        inner = total([product([inner, square]), constant(coefficient)])
    out = product([inner, t])
    return total([out, constant(coefficients[0])]) if coefficients[0] else out


def _divided(argument: Formula, half: Fraction) -> Formula:
    """``argument / half``, folded into its terms."""
    terms = []
    for arg in argument.args if argument.kind == "sum" else (argument,):
        factor, rest = term(arg)
        scale = constant((Fraction(1) if factor is None else factor.value) / half)
        terms.append(scale if rest is None else product([scale, rest]))
    return terms[0] if len(terms) == 1 else total(terms)


def _rebuilt(root: Formula, known: dict[int, Formula]) -> Formula:
    """``root`` with nodes that are known replaced; what does not change stays the same node."""
    for node in postorder(root):
        if id(node) not in known:
            args = tuple(known[id(arg)] for arg in node.args)
            same = all(new is old for new, old in zip(args, node.args, strict=True))
            known[id(node)] = node if same else Formula(node.kind, args, node.value)
    return known[id(root)]
