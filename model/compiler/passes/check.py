"""Check: the program against the formula it came from.

Precondition: a program and the formulas of its outputs. Postcondition: none, or :exc:`CheckError`. The formula is
evaluated as it was written and the program instruction by instruction, at fresh random points mod 2^61 - 1: a wrong
program passes one point with probability at most ``length / 2^61``. An in-place program is run from every unit vector
and must change exactly one entry. Cost: linear, :data:`POINTS` times.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

from skinny.model.errors import CheckError
from skinny.model.formula.formula import Formula, Operations
from skinny.model.limits import check as check_limits
from skinny.model.limits import checked
from skinny.model.program.program import Columns, Input, Linear, Program, Weight

__all__ = ["POINTS", "check"]

PRIME = (1 << 61) - 1
POINTS = 2
#: Instructions that are run between two looks at the limits.
CHUNK = 1 << 14


def check(program: Program, outputs: Mapping[str, Formula], operations: Operations) -> str:
    """Raise :exc:`CheckError` when the program is not its formula; else say how it was checked."""
    chance = random.SystemRandom()
    for _ in range(POINTS):
        point = {name: chance.randrange(PRIME) for name in program.inputs}
        wanted = _formula_values(outputs, operations, point)
        scalars = _scalars(program, [point[name] for name in program.inputs])
        for part in program.parts():
            (output,) = part.outputs
            value = wanted[output.name]
            if program.contract == "clean":
                found = _run(part.code, scalars, list(program.start))[output.register]
                if found != value:
                    raise CheckError(f"internal error: output {output.name} of the compiled program is wrong")
                continue
            for unit in range(program.width):
                registers = [int(r == unit) for r in range(program.width)]
                expected = list(registers)
                if unit == 1:
                    expected[output.register] = (expected[output.register] + value) % PRIME
                if _run(part.code, scalars, registers) != expected:
                    raise CheckError(f"internal error: output {output.name} is not computed in place")
    how = "in place, from every unit vector" if program.contract == "in-place" else "from the start vector"
    return f"at {POINTS} random points mod 2^61-1, {how}"


def _scalars(program: Program, inputs: list[int]) -> list[int]:
    weights = [w.numerator * pow(w.denominator, -1, PRIME) % PRIME for w in program.weights]
    out = []
    for form in program.forms:
        match form:
            case Input(u):
                out.append(inputs[u])
            case Weight(k):
                out.append(weights[k])
            case Linear(terms, bias):
                total = 0 if bias is None else weights[bias]
                out.append((total + sum(weights[k] * inputs[u] for k, u in terms)) % PRIME)
    return out


def _run(code: Columns, scalars: list[int], registers: list[int]) -> list[int]:
    for first in range(0, len(code), CHUNK):
        check_limits()
        columns = (column[first : first + CHUNK].tolist() for column in code.arrays())
        for dst, src, sign, form in zip(*columns, strict=True):
            registers[dst] = (registers[dst] + sign * scalars[form] * registers[src]) % PRIME
    return [r % PRIME for r in registers]


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
            case "constant":
                value = node.value.numerator * pow(node.value.denominator, -1, PRIME) % PRIME
            case _:
                value = pow(known[id(args[0])], node.value, PRIME)
        known[id(node)] = value
    return {name: known[id(formula)] for name, formula in outputs.items()}
