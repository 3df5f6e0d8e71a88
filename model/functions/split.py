"""Split: which parts of a formula depend on one affine form of the inputs, and are to become one polynomial each.

A formula of one input is one part. Of sums and products over several forms, the terms or factors of the same form are
put together when a function is among them, so that a part is as large as it can be: ``sin(x)*x*y`` has the one part
``sin(x)*x``. Equal parts are one node. The argument of a function must be of one form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from skinny.model.errors import InputError
from skinny.model.formula.formula import Formula, constant, formula_text, postorder, total

from .tape import Step, Tape

__all__ = ["Box", "Part", "Split", "split"]

Box = Mapping[str, tuple[Fraction, Fraction]]
#: The name of the offset of an affine form.
OFFSET = ""
#: A form up to its scale and offset: names with coefficients, the first of which is 1. A number has none.
Direction = tuple[tuple[str, Fraction], ...]


class Shape(NamedTuple):
    """What is known of a node: its coefficients if it is affine, its direction if it depends on one form, and whether
    a function is in it."""

    affine: Mapping[str, Fraction] | None
    direction: Direction | None
    functional: bool


class Part(NamedTuple):
    """A part of a formula that depends on one form: its node, the form mapped to -1 to 1 as a formula, and its tape."""

    node: Formula
    form: Formula
    tape: Tape


class Split(NamedTuple):
    """A formula over its parts. ``inner`` are the nodes above the parts, arguments first; ``ranges`` has the range of
    each affine node below them."""

    root: Formula
    parts: list[Part]
    inner: list[Formula]
    ranges: dict[int, tuple[Fraction, Fraction]]


def split(formula: Formula, box: Box) -> Split:
    """``formula`` over its parts on ``box``."""
    builder = _Builder()
    root = builder.built(formula)
    inner: list[Formula] = []
    parts: list[Part] = []
    ranges: dict[int, tuple[Fraction, Fraction]] = {}
    reached = {id(root)}
    for node in reversed(list(postorder(root))):  # every node before its arguments
        if id(node) not in reached:
            continue
        shape = builder.shapes[id(node)]
        if shape.functional and shape.direction is not None:
            parts.append(builder.part(node, box))
        elif shape.affine is not None:
            ranges[id(node)] = _range(shape.affine, box)
        else:
            inner.append(node)
            reached.update(id(arg) for arg in node.args)
    return Split(root, parts[::-1], inner[::-1], ranges)


class _Builder:
    """Nodes without repetition, and their shapes."""

    def __init__(self) -> None:
        self.nodes: dict[Any, Formula] = {}
        self.shapes: dict[int, Shape] = {}
        self.leaves: dict[str, Formula] = {}

    def built(self, formula: Formula) -> Formula:
        nodes = list(postorder(formula))
        uses = Counter(id(arg) for node in nodes for arg in node.args)
        known: dict[int, Formula] = {}
        for node in nodes:
            args = [known[id(arg)] for arg in node.args]
            if not args:
                known[id(node)] = self.leaf(node)
            elif node.kind in ("sum", "product"):
                single = [uses[id(arg)] == 1 for arg in node.args]
                known[id(node)] = self.grouped(node.kind, self.flat(node.kind, args, single))
            elif node.kind == "power" and node.value < 2:
                known[id(node)] = args[0] if node.value else self.leaf(constant(1))
            else:
                known[id(node)] = self.node(node.kind, tuple(args), node.value)
        return known[id(formula)]

    def leaf(self, node: Formula) -> Formula:
        """The one leaf that is equal to ``node``."""
        found = self.nodes.setdefault((node.kind, node.value, ()), node)
        self.shapes[id(found)] = self.shape(found)
        return found

    def node(self, kind: str, args: tuple[Formula, ...], value: Any = None) -> Formula:
        """The one node of this kind, arguments and value."""
        key = (kind, value, tuple(map(id, args)))
        if key not in self.nodes:
            node = self.nodes[key] = Formula(kind, args, value)
            self.shapes[id(node)] = self.shape(node)
        return self.nodes[key]

    def flat(self, kind: str, args: list[Formula], single: list[bool]) -> list[Formula]:
        """The arguments, with those of arguments of the same kind over several forms that nobody else uses."""
        out: list[Formula] = []
        for arg, alone in zip(args, single, strict=True):
            inside = alone and arg.kind == kind and self.shapes[id(arg)].direction is None
            out.extend(arg.args if inside else [arg])
        return out

    def grouped(self, kind: str, args: list[Formula]) -> Formula:
        """A sum or product whose arguments of the same form as a function's are one argument."""
        affine = [arg for arg in args if self.shapes[id(arg)].affine is not None]
        others = [arg for arg in args if self.shapes[id(arg)].affine is None]
        if kind == "sum" and others and len(affine) > 1:
            whole = self.node("sum", tuple(affine))  # x + y + exp(x + y) is of one form, x and y are not
            if any(self.shapes[id(arg)].direction == self.shapes[id(whole)].direction for arg in others):
                args = [whole, *others]
        directions = {self.shapes[id(arg)].direction for arg in args} - {()}
        if len(directions) < 2:
            return self.node(kind, tuple(args))
        groups: dict[Any, list[Formula]] = {}
        for arg in args:
            direction = self.shapes[id(arg)].direction
            groups.setdefault(id(arg) if direction is None else direction, []).append(arg)
        out: list[Formula] = []
        for group in groups.values():
            together = len(group) > 1 and any(self.shapes[id(arg)].functional for arg in group)
            out.extend([self.node(kind, tuple(group))] if together else group)
        return self.node(kind, tuple(out))

    def shape(self, node: Formula) -> Shape:
        shapes = [self.shapes[id(arg)] for arg in node.args]
        functional = any(shape.functional for shape in shapes)
        affine: Mapping[str, Fraction] | None = None
        match node.kind:
            case "constant":
                affine = {OFFSET: node.value}
            case "sum" if all(shape.affine is not None for shape in shapes):
                affine = _sum([shape.affine or {} for shape in shapes])
            case "product" if all(shape.affine is not None for shape in shapes):
                affine = _product([shape.affine or {} for shape in shapes])
            case "function":
                (argument,) = shapes
                if argument.direction is None:
                    raise InputError(
                        f"the argument of {node.value}, {formula_text(node.args[0], 40)}, depends on more than one "
                        "form of the inputs: a function takes one, such as x or 2*x - y"
                    )
                functional = True
            case "sum" | "product" | "power":
                pass
            case _:  # inputs, and weights, which have a name of their own
                name = node.value if isinstance(node.value, str) else node.value.name
                self.leaves[name] = node
                affine = {name: Fraction(1)}
        if affine is not None:
            return Shape(affine, _direction(affine), False)
        directions = {shape.direction for shape in shapes} - {()}
        if len(directions) > 1 or None in directions:
            return Shape(None, None, functional)
        return Shape(None, directions.pop() if directions else (), functional)

    def part(self, node: Formula, box: Box) -> Part:
        """``node``, which depends on one form, as a part."""
        direction = self.shapes[id(node)].direction or ()
        low, high = _range(dict(direction), box)
        middle, half = (low + high) / 2, (high - low) / 2
        reached = {id(node)}
        order = list(postorder(node))
        for above in reversed(order):
            if id(above) in reached and self.shapes[id(above)].affine is None:
                reached.update(id(arg) for arg in above.args)
        steps: list[Step] = []
        numbers: dict[int, int] = {}
        for below in order:
            if id(below) not in reached:
                continue
            numbers[id(below)] = len(steps)
            affine = self.shapes[id(below)].affine
            if affine is None:
                steps.append(Step(below.kind, tuple(numbers[id(arg)] for arg in below.args), below.value, below))
                continue
            scale = affine.get(direction[0][0], Fraction(0)) if direction else Fraction(0)
            offset = affine.get(OFFSET, Fraction(0))
            steps.append(Step("affine", (), (scale * half, scale * middle + offset), below))
        terms = [_scaled(coefficient / half, self.leaves[name]) for name, coefficient in direction] if half else []
        form = total([*terms, constant(-middle / half)] if half and middle else terms)
        return Part(node, form.args[0] if len(form.args) == 1 else form, Tape(steps))


