"""Prove: a program that is not its formula is noticed."""

import pytest
from skinny.model.compiler.pipeline import compile_formula
from skinny.model.compiler.prove import prove
from skinny.model.errors import CheckError
from skinny.model.formula.formula import operations
from skinny.model.formula.parse import parse_formula
from skinny.model.program.program import Program


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
