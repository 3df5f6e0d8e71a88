"""Graphs of constituents: their programs grow with the graph, and are what the functions say."""

import random
from fractions import Fraction

import numpy as np
import pytest
from skinny.model.compiler.pipeline import compile_formula
from skinny.model.errors import InputError
from skinny.model.frontends.dag import Dag
from skinny.model.rings import Exact
from skinny.model.run.golden import run


def compiled(dag):
    written = dag.written()
    return compile_formula(written.outputs, width=64, keep=frozenset(), inputs=written.inputs).program


def values(program, given):
    """What a program gives for values by name."""
    elements = np.array([[Fraction(given[name]) for name in program.inputs]], dtype=object)
    return dict(zip((out.name for out in program.outputs), run(program, Exact(), elements).outputs[0], strict=True))


def tree(depth, seed=0):
    """A binary tree of ``w0 + w1·a + w2·b + w3·a·b``, and its value by plain arithmetic."""
    chance = random.Random(seed)

    def constituent():
        w = [chance.randrange(2, 100) for _ in range(4)]
        return lambda a, b: w[0] + w[1] * a + w[2] * b + w[3] * a * b

    nodes, level = {}, [f"x{n}" for n in range(1 << depth)]
    while len(level) > 1:
        above = [f"v{len(nodes) + n}" for n in range(len(level) // 2)]
        nodes |= {
            name: (constituent(), pair)
            for name, pair in zip(above, zip(level[::2], level[1::2], strict=True), strict=True)
        }
        level = above
    return nodes


@pytest.mark.parametrize(("depth", "most"), [(3, 44), (4, 92), (5, 188)])
def test_length_grows_with_the_graph(depth, most):
    nodes = tree(depth)
    dag = Dag({name: (function, list(pair)) for name, (function, pair) in nodes.items()})
    assert dag.inputs == tuple(f"x{n}" for n in range(1 << depth))
    program = compiled(dag)
    assert program.words + program.emits <= most
    given = {f"x{n}": n - 3 for n in range(1 << depth)}
    wanted = dict(given)
    for name, (function, (a, b)) in nodes.items():
        wanted[name] = function(wanted[a], wanted[b])
    (root,) = dag.outputs
    assert values(program, given) == {root: wanted[root]}


def test_texts_functions_and_constituents_that_are_used_again():
    def mix(left, right):
        return left * right + 1

    dag = Dag(
        {
            "s": lambda a, b: a + b,
            "p": "s*c - a",
            "q": (mix, "p s"),
            "r": (mix, ["q", "p"]),
            "t": ("u^2 + v", "r b"),
            "one": lambda: 1,
        },
        outputs="t one q",
    )
    assert dag.inputs == ("a", "b", "c")
    assert dag.outputs == ("t", "one", "q")
    a, b, c = 2, 3, 5
    s = a + b
    p = s * c - a
    q = p * s + 1
    r = q * p + 1
    assert values(compiled(dag), {"a": a, "b": b, "c": c}) == {"t": r * r + b, "one": 1, "q": q}


def test_without_outputs_those_that_nobody_reads():
    dag = Dag({"y": "x*h", "h": "x + 1", "z": "h^2"})
    assert (dag.outputs, dag.order) == (("y", "z"), ["h", "y", "z"])
    assert repr(dag) == "<Graph of 3 constituents, 1 inputs>"


def test_what_no_output_needs_is_not_made():
    dag = Dag({"y": "x + 1", "z": lambda x: 1 / 0}, outputs=["y"])
    assert repr(dag.formulas()["y"]) == "x + 1"


def untyped(*values):
    return values[0]


@pytest.mark.parametrize(
    ("nodes", "outputs", "message"),
    [
        ({}, None, "a dict of constituents by name"),
        ({"a b": "x"}, None, "the name of a node must be letters, digits and _, not 'a b'"),
        ({"y": 3}, None, "node 'y': a constituent must be a formula text or a function, not 3"),
        ({"y": "x +"}, None, "node 'y': "),
        ({"y": "a = x; b = x"}, None, "node 'y': a constituent is one formula, not 2"),
        ({"y": ("a*b", "x")}, None, "node 'y': the text names 2 values, but 1 are read"),
        ({"y": untyped}, None, r"node 'y': what the function reads has no names: give \(function, 'a b'\)"),
        ({"y": (untyped, "x-1")}, None, "node 'y': 'x-1' is not a name"),
        ({"y": lambda x: "x"}, None, "node 'y': a constituent must give one formula, not 'x'"),
        ({"a": "b + 1", "b": "a"}, None, "the nodes of a graph must not read each other in a circle, but "),
        ({"y": "x"}, "z", "outputs: there is no node 'z'"),
        ({"y": "x"}, "y y", "outputs must name one node or more, each once"),
        ({"y": "x"}, [3], "outputs must be names, not 3"),
    ],
)
def test_what_is_no_graph_is_refused(nodes, outputs, message):
    with pytest.raises(InputError, match=message):
        Dag(nodes, outputs).formulas()
