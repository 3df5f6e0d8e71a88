"""Functions in formulas: the known ones, callables and tables, and what is refused."""

from fractions import Fraction

import pytest
from skinny.model.errors import InputError
from skinny.model.formula.formula import formula_text, variables
from skinny.model.formula.function import FUNCTIONS, Sampled, apply


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_known_function_is_a_node(name):
    (x,) = variables("x")
    node = apply(name, x)
    assert (node.kind, node.value, node.args) == ("function", name, (x,))


def test_a_number_is_an_argument_too():
    assert apply("exp", 0.5).args[0].value == Fraction(1, 2)


def test_a_callable_is_called_by_its_name():
    (x,) = variables("x")

    def response(value):
        return value

    assert formula_text(Sampled(response)(2 * x)) == "response(2*x)"
    assert formula_text(Sampled(lambda value: value)(x)) == "lambda(x)"
    assert formula_text(Sampled(response, "probe")(x) + 1) == "probe(x) + 1"


def test_a_table_keeps_its_points():
    table = Sampled([(0, 1), (0.5, 2), (Fraction(3, 4), -1)])
    assert table.points == ((0, 1), (Fraction(1, 2), 2), (Fraction(3, 4), -1))
    assert formula_text(table(variables("x")[0])) == "table(x)"


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([(0, 1), (1, 2)], "a table needs at least 3 points, not 2"),
        ([], "a table needs at least 3 points, not 0"),
        ([(0, 1), (1, 2), (1, 3)], "the points of a table must rise, but 1 stands twice: sort them"),
        ([(0, 1), (2, 2), (1.5, 3)], "the points of a table must rise, but 1.5 stands after 2: sort them"),
        ([1, 2, 3], "a table must be pairs of numbers, such as [(0, 1), (0.5, 1.2), (1, 1.7)]"),
        (3, "a table must be pairs of numbers, such as [(0, 1), (0.5, 1.2), (1, 1.7)]"),
        ([(0, 1), (1, float("nan")), (2, 3)], "a number must be finite, not nan"),
    ],
)
def test_a_table_that_is_none_is_refused(points, message):
    with pytest.raises(InputError) as caught:
        Sampled(points)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sine", "there is no function 'sine'; 'def sine.t. = t.t' defines one, and there are sin, "),
        ("max", r"there is no function 'max': max\(a, b\) is b \+ relu\(a - b\), with --keep none$"),
    ],
)
def test_an_unknown_function_is_refused_with_the_known_ones(name, message):
    with pytest.raises(InputError, match="^" + message):
        apply(name, 1)
