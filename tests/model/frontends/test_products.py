"""Product layers and attention without softmax against numpy, in whole numbers."""

import numpy as np
import pytest
from skinny.model.compiler.pipeline import compile_formula
from skinny.model.errors import InputError
from skinny.model.formula.formula import variables
from skinny.model.frontends.products import LinearAttention, ProductLayer
from skinny.model.rings import Exact
from skinny.model.run.golden import run

RNG = np.random.default_rng(0)


def whole(*shape):
    return RNG.integers(-3, 4, shape)


def ref_product(matrices, x):
    return np.prod([np.asarray(w, dtype=object) @ x for w in matrices], axis=0)


def ref_attention(tokens, queries, keys, values, x):
    rows = x.reshape(tokens, -1)
    return ((rows @ queries.T) @ (rows @ keys.T).T @ (rows @ values.T)).reshape(-1)


def run_layer(layer, rows):
    """The outputs of the compiled program for rows of inputs."""
    written = layer.written()
    program = compile_formula(written.outputs, width=64, keep=frozenset(), inputs=written.inputs).program
    read = [written.inputs.index(name) for name in program.inputs]
    elements = np.frompyfunc(Exact().encode, 1, 1)(rows[:, read].astype(object))
    return run(program, Exact(), elements).outputs


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_a_product_layer_is_that_of_numpy(degree):
    matrices = whole(degree, 2, 3)
    layer = ProductLayer(matrices)
    assert (layer.degree, layer.inputs, layer.outputs) == (degree, 3, 2)
    rows = whole(5, 3)
    wanted = [ref_product(matrices, row).tolist() for row in rows]
    assert [layer(row.tolist()) for row in rows] == wanted
    assert run_layer(layer, rows).tolist() == wanted


@pytest.mark.parametrize(("tokens", "inner", "out"), [(3, 2, 2), (2, 3, 4), (6, 1, 1)], ids=["even", "few", "many"])
def test_attention_is_that_of_numpy(tokens, inner, out):
    queries, keys, values = whole(inner, 2), whole(inner, 2), whole(out, 2)
    layer = LinearAttention(tokens, queries, keys, values)
    assert (layer.degree, layer.inputs, layer.outputs) == (3, 2 * tokens, out * tokens)
    rows = whole(4, 2 * tokens)
    wanted = [ref_attention(tokens, queries, keys, values, row).tolist() for row in rows]
    assert [layer(row.tolist()) for row in rows] == wanted
    assert run_layer(layer, rows).tolist() == wanted


def test_the_order_of_products_follows_the_sizes():
    few, many = LinearAttention(2, *whole(3, 3, 4)), LinearAttention(9, *whole(3, 2, 4))
    assert (few._few_tokens, many._few_tokens) == (True, False)


def test_heads_are_added():
    queries, keys, values = whole(2, 2, 3), whole(2, 2, 3), whole(2, 1, 3)
    x = whole(6)
    wanted = sum(ref_attention(2, q, k, v, x) for q, k, v in zip(queries, keys, values, strict=True))
    assert LinearAttention(2, queries, keys, values)(x.tolist()) == wanted.tolist()


def test_layers_are_put_behind_each_other():
    first, second = whole(2, 2, 3), whole(3, 2, 2)
    both = ProductLayer(second) @ ProductLayer(first)
    assert (both.inputs, both.outputs, both.degree) == (3, 2, 6)
    rows = whole(4, 3)
    wanted = [ref_product(second, ref_product(first, row)).tolist() for row in rows]
    assert run_layer(both, rows).tolist() == wanted
    attention = LinearAttention(2, *whole(3, 2, 2)) @ ProductLayer(whole(2, 4, 3))
    assert attention.degree == 6
    assert repr(attention) == "<Polynomial layer, 3 to 4 values of degree 6>"
    assert run_layer(attention, rows).tolist() == [attention(row.tolist()) for row in rows]


def test_formulas_go_in_and_come_out():
    (a,) = variables("a")
    layer = ProductLayer([[[1, 2]], [[0, 1]]])
    assert repr(layer([a, 3])) == "[3*(a + 6)]"
    assert layer([1, 3]) == [21]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ProductLayer([[1, 2]]), r"matrices must be matrices of one shape, not an array of the shape \(1, 2\)"),
        (lambda: ProductLayer([[[1, 2]], [[1]]]), "matrices must be matrices of one shape"),
        (lambda: ProductLayer([[[float("nan")]]]), "a number must be finite, not nan"),
        (lambda: ProductLayer([[[1, 2]]])([1]), "the layer takes 2 values, not 1"),
        (lambda: ProductLayer([[[1, 2]]]) @ ProductLayer([[[1, 2]]]), "takes 2 values stands behind one of 1"),
        (lambda: LinearAttention(0, [[1]], [[1]], [[1]]), "attention needs 1 token or more, not 0"),
        (lambda: LinearAttention(2, [[1]], [[1, 2]], [[1]]), r"keys must have the shape of queries, \(1, 1, 1\)"),
        (lambda: LinearAttention(2, [[1]], [[1]], [[1, 2]]), r"values must have the shape \(1, …, 1\)"),
    ],
)
def test_what_fits_nothing_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
