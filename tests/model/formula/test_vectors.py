"""Vectors and matrices: random formulas have the values that numpy gives for fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skinny.model.formula.formula import Formula, constant, evaluate
from skinny.model.formula.parse import parse_formula
from skinny.model.formula.vectors import ShapeError, Vector, constants, dot, picked, shape, shape_text, size, summed
from skinny.model.rings import Exact

F = Fraction
#: Inputs: the vectors x and u1 (whose name ends in a digit), and a number.
X, U, A = [F(2), F(-3), F(5, 7)], [F(1, 2), F(0), F(-4)], F(3, 2)
POINT = {**{f"x{i}": v for i, v in enumerate(X)}, **{f"u1_{i}": v for i, v in enumerate(U)}, "a": A}


def array(values):
    out = np.empty(np.shape(values), dtype=object)
    out[...] = values
    return out


def values(text):
    lanes = {name: np.array([number], dtype=object) for name, number in POINT.items()}
    return [evaluate(formula, lanes, Exact())[0] for formula in parse_formula(text).values()]


def literal(numbers):
    return "[" + ", ".join(literal(n) if isinstance(n, list) else str(n) for n in numbers) + "]"


def numbers(count):
    return st.lists(st.fractions(-3, 3, max_denominator=4), min_size=count, max_size=count)


def vectors():
    """Texts of vectors of three with the array that numpy computes."""
    leaf = st.sampled_from([("x[0:3]", array(X)), ("u1[0:3]", array(U)), ("[x[2], a, x[0]]", array([X[2], A, X[0]]))])
    leaf |= numbers(3).map(lambda n: (literal(n), array(n)))

    def grow(inner):
        def joined(operator, left, right):
            (lt, lv), (rt, rv) = left, right
            return f"({lt}) {operator} ({rt})", {"+": lv + rv, "-": lv - rv, "*": lv * rv}[operator]

        matrices = st.lists(numbers(3), min_size=3, max_size=3)
        number = inner.map(lambda v: (f"sum({v[0]})", v[1].sum()))
        number |= st.builds(lambda v, w: (f"dot({v[0]}, {w[0]})", v[1].dot(w[1])), inner, inner)
        number |= inner.map(lambda v: (f"({v[0]})[1]", v[1][1]))
        return (
            st.builds(joined, st.sampled_from("+-*"), inner, inner)
            | st.builds(joined, st.sampled_from("+-*"), inner, number)
            | st.builds(joined, st.sampled_from("+-*"), number, inner)
            | st.builds(lambda m, v: (f"dot({literal(m)}, {v[0]})", array(m).dot(v[1])), matrices, inner)
            | st.builds(lambda m, v: (f"dot({v[0]}, {literal(m)})", v[1].dot(array(m))), matrices, inner)
            | inner.map(lambda v: (f"-({v[0]})/2", -v[1] / 2))
            | inner.map(lambda v: (f"({v[0]})^2", v[1] ** 2))
            | inner.map(lambda v: (f"sum(({v[0]})[1:3])*[1, 0, 1]", v[1][1:].sum() * array([F(1), F(0), F(1)])))
        )

    return st.recursive(leaf, grow, max_leaves=6)


@settings(max_examples=60, deadline=None)
@given(vectors())
def test_random_vector_formulas_have_the_values_of_numpy(case):
    text, expected = case
    assert values(f"y = {text}") == list(expected)


@settings(max_examples=30, deadline=None)
@given(st.data(), st.integers(1, 4), st.integers(1, 4), st.integers(1, 4))
def test_products_of_matrices_are_those_of_numpy(data, rows, inner, columns):
    left = data.draw(st.lists(numbers(inner), min_size=rows, max_size=rows))
    right = data.draw(st.lists(numbers(columns), min_size=inner, max_size=inner))
    found = dot(constants(left), constants(right))
    expected = array(left).dot(array(right))
    assert shape(found) == expected.shape
    assert [[evaluate(item, {}, Exact())[0] for item in row.items] for row in found.items] == expected.tolist()
    first, last = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(1, columns))
    text = f"let M = {literal(left)}; y = dot(M, {literal(right)})[{first}, 0:{last}]"
    assert values(text) == list(expected[first, :last])
    assert values(f"y = sum(({literal(left)})[{first}:])") == [array(left)[first:].sum()]


def test_shapes():
    number, vector, matrix = constant(1), constants([1, 2]), constants([[1, 2, 3], [4, 5, 6]])
    assert [shape(value) for value in (number, vector, matrix)] == [(), (2,), (2, 3)]
    assert [size(value) for value in (number, vector, matrix)] == [1, 2, 6]
    assert [shape_text(value) for value in (number, vector, matrix)] == [
        "a single number",
        "a vector of 2",
        "a matrix of 2 rows and 3 columns",
    ]
    assert isinstance(summed(matrix), Formula)
    assert shape(picked(matrix, [(None, None), 1])) == (2,)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda v, m: Vector([m, m]), "a list of matrices"),
        (lambda v, m: Vector([v, constant(1)]), "the elements of a list must be alike"),
        (lambda v, m: dot(m, v), "dot of a matrix of 2 rows and 3 columns and a vector of 2: 3 elements cannot meet 2"),
        (lambda v, m: dot(v, constant(2)), "dot takes vectors and matrices"),
        (lambda v, m: summed(constant(2)), "sum takes a vector"),
        (lambda v, m: picked(v, [2]), "there is no element 2: a vector of 2 has 0 to 1"),
        (lambda v, m: picked(v, [(1, 1)]), "there are no elements 1:1"),
        (lambda v, m: picked(v, [0, 0]), "a single number has no elements"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(wrong, message):
    with pytest.raises(ShapeError) as caught:
        wrong(constants([1, 2]), constants([[1, 2, 3], [4, 5, 6]]))
    assert str(caught.value).startswith(message)
