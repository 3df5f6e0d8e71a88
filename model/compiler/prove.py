"""Prove: the program against the formula it came from.

Precondition: a program and the formulas of its outputs. Postcondition: none, or :exc:`CheckError`. The formula is
evaluated as it was written and the program instruction by instruction, at fresh random points mod 2^61 - 1: a wrong
program passes one point with probability at most ``length / 2^61``. Named weights are variables here: the
program is right for all of their values. An in-place program is run from every unit vector, or from a random
one where it is not linear, and must change exactly one entry. In place of the relu, which is no polynomial, stands a
random function. Cost: linear, :data:`POINTS` times.

A stream program is run from random old states for :data:`SAMPLES` samples in a row, each from what the one before left
behind; outputs and states must be those of the formulas.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction

from skinny.model.errors import CheckError
from skinny.model.formula.definitions import Definitions
from skinny.model.formula.formula import Formula, Operations, operations
from skinny.model.limits import checked
from skinny.model.named_weight import NamedWeight
from skinny.model.program.modular import (
    PRIME,
    Number,
    form_residues,
    program_forms,
    random_point,
    register_terms,
    residue,
    run_code,
)
from skinny.model.program.program import Output, Program

__all__ = ["POINTS", "SAMPLES", "WrongOutputError", "prove", "prove_stream"]

#: The number of random points at which the program and its formula are compared.
POINTS = 2
#: The number of samples that a stream program is run for, from each random point.
SAMPLES = 3


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
        values = dict(zip(program.inputs, _in_units(program, point), strict=True))
        values |= {weight.name: value for weight, value in settings.items()}
        relu = _Relu(chance)
        wanted = _formula_values(outputs, operations, values, relu)
        weights = _weights(program, settings)
        scalars = form_residues(program_forms(program, weights), point)
        sums = register_terms(program, weights, point)
        for part in program.parts():
            if program.contract == "clean":
                registers = [residue(value) for value in program.start]
                before = 0
                for output in part.outputs:
                    run_code(part.code.part(slice(before, output.at)), scalars, sums, registers, relu=relu)
                    before = output.at
                    if registers[output.register] % PRIME != _in_words(wanted[output.name], output):
                        raise WrongOutputError(output.name, "of the compiled program is wrong")
                continue
            (output,) = part.outputs
            value = _in_words(wanted[output.name], output)
            for registers in _starts(program, chance):
                expected = list(registers)
                expected[output.register] = (expected[output.register] + value * registers[1]) % PRIME
                run_code(part.code, scalars, sums, registers)
                if registers != expected:
                    raise WrongOutputError(output.name, "is not computed in place")
    how = "from the start vector"
    if program.contract == "in-place":
        how = f"in place, from {'every unit' if program.linear else 'a random'} vector"
    return f"at {POINTS} random points mod 2^61-1, {how}"


def prove_stream(program: Program, definitions: Definitions, scale: int = 0) -> str:
    """The same for a stream program of the contract ``clean``, whose states and outputs are ``definitions``. Its states
    are divided by ``2^scale``, and the relu is taken of what is divided so."""
    chance = random.SystemRandom()
    registers_of = dict(program.state)
    unit, part = residue(Fraction(2) ** scale), residue(Fraction(2) ** -scale)
    for name, start, _ in definitions.states:
        if program.start[registers_of[name]] * Fraction(2) ** scale != start:
            raise CheckError(f"internal error: the state {name} begins with {program.start[registers_of[name]]}")
    formulas = dict(definitions.outputs)
    formulas |= {f"next {name}": following for name, _, following in definitions.states}
    written = operations(*formulas.values())
    for _ in range(POINTS):
        settings = dict(zip(program.named, random_point(chance, len(program.named)), strict=True))
        weights = _weights(program, settings)
        relu = _Relu(chance)

        def of_divided(value: int, relu: _Relu = relu) -> int:
            return relu(value * unit % PRIME) * part % PRIME

        states = {name: chance.randrange(PRIME) for name in registers_of}
        words = random_point(chance, len(program.inputs))
        for _ in range(SAMPLES):
            arrived = random_point(chance, len(program.samples))
            words = (arrived[::-1] + words)[: len(words)] if program.window else arrived
            values = dict(zip(program.inputs, _in_units(program, words), strict=True)) | states
            values |= {weight.name: value for weight, value in settings.items()}
            wanted = _formula_values(formulas, written, values, relu)
            begin = [residue(value) for value in program.start]
            for name, register in registers_of.items():
                begin[register] = states[name] * part % PRIME
            scalars = form_residues(program_forms(program, weights), words)
            sums = register_terms(program, weights, words)
            registers = list(begin)
            before = 0
            for output in program.outputs:
                run_code(program.code.part(slice(before, output.at)), scalars, sums, registers, relu=of_divided)
                before = output.at
                if registers[output.register] % PRIME != _in_words(wanted[output.name], output):
                    raise WrongOutputError(output.name, "of the compiled program is wrong")
                if output.restart and output.at < len(program):
                    kept = registers_of.values()
                    registers = [
                        old if r in kept else new for r, (old, new) in enumerate(zip(registers, begin, strict=True))
                    ]
            run_code(program.code.part(slice(before, len(program))), scalars, sums, registers, relu=of_divided)
            states = {name: registers[register] * unit % PRIME for name, register in registers_of.items()}
            for name, found in states.items():
                if found != wanted[f"next {name}"]:
                    raise CheckError(f"internal error: the state {name} of the compiled program is wrong")
    return f"at {POINTS} random points mod 2^61-1, {SAMPLES} samples in a row"


class _Relu:
    """What stands for the relu: a function of which nothing is known but that equal arguments give equal values. So a
    program passes when it takes the relu of what the formula takes it of, whatever the relu is."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.known: dict[int, int] = {}

    def __call__(self, argument: int) -> int:
        return self.known.setdefault(argument, self.chance.randrange(PRIME))


def _in_units(program: Program, words: Sequence[int]) -> list[int]:
    """The values of the inputs that enter the program as ``words``."""
    return [x * residue(Fraction(2) ** e) % PRIME for x, e in zip(words, program.input_scales, strict=True)]


def _in_words(value: int, output: Output) -> int:
    """A value of an output as the program sends it."""
    return value * residue(Fraction(2) ** -output.scale) % PRIME


def _weights(program: Program, settings: Mapping[NamedWeight, int]) -> list[Number]:
    """The weights of the program when named ones have the residues ``settings``."""
    out: list[Number] = list(program.weights)
    for weight, value in settings.items():
        for k, factor in weight.words:
            out[k] = residue(factor) * value % PRIME
    return out


def _starts(program: Program, chance: random.Random) -> list[list[int]]:
    """Registers from which an in-place program is run: for a matrix the unit vectors are enough."""
    if not program.linear:
        return [random_point(chance, program.width)]
    return [[int(r == unit) for r in range(program.width)] for unit in range(program.width)]


def _formula_values(
    outputs: Mapping[str, Formula], operations: Operations, point: Mapping[str, int], relu: _Relu
) -> dict[str, int]:
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
            case "relu":
                value = relu(known[id(args[0])])
            case _:
                value = pow(known[id(args[0])], node.value, PRIME)
        known[id(node)] = value
    return {name: known[id(formula)] for name, formula in outputs.items()}
