"""Lower: tables in order of first use, outputs one after the other."""

from fractions import Fraction

from skinny.model.compiler.code import Affine, Code, Instruction
from skinny.model.compiler.lower import lower
from skinny.model.compiler.polynomial import Table
from skinny.model.named_weight import NamedWeight
from skinny.model.program.forms import Input, Linear, Weight
from skinny.model.program.program import Output

A, B = Affine(((0, 1),)), Affine(((1, 1),))
HALF, FORM = Affine((), Fraction(1, 2)), Affine(((0, 2), (1, 1)), Fraction(1, 2))


def test_two_outputs():
    first = Code.of([Instruction(2, 1, 1, B), Instruction(0, 2, -1, FORM)], (0, 1, 0))
    second = Code.of([Instruction(2, 1, 1, HALF), Instruction(0, 1, 1, B)], (0, 1, 0), output=2)
    program = lower({"p": first, "q": second}, Table("ab"), "clean", frozenset({Fraction(2), Fraction(1)}))
    assert program.weights == (Fraction(1, 2), Fraction(2), Fraction(1))
    assert program.derived == (True, False, False)
    assert program.forms == (Input(1), Linear(((1, 0), (2, 1)), 0), Weight(0))
    assert program.outputs == (Output("p", 0, 2, True), Output("q", 2, 4, False))
    assert [column.tolist() for column in program.code.arrays()[:4]] == [
        [2, 0, 2, 0],
        [1, 2, 1, 1],
        [1, -1, 1, 1],
        [0, 1, 2, 0],
    ]


def test_a_scalar_that_no_instruction_uses_is_left_out():
    code = Code.of([Instruction(0, 1, 1, A), Instruction(0, 1, 1, B)], (0, 1, 0)).part(slice(1, 2))
    assert lower({"y": code}, Table("ab"), "clean", frozenset()).forms == (Input(1),)


KP = NamedWeight("kp", Fraction(4, 5), Fraction(0), Fraction(2))
KD = NamedWeight("kd", Fraction(4, 5), Fraction(-1), Fraction(1))


def test_named_weights_have_words_of_their_own():
    """Atoms: a, b, then kp, kd, then kp*b. A word for each factor; never shared with an equal constant."""
    table = Table("ab", weights=[KP, KD], fused=[(2, 1)])
    form = Affine(((0, Fraction(4, 5)), (4, -1)), 0)
    code = Code.of([Instruction(0, 1, 1, form), Instruction(0, 1, 1, Affine(((3, 1),)))], (0, 1, 0))
    program = lower({"y": code}, table, "clean", frozenset())
    assert program.inputs == ("a", "b")
    assert program.weights == (Fraction(4, 5), Fraction(-4, 5), Fraction(4, 5))
    assert program.forms == (Linear(((0, 0), (1, 1))), Weight(2))
    assert program.named == (KP._replace(words=((1, Fraction(-1)),)), KD._replace(words=((2, Fraction(1)),)))
    assert program.derived == (True, False, False)


def test_a_form_of_several_constants_takes_several_instructions():
    table = Table("ab", weights=[KP, KD])
    scalar = Affine(((0, 1), (2, 1), (3, 2)), 5)
    other = Instruction(2, 1, 1, A)
    code = Code.of([other, Instruction(0, 2, -1, scalar), other], (0, 1, 0))
    program = lower({"y": code}, table, "clean", frozenset())
    named = [program.weight_names()[form.k] for form in program.forms if isinstance(form, Weight)]
    assert named == ["kp", "2*kd"]
    assert program.forms[1] == Linear(((1, 0),), 0)
    assert program.weights[:2] == (5, 1)
    assert program.code.dst.tolist() == [2, 0, 0, 0, 2]
    assert program.code.sign.tolist() == [1, -1, -1, -1, 1]
    assert program.code.form.tolist() == [0, 1, 2, 3, 0]
    assert program.outputs == (Output("y", 0, 5),)
