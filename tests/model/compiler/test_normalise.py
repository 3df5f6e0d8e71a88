"""Normalise: one polynomial for one formula, with sums inside products as atoms."""

import pytest
from skinny.model.compiler.normalise import normalise
from skinny.model.errors import InputError
from skinny.model.formula.formula import operations, variables, weight
from skinny.model.formula.parse import parse_formula


def normalised(text):
    outputs = parse_formula(text)
    table, polynomials = normalise(outputs, operations(*outputs.values()))
    return table, polynomials["y"]


def test_the_example_of_the_page():
    table, polynomial = normalised("2*a*b^2 + a + (a - b)*a*c^2")
    assert table.names == ["a", "b", "c"]
    assert table.sums == [{((0, 1),): 1, ((1, 1),): -1}]
    assert polynomial == {((0, 1), (1, 2)): 2, ((0, 1),): 1, ((0, 1), (2, 2), (3, 1)): 1}


@pytest.mark.parametrize(
    "text", ["a + b + a", "2*a + b", "b + 2*a", "3*a - a + b*1", "(a + b) + a", "2*(a + b/2)", "-(-2*a - b)"]
)
def test_spellings_of_a_sum_are_one_polynomial(text):
    table, polynomial = normalised(text)
    assert {table.names[m[0][0]]: c for m, c in polynomial.items()} == {"a": 2, "b": 1}


def test_equal_sums_are_one_atom_whatever_their_scale():
    table, polynomial = normalised("(a + b)*c + (2*a + 2*b)*d + (-a - b)^3")
    assert len(table.sums) == 1
    assert sorted(polynomial.values()) == [-1, 1, 2]


def test_a_named_weight_times_a_linear_form_is_one_form():
    outputs = parse_formula("weight k = 1 in 0:2; weight m = 1 in 0:2; y = 3*k*(a - b) + (k + m)*a + k*a*b")
    table, polynomials = normalise(outputs, operations(*outputs.values()))
    names = {name: atom for atom, name in enumerate(table.names)}
    assert table.names[:4] == ["a", "b", "k", "m"]
    assert set(table.names[4:]) == {"k*a", "k*b", "m*a"}
    assert polynomials["y"] == {
        ((names["k*a"], 1),): 4,
        ((names["k*b"], 1),): -3,
        ((names["m*a"], 1),): 1,
        ((names["b"], 1), (names["k*a"], 1)): 1,
    }
    plain, polynomials = normalise(outputs, operations(*outputs.values()), attention=False)
    assert plain.names == ["a", "b", "k", "m"]


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        (weight("k", 1, 0, 2) * weight("k", 1, 0, 3), "the weight 'k' is defined in two ways"),
        (weight("k", 1, 0, 2) * variables("k")[0], "'k' is the name of an input and of a weight"),
    ],
)
def test_a_name_means_one_thing(formula, message):
    with pytest.raises(InputError, match=message):
        normalise({"y": formula}, operations(formula))