def _scaled(factor: Fraction, leaf: Formula) -> Formula:
    return leaf if factor == 1 else constant(factor) * leaf


def _sum(terms: Sequence[Mapping[str, Fraction]]) -> dict[str, Fraction]:
    out: dict[str, Fraction] = {}
    for term in terms:
        for name, coefficient in term.items():
            out[name] = out.get(name, Fraction(0)) + coefficient
    return {name: coefficient for name, coefficient in out.items() if coefficient}


def _product(factors: Sequence[Mapping[str, Fraction]]) -> dict[str, Fraction] | None:
    """The product, unless two factors depend on the inputs."""
    scale = Fraction(1)
    form: Mapping[str, Fraction] = {OFFSET: Fraction(1)}
    for factor in factors:
        if factor.keys() <= {OFFSET}:
            scale *= factor.get(OFFSET, Fraction(0))
        elif form.keys() <= {OFFSET}:
            form = factor
        else:
            return None
    return {name: coefficient * scale for name, coefficient in form.items() if scale}


def _direction(affine: Mapping[str, Fraction]) -> Direction:
    names = sorted(affine.keys() - {OFFSET})
    return tuple((name, affine[name] / affine[names[0]]) for name in names)


def _range(affine: Mapping[str, Fraction], box: Box) -> tuple[Fraction, Fraction]:
    low = high = affine.get(OFFSET, Fraction(0))
    for name, coefficient in affine.items():
        if name != OFFSET:
            ends = sorted(coefficient * end for end in box[name])
            low, high = low + ends[0], high + ends[1]
    return low, high
