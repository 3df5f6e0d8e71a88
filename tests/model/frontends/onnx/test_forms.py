"""Affine forms: their arithmetic, and what becomes a held value."""

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.formula.formula import formula_text, variables
from skinny.model.frontends.onnx.forms import NOTHING, Forms, Held, Numbers, claim, joined
from skinny.model.limits import Limits


def start(count):
    held = Held()
    return held, held.added(variables(" ".join(f"x{n}" for n in range(count))), (count,))


def matrix(forms, inputs):
    """The coefficients of the first ``inputs`` held values, and the offsets."""
    out = np.zeros((forms.size, inputs))
    for element in range(forms.size):
        for place in range(forms.starts[element], forms.starts[element + 1]):
            out[element, forms.values[place]] += forms.factors.values[place]
    return out, forms.offsets.values


def random_forms(rng, held, x, count):
    weights = rng.integers(-2, 3, (count, x.size)).astype(np.float64)
    offsets = rng.integers(-2, 3, count).astype(np.float64)
    forms = held.combined(x, x.places[None, :], Numbers.plain(weights), "any").scaled(1.0, Numbers.plain(offsets))
    return forms, weights, offsets


def test_arithmetic_is_that_of_matrices():
    rng = np.random.default_rng(0)
    for _ in range(20):
        held, x = start(4)
        a, wa, ba = random_forms(rng, held, x, 3)
        b, wb, bb = random_forms(rng, held, x, 3)
        for found, weights, offsets in (
            (a, wa, ba),
            (a.plus(b), wa + wb, ba + bb),
            (a.plus(a.scaled(-1)), 0 * wa, 0 * ba),
            (a.scaled(Numbers.plain(np.array([2, 0, -1])), 5), wa * [[2], [0], [-1]], ba * [2, 0, -1] + 5),
            (a.taken(np.array([2, NOTHING, 0])), np.array([wa[2], 0 * wa[0], wa[0]]), np.array([ba[2], 0, ba[0]])),
            (joined([a, b]), np.concatenate([wa, wb]), np.concatenate([ba, bb])),
        ):
            assert np.array_equal(matrix(found, 4)[0], weights)
            assert np.array_equal(matrix(found, 4)[1], offsets)
            assert (found.factors.values != 0).all()
            assert np.array_equal(found.lengths, (weights != 0).sum(axis=1))
        trivial = [
            (row != 0).sum() == 0 or ((row != 0).sum() == 1 and row.sum() == 1 and not end)
            for row, end in zip(wa, ba, strict=True)
        ]
        assert a.trivial.tolist() == trivial


def test_a_step_is_multiplied_out_where_that_is_no_longer():
    """Four values to ``middle`` to four: 16 products multiplied out, 8 times the middle if it is held."""
    rng = np.random.default_rng(1)
    for middle, layers in ((1, 1), (2, 0), (3, 0)):
        held, x = start(4)
        first, second = rng.uniform(1, 2, (middle, 4)), rng.uniform(1, 2, (4, middle))
        narrow = held.combined(x, x.places[None, :], held.weights(first), "first")
        out = held.combined(narrow, narrow.places[None, :], held.weights(second), "second")
        assert len(held.layers) == layers
        assert out.lengths.tolist() == ([middle] if layers else [4]) * 4
        if not layers:
            assert matrix(out, 4)[0] == pytest.approx(second @ first)


def test_a_tensor_is_held_once():
    held, x = start(3)
    wide = x.scaled(2.0)
    assert held.held(wide, "a") is held.held(wide, "b")
    assert held.held(x, "c") is x
    assert [layer.name for layer in held.layers] == ["a"]


def test_formulas_have_their_terms_in_order_and_the_offset_last():
    held, x = start(3)
    forms = held.combined(
        x, np.array([[2, 0, NOTHING, 1]]), Numbers.plain(np.array([[1.0, -0.5, 7, 3]])), "any"
    ).scaled(1.0, 0.25)
    assert [formula_text(formula) for formula in held.written(forms)] == ["(-1/2)*x0 + 3*x1 + x2 + 1/4"]
    assert [formula_text(formula) for formula in held.written(Forms.of_numbers(Numbers.plain(np.array([0.0, 2]))))] == [
        "0",
        "2",
    ]


def test_what_cannot_be_negative():
    """Sums of values that cannot be; not what only the values of weights tell."""
    held, x = start(2)
    square = held.applied(x, lambda one: one**2, "square", positive=True)
    other = held.relu(x, "relu")
    assert held.positive(square.plus(other)).all()
    assert held.relu(other, "again") is not x
    assert len(held.layers) == 2
    for forms in (square.scaled(2.0), square.scaled(1.0, 1.0), square.scaled(-1.0), x, square.plus(x)):
        assert not held.positive(forms).any()
    numbers = Forms.of_numbers(Numbers.plain(np.array([2.0, -1.0, 0.0])))
    assert held.relu(numbers, "numbers").numbers.tolist() == [2, 0, 0]
    assert numbers.numbers.tolist() == [2, -1, 0]
    assert len(held.layers) == 2


def constants(formulas):
    return [arg for formula in formulas for node in formula.args for arg in node.args if arg.kind == "constant"]


def test_weights_are_constants_of_their_own():
    """Equal ones of different places are different constants; those of the same place are one, whatever is folded."""
    held, x = start(4)
    windows = np.array([[0, 1], [1, 2], [2, 3]])
    kernel = held.weights(np.array([0.5, 0.5]))
    scale = held.weights(np.array([[3.0]]).repeat(2, 0))
    forms = held.combined(x, windows, kernel, "conv").scaled(3.0).scaled(1.0, 0.0)
    found = constants(held.written(forms))
    assert [node.value for node in found] == [1.5] * 6
    assert len({id(node) for node in found}) == 2
    stacked = joined([forms, forms]).reshape((2, 3)).scaled(scale)
    assert len({id(node) for node in constants(held.written(stacked))}) == 4
    again = held.combined(x, windows, Numbers.plain(np.array([0.5, 0.5])), "mean")
    assert len({id(node) for node in constants(held.written(again))}) == 1


def test_the_largest_of_elements():
    held, x = start(3)
    out = held.largest(x, np.array([[0, NOTHING, 2], [1, NOTHING, NOTHING]]), "max")
    texts = [formula_text(formula) for formula in held.written(out)]
    assert texts[0] in ("x2 + relu(x0 - x2)", "x2 + relu(x0 + (-1)*x2)")
    assert texts[1] == "x1"
    with pytest.raises(InputError, match="a window lies outside of the tensor"):
        held.largest(x, np.array([[NOTHING]]), "max")


def test_too_many_entries_are_refused():
    with Limits(memory=1 << 20).applied():
        claim(8000)
        with pytest.raises(
            InputError, match="9,000 entries are more than the limit, 8,192: --limit memory=SIZE raises it"
        ):
            claim(9000)
        held, x = start(100)
        with pytest.raises(InputError, match="10,000 entries"):
            held.combined(x, x.places[None, :], Numbers.plain(np.ones((100, 100))), "dense")
