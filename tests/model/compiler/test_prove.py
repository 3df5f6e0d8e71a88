"""Prove: a program that is not its formula is noticed."""

import pytest
from skinny.model.compiler.pipeline import compile_formula
from skinny.model.compiler.prove import prove
from skinny.model.errors import CheckError
from skinny.model.formula.formula import operations
from skinny.model.formula.parse import parse_formula
from skinny.model.program.program import Program
from skinny.model.program.text import loads


@pytest.mark.parametrize("contract", ["clean", "in-place"])
def test_the_proof_notices_a_wrong_program(contract):
    outputs = parse_formula("a*b + c")
    program = compile_formula(outputs, contract=contract).program
    known = operations(*outputs.values())
    prove(program, outputs, known)
    for position in range(len(program)):
        program.code.sign[position] *= -1
        with pytest.raises(CheckError, match="internal error: output y"):
            prove(program, outputs, known)
        program.code.sign[position] *= -1


def test_the_proof_notices_a_register_that_is_not_restored():
    outputs = parse_formula("a*b")
    clean = compile_formula(outputs).program
    wrong = Program(clean.width, clean.inputs, clean.weights, clean.forms, clean.code, clean.outputs, "in-place")
    with pytest.raises(CheckError, match="not computed in place"):
        prove(wrong, outputs, operations(*outputs.values()))


MACHINE = """skinny 1
width 4
contract {contract}
inputs a b
weight w[0] = 2
weight w[1] = 1
form f[0] = w[0]*R2 + a*R3 + w[1]
R2 {first} a*R1
R3 {second} b*R1
R0 += f[0]*R{source}
{rest}emit y = R0
end
"""


def test_assigns_and_sums_of_registers_are_proven():
    """y = (2·a + a·b + 1)·b."""
    outputs = parse_formula("(2*a + a*b + 1)*b")
    text = MACHINE.format(contract="clean", first="=", second="=", source=3, rest="")
    assert prove(loads(text), outputs, operations(*outputs.values())) == (
        "at 2 random points mod 2^61-1, from the start vector"
    )
    for old, new in (("w[0]*R2", "w[1]*R2"), ("a*R3 +", "b*R3 +"), ("R2 = a", "R2 = -a"), ("R3 = b*R1", "R3 = b*R3")):
        assert text.count(old) == 1
        with pytest.raises(CheckError, match="output y of the compiled program is wrong"):
            prove(loads(text.replace(old, new)), outputs, operations(*outputs.values()))


def test_in_place_programs_that_are_not_linear_are_run_from_random_registers():
    """From unit vectors f[0] is one wherever R1 is zero, so that they would not tell R3 from R1."""
    outputs = parse_formula("2*a + 1")
    text = MACHINE.format(contract="in-place", first="+=", second="+=", source=1, rest="R3 -= b*R1\nR2 -= a*R1\n")
    with pytest.raises(CheckError, match="output y is not computed in place"):
        prove(loads(text), outputs, operations(*outputs.values()))
