"""Lower: a listing becomes the program that its text says."""

from fractions import Fraction

from skinny.model.compiler.graph.generate import Listing
from skinny.model.compiler.graph.lower import lower_listing
from skinny.model.compiler.graph.registers import Instruction
from skinny.model.compiler.graph.values import Graph
from skinny.model.named_weight import NamedWeight
from skinny.model.program.text import dumps

FORM = (((-1, -1, -1), 5), ((-1, -1, 2), 3), ((0, -1, 2), 1), ((-1, 1, -1), Fraction(1, 2)), ((0, 0, -1), 1))


def test_every_kind_of_term_has_its_place():
    weight = NamedWeight("k", Fraction(2), Fraction(0), Fraction(9))
    code = [
        Instruction(2, 1, -1, "assign", (((-1, 0, -1), 1),)),
        Instruction(0, 1, 1, "relu", FORM),
        Instruction(0, 2, 1, "add", (((0, -1, -1), 1),)),
    ]
    graph = Graph([], {}, ["a", "b"], [weight])
    program = lower_listing(Listing(code, [("y", 0, 3, False)], 0, 3), graph, frozenset({Fraction(5), Fraction(1, 2)}))
    text = dumps(program)
    assert "form f[0] = w[3]*b + w[2]*a + w[1]*R2 + w[2]*R2 + w[0]" in text
    assert "R2 = -a*R1\nR0 = relu(f[0]*R1)\nR0 += w[2]*R2\nemit y = R0" in text
    assert program.weights == (5, 3, 2, Fraction(1, 2))
    assert program.derived == (False, True, False, False)
    assert program.named[0].words == ((2, Fraction(1)),)
