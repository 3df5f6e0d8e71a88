"""Prove: the program against the formula it came from.

Precondition: a program and the formulas of its outputs. Postcondition: none, or :exc:`CheckError`. The formula is
evaluated as it was written and the program instruction by instruction, at fresh random points mod 2^61 - 1: a wrong
program passes one point with probability at most ``length / 2^61``. Named weights are variables here: the
program is right for all of their values. An in-place program is run from every unit vector
and must change exactly one entry. Cost: linear, :data:`POINTS` times.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction

from skinny.model.errors import CheckError
from skinny.model.formula.formula import Formula, Operations
from skinny.model.limits import check, checked
from skinny.model.named_weight import NamedWeight
from skinny.model.program.modular import PRIME, Number, form_residues, program_forms, random_point, residue, travel
from skinny.model.program.program import Columns, Program

__all__ = ["POINTS", "WrongOutputError", "prove"]

#: The number of random points at which the program and its formula are compared.
POINTS = 2
#: Instructions that are run between two looks at the limits.
CHUNK = 1 << 14


class WrongOutputError(CheckError):
    """Output ``output`` of a program is not its formula."""

    def __init__(self, output: str, what: str) -> None:
        super().__init__(f"internal error: output {output} {what}")
        self.output = output


def prove(program: Program, outputs: Mapping[str, Formula], operations: Operations) -> str:
    """Raise :exc:`WrongOutputError` when the program is not its formula; else say how it was checked."""
    chance = random.SystemRandom()
    for _ in range(POINTS):
        point = random_point(chance, len(program.inputs))
        settings = dict(zip(program.named, random_point(chance, len(program.named)), strict=True))
        scaled = (x * residue(Fraction(2) ** e) % PRIME for x, e in zip(point, program.input_scales, strict=True))
        values = dict(zip(program.inputs, scaled, strict=True))
        values |= {weight.name: value for weight, value in settings.items()}
        wanted = _formula_values(outputs, operations, values)
        scalars = form_residues(program_forms(program, _weights(program, settings)), point)
        for part in program.parts():
            (output,) = part.outputs
            value = wanted[output.name] * residue(Fraction(2) ** -output.scale) % PRIME
            if program.contract == "clean":
                if _run(part.code, scalars, list(program.start))[output.register] != value:
                    raise WrongOutputError(output.name, "of the compiled program is wrong")
                continue
            for unit in range(program.width):
                registers = [int(r == unit) for r in range(program.width)]
                expected = list(registers)
                if unit == 1:
                    expected[output.register] = (expected[output.register] + value) % PRIME
                if _run(part.code, scalars, registers) != expected:
                    raise WrongOutputError(output.name, "is not computed in place")
    how = "in place, from every unit vector" if program.contract == "in-place" else "from the start vector"
    return f"at {POINTS} random points mod 2^61-1, {how}"


def _weights(program: Program, settings: Mapping[NamedWeight, int]) -> list[Number]:
    """The weights of the program when named ones have the residues ``settings``."""
    out: list[Number] = list(program.weights)
    for weight, value in settings.items():
        for k, factor in weight.words:
            out[k] = residue(factor) * value % PRIME
    return out


def _run(code: Columns, scalars: list[int], registers: list[int]) -> list[int]:
    """The registers after the code."""
    for first in range(0, len(code), CHUNK):
        check()
        columns = (column[first : first + CHUNK].tolist() for column in code.arrays())
        for _ in travel(zip(*columns, strict=True), scalars, registers):
            pass
    return [register % PRIME for register in registers]


def _formula_values(outputs: Mapping[str, Formula], operations: Operations, point: Mapping[str, int]) -> dict[str, int]:
    """Each formula at a point mod 2^61 - 1, one operation after the other, as it was written."""
    known: dict[int, int] = {}
    for node, args in checked(operations):
        match node.kind:
            case "product":
                value = 1
                for arg in args:
                    value = value * known[id(arg)] % PRIME
            case "sum":
                value = sum(known[id(arg)] for arg in args) % PRIME
            case "variable":
                value = point[node.value]
            case "weight":
                value = point[node.value.name]
            case "constant":
                value = residue(node.value)
            case _:
                value = pow(known[id(args[0])], node.value, PRIME)
        known[id(node)] = value
    return {name: known[id(formula)] for name, formula in outputs.items()}
