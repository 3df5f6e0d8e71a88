"""Scales of streams: the same recurrence with inputs and all that it computes divided by powers of two.

An input ``x`` is taken as ``x / 2^inputs[x]``. Whatever depends on inputs or states is divided by one power of two,
``2^common``, the states included: so constants of products stay as they are, and words hold them as well as before,
whatever the size of the samples. A product of several such values takes a power of two, a summand that is constant is
divided; the relu of what was divided is the relu divided.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from skinny.model.formula.definitions import Definitions, StateFormula
from skinny.model.formula.formula import Formula, constant, postorder, product, total

__all__ = ["UNSCALED", "StreamScales", "scaled_definitions"]


class StreamScales(NamedTuple):
    """The exponents of the words of a sample, zero for those that are missing, and that of all values."""

    inputs: Mapping[str, int]
    common: int


UNSCALED = StreamScales({}, 0)


def scaled_definitions(definitions: Definitions, scales: StreamScales) -> Definitions:
    """The ``definitions`` in which samples, and outputs, states and all between, are divided by ``scales``."""
    if scales == UNSCALED:
        return definitions
    common = scales.common
    states = {state.name for state in definitions.states}
    made: dict[int, Formula] = {}
    divided: set[int] = set()

    def as_divided(node: Formula) -> Formula:
        return made[id(node)] if id(node) in divided else _times(-common, made[id(node)])

    roots = (*definitions.outputs.values(), *(state.next for state in definitions.states))
    for node in postorder(*roots):
        parts = sum(id(arg) in divided for arg in node.args)
        args = tuple(made[id(arg)] for arg in node.args)
        if node.kind == "variable":
            own = common if node.value in states else scales.inputs.get(node.value.partition("[")[0], 0)
            parts, now = 1, _times(own - common, node)
        elif node.kind == "sum" and parts:
            now = total(as_divided(arg) for arg in node.args)
        elif node.kind == "relu":
            parts, now = 1, Formula("relu", (as_divided(node.args[0]),))
        elif node.kind == "power":
            now = _times(common * (node.value - 1) if parts else 0, Formula("power", args, node.value))
        elif node.kind == "product":
            now = _times(common * (parts - 1) if parts else 0, product(args))
        else:
            now = Formula(node.kind, args, node.value)
        made[id(node)] = now
        if parts:
            divided.add(id(node))
    part = Fraction(2) ** -common
    return definitions._replace(
        outputs={name: as_divided(formula) for name, formula in definitions.outputs.items()},
        states=tuple(StateFormula(name, start * part, as_divided(after)) for name, start, after in definitions.states),
    )


def _times(exponent: int, formula: Formula) -> Formula:
    """``2^exponent`` times the formula."""
    return constant(Fraction(2) ** exponent) * formula if exponent else formula
