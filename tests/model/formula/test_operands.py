"""Operands: vectors of inputs, windows of samples, numbers of files, and the names that stand for them."""

from fractions import Fraction

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.formula.formula import formula_text, postorder
from skinny.model.formula.parse import parse_definitions, parse_formula
from skinny.model.named_weight import NamedWeight


def texts(text):
    return {name: formula_text(formula) for name, formula in parse_formula(text).items()}


def inputs(text):
    return [node.value for node in postorder(*parse_formula(text).values()) if node.kind == "variable"]


def test_elements_are_inputs_with_names():
    assert texts("y = x[3] + x3 + h1[0]") == {"y": "x3 + x3 + h1_0"}
    assert texts("y = sum(x[0:3]) - sum(x[1:3]) + x[2]") == {"y": "x0 + x1 + x2 - (x1 + x2) + x2"}
    assert texts("y = x[:2]; z = x*2") == {"y0": "x0", "y1": "x1", "z0": "x0*2", "z1": "x1*2"}


def test_a_vector_of_inputs_takes_the_length_that_fits():
    assert inputs("y = dot([1, 2, 3], x)") == ["x0", "x1", "x2"]
    assert inputs("y = dot(v, [[1, 2], [3, 4], [5, 6]])") == ["v0", "v1", "v2"]
    assert inputs("def f(w, v) = dot(w, v) + sum(v); y = f([1, 2], x)") == ["x0", "x1"]
    assert inputs("def f(v) = dot(v, [1, 2]) + dot(v, v); y = f(x) + f(x)") == ["x0", "x1"]
    assert inputs("def f(a, b) = a*b; y = f(p, q)") == ["p", "q"]


def test_windows_are_vectors_of_samples():
    found = parse_definitions("y = dot([1/2, 1/3, 1/4], x[t:t-3])")
    assert formula_text(found.outputs["y"]) == "1/2*x + 1/3*x[t-1] + 1/4*x[t-2]"
    assert (found.samples, found.lag) == (("x",), 2)
    found = parse_definitions("y = sum(x[0:2][t-1]) + x[1][t-3]; z = x[t-2:t-4][1]")
    assert formula_text(found.outputs["y"]) == "x0[t-1] + x1[t-1] + x1[t-3]"
    assert list(found.outputs) == ["y", "z0", "z1"]
    assert formula_text(found.outputs["z1"]) == "x1[t-3]"
    assert found.samples == ("x0", "x1")
    found = parse_definitions("def change(s) = s - s[t-1]; y = change(x)")
    assert formula_text(found.outputs["y"]) == "x - x[t-1]"


def test_vectors_of_states_and_weights():
    found = parse_definitions(
        "state h[0:2] = [1, -1/2]; next h = dot([[1, 2], [3, 4]], h) + x\nweight w[0:2] = 0.5 in -1:1; y = dot(w, h)"
    )
    assert [(state.name, state.start, formula_text(state.next)) for state in found.states] == [
        ("h0", 1, "1*h0 + 2*h1 + x"),
        ("h1", Fraction(-1, 2), "3*h0 + 4*h1 + x"),
    ]
    weights = [node.value for node in postorder(found.outputs["y"]) if node.kind == "weight"]
    assert weights == [NamedWeight(f"w{i}", Fraction(1, 2), Fraction(-1), Fraction(1)) for i in range(2)]


def test_numbers_of_files(tmp_path):
    np.save(tmp_path / "W.npy", [[1, 2], [3, 4]])
    (tmp_path / "b c.csv").write_text("0.5\n-1/3\n")
    found = parse_definitions('y = dot(@W.npy, x) + @"b c.csv"', str(tmp_path)).outputs
    assert {name: formula_text(formula) for name, formula in found.items()} == {
        "y0": "1*x0 + 2*x1 + 1/2",
        "y1": "3*x0 + 4*x1 + (-1/3)",
    }
    found = parse_definitions('weight w[0:2] = @"b c.csv" in -1:1; y = w[1]*@W.npy[1, 0]', str(tmp_path)).outputs
    assert formula_text(found["y"]) == "w1*3"


