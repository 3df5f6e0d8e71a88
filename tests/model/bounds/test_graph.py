"""The value graph: what is taken away again is not in it, and what differs is told apart."""

from fractions import Fraction

from skinny.model.bounds.analysis import Analysis
from skinny.model.bounds.graph import ONE, ZERO, Product, value_graph
from skinny.model.program.forms import Input, Linear, Weight
from skinny.model.program.program import Output
from skinny.model.rings import FixedPoint


def graph_of(program, frac=8, most=1000):
    analysis = Analysis(program, FixedPoint(24, frac), [(-1, 1)] * len(program.inputs))
    scalars = [analysis.scalars.scalar(number) for number in range(len(program.forms))]
    return value_graph(program, scalars, frac, most)


def test_a_register_that_comes_back_is_the_same_node(reference):
    code = [(2, 1, 1, 0), (0, 2, 1, 0), (2, 1, -1, 0), (2, 1, 1, 0), (0, 2, -1, 0)]
    graph = graph_of(reference.program_of(code, "x", [], [Input(0)]))
    assert graph.written == [graph.written[0], graph.written[1], ZERO, graph.written[0], ZERO]
    assert graph.read == [ONE, graph.written[0], ONE, ONE, graph.written[0]]
    assert graph.sent == [ZERO]
    assert sum(isinstance(node, Product) for node in graph.nodes) == 2


def test_exact_values_are_compared_as_polynomials(reference):
    """``x + 2x - 3x`` is zero bit for bit; thirds of ``x`` are rounded, and nobody knows what is left of them."""
    three = reference.program_of(
        [(0, 1, 1, 0), (0, 1, 1, 1), (0, 1, -1, 2)],
        "x",
        [Fraction(2), Fraction(3)],
        [Input(0), Linear(((0, 0),)), Linear(((1, 0),))],
    )
    assert graph_of(three).sent == [ZERO]
    thirds = reference.program_of(
        [(0, 1, 1, 0), (0, 1, -1, 1), (0, 1, -1, 2)],
        "x",
        [Fraction(1, 3), Fraction(2, 3)],
        [Input(0), Linear(((0, 0),)), Linear(((1, 0),))],
    )
    assert graph_of(thirds).sent != [ZERO]


def test_equal_words_of_different_values_are_told_apart(reference):
    """1/1000 is zero in eight fraction bits, but the error that this makes must not be lost."""
    small = reference.program_of([(0, 1, 1, 0)], "", [Fraction(1, 1000)], [Weight(0)])
    assert graph_of(small).sent != [ZERO]


def test_a_restart_brings_the_start_vector_back(reference):
    code = [(0, 1, 1, 0), (0, 1, 1, 0)]
    outputs = (Output("a", 0, 1, restart=True), Output("b", 0, 2))
    graph = graph_of(reference.program_of(code, "x", [], [Input(0)], outputs=outputs))
    assert graph.sent[0] == graph.sent[1]
    whole = graph_of(reference.program_of(code, "x", [], [Input(0)]))
    assert whole.written[0] != whole.written[1]


def test_too_many_edges_are_given_up(reference):
    code = [(2, 1, 1, 0), (1, 2, 1, 0)] * 5
    program = reference.program_of(code, "x", [], [Input(0)])
    assert graph_of(program, most=5) is None
    assert graph_of(program) is not None
