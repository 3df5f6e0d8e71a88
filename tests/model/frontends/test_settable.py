"""Programs whose weights are the constants of their formulas, each in its place."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.formula.formula import constant, evaluate, postorder, product, total, variables
from skinny.model.formula.function import apply
from skinny.model.frontends.imported import Layer
from skinny.model.frontends.settable import compile_settable, constant_nodes, refilled, same_shape
from skinny.model.rings import Exact, Real
from skinny.model.run.golden import run

NAMES = ("x", "y")
X, Y = variables("x y")


def network(weights):
    """Two neurons with relu and two outputs: twelve constants."""
    w = [constant(value) for value in weights]
    hidden = [
        apply("relu", total([product([w[3 * n], X]), product([w[3 * n + 1], Y]), w[3 * n + 2]])) for n in range(2)
    ]
    return {
        f"s{n}": total([product([w[6 + 3 * n + j], hidden[j]]) for j in range(2)] + [w[8 + 3 * n]]) for n in range(2)
    }


def drawn(seed):
    return [Fraction(int(value), 64) for value in np.random.default_rng(seed).integers(2, 500, 12)]


def outputs(program, points):
    return run(program, Exact(), Exact().encode_all(points)).outputs.tolist()


def wanted(formulas, points):
    out = []
    for x, y in points:
        values = {"x": Exact().encode_all([x]), "y": Exact().encode_all([y])}
        out.append([evaluate(formula, values, Exact())[0] for formula in formulas.values()])
    return out


POINTS = [(Fraction(1, 2), Fraction(-3)), (Fraction(-2), Fraction(5, 4))]


def test_new_constants_give_what_compiling_again_gives():
    before, after = network(drawn(1)), network(drawn(2))
    compiled, slots = compile_settable(before, NAMES, 16, frozenset())
    program = compiled.program
    assert outputs(program, POINTS) == wanted(before, POINTS)
    changed = refilled(program, slots, before, after, frozenset())
    assert outputs(changed, POINTS) == wanted(after, POINTS)
    assert changed.forms == program.forms
    assert changed.weights != program.weights
    assert all((a == b).all() for a, b in zip(changed.code.arrays(), program.code.arrays(), strict=True))
    zeros = network([Fraction(0), *drawn(2)[1:]])
    assert outputs(refilled(program, slots, before, zeros, frozenset()), POINTS) == wanted(zeros, POINTS)


def test_equal_constants_do_not_share_a_word_unless_they_are_one_node():
    shared = constant(3)
    apart = {"y": total([product([constant(3), X]), product([constant(3), Y]), constant(5)])}
    one = {"y": total([product([shared, X]), product([shared, Y]), constant(5)])}
    assert len(constant_nodes(apart)) == 3
    assert len(constant_nodes(one)) == 2
    counts = [len(compile_settable(given, NAMES, 3, frozenset())[0].program.weights) for given in (apart, one)]
    assert counts == [3, 2]


def test_weights_that_are_made_of_two_constants_are_compiled_again():
    """With one reader a sum is multiplied out, so that w·(a·x² + b) has the weights w·a and w·b."""

    def formula(a, b, w):
        return {"y": product([constant(w), total([product([constant(a), X**2]), constant(b)])])}

    before, after = formula(3, 5, 7), formula(4, 9, 11)
    compiled, slots = compile_settable(before, NAMES, 8, frozenset())
    assert slots is None
    changed = refilled(compiled.program, slots, before, after, frozenset())
    rows = np.array([[2.0]])
    assert run(compiled.program, Real(), rows).outputs.tolist() == [[7 * (3 * 4 + 5)]]
    assert run(changed, Real(), rows).outputs.tolist() == [[11 * (4 * 4 + 9)]]
    with pytest.raises(InputError, match="other weights give other instructions, as several became one"):
        refilled(compiled.program, slots, before, formula(4, 9, 0), frozenset())


def test_constants_that_instructions_were_chosen_for_stay():
    before = {"y": total([product([constant(-1), X]), product([constant(3), Y])])}
    compiled, slots = compile_settable(before, NAMES, 8, frozenset())
    after = {"y": total([product([constant(2), X]), product([constant(3), Y])])}
    assert not same_shape(before, after)
    with pytest.raises(InputError, match="a weight was -1 when the program was compiled and became 2: compile"):
        refilled(compiled.program, slots, before, after, frozenset())
    layers = [Layer("scores", tuple(after.values()))]
    with pytest.raises(InputError, match="scores: the weight of x was -1 when the program was compiled and"):
        refilled(compiled.program, slots, before, after, frozenset(), layers)


def test_a_weight_that_is_zero_has_a_word_of_its_own():
    before = network([Fraction(0), *drawn(1)[1:]])
    compiled, slots = compile_settable(before, NAMES, 16, frozenset())
    assert outputs(compiled.program, POINTS) == wanted(before, POINTS)
    after = network(drawn(2))
    changed = refilled(compiled.program, slots, before, after, frozenset())
    assert outputs(changed, POINTS) == wanted(after, POINTS)
    # And a weight that became one stays settable.
    one = network([Fraction(1), *drawn(2)[1:]])
    assert outputs(refilled(changed, slots, after, one, frozenset()), POINTS) == wanted(one, POINTS)
    assert outputs(refilled(changed, slots, one, after, frozenset()), POINTS) == wanted(after, POINTS)


def test_a_weight_that_the_format_does_not_hold_is_named():
    before, after = network(drawn(1)), network([Fraction(100), *drawn(2)[1:]])
    compiled, slots = compile_settable(before, NAMES, 16, frozenset())
    layers = [Layer("hidden layer 1", tuple(node for node in postorder(*after.values()) if node.kind == "relu"))]
    with pytest.raises(InputError, match=r"^hidden layer 1: the weight of x is 100 now and does not fit fixed:12\.8"):
        refilled(replace(compiled.program, ring="fixed:12.8"), slots, before, after, frozenset(), layers)


def test_shapes_know_structure_and_names():
    assert same_shape(network(drawn(1)), network(drawn(2)))
    assert not same_shape({"y": X + 2}, {"y": Y + 2})
    assert not same_shape({"y": X + 2}, {"y": X * 2})
    assert not same_shape({"y": X + 2}, {"z": X + 2})


def test_what_does_not_fit_the_registers_is_refused():
    with pytest.raises(InputError, match="the model does not fit 3 registers"):
        compile_settable(network(drawn(1)) | {"z": total([X**5, Y**7])}, NAMES, 3, frozenset())