MALFORMED = [
    ("y = x[0] + x", "how long is 'x'? Name it as x[0:16] once before"),
    ("y = x + x[0]", "'x' is a single input, not a vector"),
    ("y = x[0:2] + x[2]", "'x' has 2 elements, x[0] to x[1]"),
    ("y = x[2:]", "how long is 'x'?"),
    ("y = x[2:2]", "there are no elements 2:2"),
    ("y = x[0:100000]", "a vector has 65,536 elements at most"),
    ("y = x[-1]", "indices count from 0 on"),
    ("y = x[1.5]", "an index is a whole number from 0 on, as in x[3] or x[0:16]"),
    ("y = x[]", "an index is a whole number from 0 on"),
    ("y = x[i]", "an index is a whole number from 0 on"),
    ("y = x[0:2", "this bracket is never closed"),
    ("y = x[0, 1]", "the inputs x are a vector, so they have one index"),
    ("y = x[99999999999]", "this index is too large"),
    ("let x1 = a; y = x[1]", "x[1] is the input 'x1', but 'x1' was defined before"),
    ("let h = [a, b]; y = h1", "'h' is a vector that was computed"),
    ("let s = a; y = s[0]", "a single number has no elements"),
    ("let s = 2*a; y = s[t-1]", "only inputs can be read at an earlier time, and 's' is none"),
    ("y = (a + b)[t-1]", "only inputs can be read at an earlier time"),
    ("y = x[t-1:t]", "the newest sample comes first"),
    ("y = x[t:t-5000]", "a sample can be at most 4,095 back"),
    ("y = dot(w, x)", "how long is 'w'? Write w[0:16]"),
    ("y = dot(w, 2)", "how long is 'w'? Write w[0:16]"),
    ("y = sum(x)", "sum takes a vector, not a single number"),
    ("y = @none.npy", "none.npy"),
    ("y = @none", "a file of numbers is written like @W.npy"),
    ('y = @"none"', "a file of numbers is written like @W.npy"),
    ("y = [[1, 2], [3, 4]]", "an output is a number or a vector, not a matrix of 2 rows and 2 columns"),
    ("y0 = 3; y = [a, b]", "'y0' is defined twice"),
    ("y = [a, y1]", "'y1' is defined after it was used as an input"),
    ("state h[0:2] = 0; next h = 3; y = h", "'h' is a vector of 2, but its next value is a single number"),
    ("state h[0:2] = [1, 2, 3]; next h = h; y = h", "expected 2 numbers, found 3"),
    ("state h[2] = 0; next h = h; y = h", "a vector of 16 is written h[0:16]"),
    ("state h[0:2] = [1, 2; next h = h; y = h", "this bracket is never closed"),
    ("state h[0:2] = 0; y = h", "the state 'h0' has no 'next h0 = …'"),
    ("weight w[0:2] = 5 in 0:1; y = dot(w, x)", "weight w0"),
    ("weight w[0:2] 5 in 0:1; y = dot(w, x)", "a weight is written like 'weight w = 0.8 in 0:2'; expected '='"),
    ("let h[0:2] = x; y = h", "'let h = …' defines a vector, without its length"),
    ("let s = s + 1; y = s", "'s' has no value yet where its own definition uses it"),
    ("y = 2*y", "'y' has no value yet where its own definition uses it"),
    ("let v = dot([1, 2], v); y = v", "'v' has no value yet where its own definition uses it"),
]


@pytest.mark.parametrize(("text", "message"), MALFORMED)
def test_what_means_nothing_is_refused(text, message):
    with pytest.raises(InputError) as caught:
        parse_definitions(text)
    first, *shown = str(caught.value).split("\n")
    assert first.startswith(message)
    assert len(first) < 200
    assert len(shown) in (0, 2)
