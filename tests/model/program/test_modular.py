"""Evaluation modulo a prime agrees with exact arithmetic."""

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.program.modular import (
    PRIME,
    form_residues,
    program_forms,
    register_terms,
    residue,
    run_code,
    travel,
)
from skinny.model.program.program import Mode
from skinny.model.program.text import loads
from skinny.model.rings import PrimeField
from skinny.model.run.golden import run

TEXT = """skinny 1
width 3
contract clean
start 0 1 0
inputs a b
weight w[0] = 3/4
weight w[1] = -2
form f[0] = w[0]*a + w[1]*b + w[1]
R2 += b*R1
R0 -= w[0]*R2
R0 += f[0]*R2
emit y = R0
end
"""


@pytest.mark.parametrize("value", [0, 7, -7, Fraction(3, 4), Fraction(-5, 6)])
@pytest.mark.parametrize("prime", [PRIME, 8191])
def test_residue_times_the_denominator_is_the_numerator(value, prime):
    assert 0 <= residue(value, prime) < prime
    assert (residue(value, prime) * value.denominator - value.numerator) % prime == 0


def test_a_program_modulo_the_prime_is_the_exact_one():
    program = loads(TEXT)
    a, b = Fraction(5, 3), Fraction(-2, 7)
    exact = -Fraction(3, 4) * b + (Fraction(3, 4) * a - 2 * b - 2) * b
    scalars = form_residues(program_forms(program), [residue(a), residue(b)])
    registers = [0, 1, 0]
    rows = zip(*(column.tolist() for column in program.code.arrays()[:4]), strict=True)
    reads = list(travel(rows, scalars, registers))
    assert reads == [1, residue(b), residue(b)]
    assert registers == [residue(exact), 1, residue(b)]


def test_a_source_of_zero_changes_nothing():
    registers = [0, random.Random(1).randrange(PRIME)]
    before = list(registers)
    assert list(travel([(1, 0, 1, 0)], [5], registers)) == [0]
    assert registers == before


@pytest.mark.parametrize("seed", range(8))
def test_assigns_and_sums_are_those_of_the_golden_run(random_program, seed):
    rng = np.random.default_rng(seed)
    program = random_program(rng, width=4, denominators=(1, 2, 3), modes=[Mode.ADD, Mode.ASSIGN], sums=True)
    field = PrimeField(2**31 - 1)
    point = rng.integers(0, field.p, len(program.inputs)).tolist()
    scalars = form_residues(program_forms(program), point, field.p)
    registers = [number % field.p for number in program.start]
    run_code(program.code, scalars, register_terms(program, program.weights, point, field.p), registers, field.p)
    assert registers == run(program, field, np.array([point])).registers[0].tolist()


def test_a_relu_is_refused(random_program):
    program = loads(TEXT)
    code = replace(program.code, mode=np.array([0, 2, 0], np.uint8))
    with pytest.raises(InputError, match=r"^instruction 1 takes the relu, which cannot be evaluated modulo a prime$"):
        run_code(code, [1, 1, 1], {}, [0, 1, 0])
