"""Formulas: operators, builders, facts and the reference evaluation."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skinny.model.errors import InputError
from skinny.model.formula.formula import (
    CEILING,
    Formula,
    constant,
    evaluate,
    facts,
    formula_text,
    operations,
    postorder,
    product,
    total,
    variables,
)
from skinny.model.formula.parse import parse_formula
from skinny.model.rings import Boolean, Exact, Modular

NAMES = ("x", "y", "z")

#: Trees as nested tuples, so that references need nothing of the code under test.
TREES = st.recursive(
    st.sampled_from(NAMES) | st.fractions(-5, 5, max_denominator=6),
    lambda inner: (
        st.tuples(st.sampled_from(["sum", "product"]), st.lists(inner, min_size=1, max_size=4).map(tuple))
        | st.tuples(st.just("power"), inner, st.integers(0, 4))
    ),
    max_leaves=15,
)


def build(tree):
    match tree:
        case str():
            return Formula("variable", value=tree)
        case ("power", base, exponent):
            return build(base) ** exponent
        case ("sum", terms):
            return total(map(build, terms))
        case ("product", factors):
            return product(map(build, factors))
        case _:
            return constant(tree)


def ref_value(tree, point):
    match tree:
        case str():
            return point[tree]
        case ("power", base, exponent):
            return ref_value(base, point) ** exponent
        case ("sum", terms):
            return sum((ref_value(term, point) for term in terms), Fraction(0))
        case ("product", factors):
            out = Fraction(1)
            for factor in factors:
                out *= ref_value(factor, point)
            return out
        case _:
            return tree


def ref_degree(tree):
    match tree:
        case str():
            return 1
        case ("power", base, exponent):
            return ref_degree(base) * exponent
        case ("sum", terms):
            return max(map(ref_degree, terms))
        case ("product", factors):
            return sum(map(ref_degree, factors))
        case _:
            return 0


def ref_length_and_depth(items, kind):
    """Ben-Or and Cleve on a balanced tree over ``items``, each ``(length, depth)``."""
    if len(items) == 1:
        return items[0]
    half = len(items) // 2
    (ll, ld), (rl, rd) = ref_length_and_depth(items[:half], kind), ref_length_and_depth(items[half:], kind)
    return (ll + rl) * (1 if kind == "sum" else 2), max(ld, rd) + 1


@given(TREES, st.tuples(*[st.fractions(-9, 9, max_denominator=9)] * 3))
def test_evaluation_is_arithmetic(tree, numbers):
    point = dict(zip(NAMES, numbers, strict=True))
    lanes = {name: np.array([number], dtype=object) for name, number in point.items()}
    assert evaluate(build(tree), lanes, Exact())[0] == ref_value(tree, point)


@given(TREES)
def test_degree_is_the_written_degree(tree):
    assert facts(build(tree)).degree == ref_degree(tree)


def test_operators_build_what_they_say():
    x, y = variables("x y")
    point = {"x": Fraction(7), "y": Fraction(-2, 3)}
    lanes = {name: np.array([number], dtype=object) for name, number in point.items()}
    a, b = point.values()
    for formula, expected in [
        (x + y, a + b),
        (x + 2, a + 2),
        (2 + x, a + 2),
        (x - y, a - b),
        (x - 2, a - 2),
        (2 - x, 2 - a),
        (-x, -a),
        (x * y, a * b),
        (3 * x, 3 * a),
        (x * 0.5, a / 2),
        (x / 4, a / 4),
        (x / Fraction(2, 3), a * 3 / 2),
        ((x + 2 * y) ** 3, (a + 2 * b) ** 3),
        (x**0, 1),
    ]:
        assert evaluate(formula, lanes, Exact())[0] == expected


def test_bad_arguments_are_refused():
    (x,) = variables("x")
    for wrong in (lambda: x**-1, lambda: x**0.5, lambda: x / 0, lambda: x + float("nan"), lambda: x * float("inf")):
        with pytest.raises(InputError):
            wrong()


def test_evaluation_wraps_and_packs_as_the_ring_does():
    x, y = variables("x y")
    formula = x * y + x + 1
    ring = Modular(8)
    pairs = [(p, q) for p in range(-128, 128, 17) for q in range(-128, 128, 13)]
    columns = np.array(pairs).T
    lanes = dict(zip("xy", ring.pack(columns), strict=True))
    expected = [(p * q + p + 1 + 128) % 256 - 128 for p, q in pairs]
    assert ring.unpack(evaluate(formula, lanes, ring), len(pairs)).tolist() == expected
    bits = np.array([[0, 0, 1, 1] * 40, [0, 1, 0, 1] * 40])
    lanes = dict(zip("xy", Boolean().pack(bits), strict=True))
    found = Boolean().unpack(evaluate(formula, lanes, Boolean()), 160)
    assert found.tolist() == [(p & q) ^ p ^ 1 for p, q in bits.T.tolist()]


def test_shared_nodes_are_visited_once():
    (x,) = variables("x")
    node = x
    for _ in range(200):  # 2^200 leaves as a tree
        node = node + node
    assert len(list(postorder(node))) == 201
    assert facts(node).textbook == CEILING
    assert evaluate(node, {"x": np.array([Fraction(3)], dtype=object)}, Exact())[0] == 3 << 200


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 16, 31])
@pytest.mark.parametrize("kind", ["sum", "product"])
def test_chains_count_as_balanced(count, kind):
    names = variables(" ".join(f"x{n}" for n in range(count)))
    chain = names[0]
    for name in names[1:]:
        chain = chain + name if kind == "sum" else chain * name
    length, depth = ref_length_and_depth([(1, 0)] * count, kind)
    for formula in (chain, (total if kind == "sum" else product)(names)):
        found = facts(formula)
        assert (found.textbook, found.depth, found.leaves) == (length, depth, count)
        assert found.bound == 4**depth
        assert found.degree == (1 if kind == "sum" else count)
        assert found.variables == tuple(f"x{n}" for n in range(count))


def test_textbook_lengths_of_the_theory():
    x = variables(" ".join(f"x{n}" for n in range(8)))
    assert facts(product(x)).textbook == 64
    (z,) = variables("z")
    horner = constant(1)
    for n in range(15):
        horner = constant(n + 2) + z * horner
    # l(0) = 1, l(d) = 1 + 2·(1 + l(d-1)): 2^(d+2) - 3
    assert facts(horner).textbook == 2**17 - 3 == 131_069
    assert facts(horner).depth == 30
    assert facts(horner).bound == 4**30


def test_signs_are_free_and_powers_are_products():
    x, y = variables("x y")
    assert facts(x - y).textbook == 2
    assert facts(-(x * y)).textbook == 4
    assert facts(-(x * y)).depth == 1
    for exponent in (1, 2, 3, 4, 5, 8, 13):
        length, depth = ref_length_and_depth([(1, 0)] * exponent, "product")
        found = facts(x**exponent)
        assert (found.textbook, found.depth, found.leaves, found.degree) == (length, depth, exponent, exponent)


def test_facts_of_several_outputs_add_up():
    x, y = variables("x y")
    found = facts(x * y, x + y, x**3)
    # 4, 2, and the balanced cube 2·(1 + 4)
    assert found.textbook == 4 + 2 + 10
    assert found.leaves == 2 + 2 + 3
    assert found.degree == 3
    assert found.depth == 2
    assert found.variables == ("x", "y")


def test_facts_beyond_the_ceiling_are_cut():
    (x,) = variables("x")
    node = x
    for _ in range(300):
        node = node * x + 1
    found = facts(node)
    assert found.textbook == CEILING
    assert found.bound == CEILING
    assert found.degree == 301


def test_a_million_terms():
    x = variables(" ".join(f"x{n}" for n in range(64)))
    found = facts(total(x[n % 64] for n in range(1_000_000)))
    assert (found.leaves, found.textbook, found.degree) == (1_000_000, 1_000_000, 1)
    assert found.depth == 20  # 2^19 < 10^6 <= 2^20


def test_deep_chains_need_no_recursion():
    x, y = variables("x y")
    node = x
    for _ in range(100_000):
        node = node * y + x
    ring = Modular(16)
    lanes = {"x": np.array([3], np.uint16), "y": np.array([5], np.uint16)}
    expected = 3
    for _ in range(100_000):
        expected = (expected * 5 + 3) % 65536
    assert int(evaluate(node, lanes, ring)[0]) == expected
    assert facts(node).depth == 200_000


@given(TREES, st.lists(st.fractions(-3, 3, max_denominator=4), min_size=3, max_size=3))
def test_what_is_printed_means_the_formula(tree, values):
    point = dict(zip(NAMES, values, strict=True))
    text = formula_text(build(tree), 100_000)
    (read,) = parse_formula(text).values()
    given_values = {name: np.array([value], dtype=object) for name, value in point.items()}
    assert evaluate(read, given_values, Exact())[0] == ref_value(tree, point)


def test_formulas_print_themselves():
    a, b, c = variables("a b c")
    for formula, text in (
        ((a + 2 * b) ** 3 - 3 * c / 4, "(a + 2*b)^3 - 1/4*3*c"),
        (a - (b - c), "a - (b - c)"),
        (-a * -b, "(-a)*(-b)"),
        (-(a**2), "-a^2"),
        ((-a) ** 2, "(-a)^2"),
        ((a**2) ** 3, "(a^2)^3"),
        (a + (-3), "a + (-3)"),
        (constant(Fraction(3, 4)) ** 2, "(3/4)^2"),
        (constant(10**5000) * a, "…*a"),
    ):
        assert repr(formula) == str(formula) == text


def test_huge_formulas_are_cut():
    (a,) = variables("a")
    chain = a
    for _ in range(100_000):
        chain = chain * a + a
    for huge in (chain, total([a] * 100_000), product([a] * 100_000)):
        assert len(repr(huge)) == 202
        assert repr(huge).endswith(" …")
    shared = a + 1
    for _ in range(200):
        shared = shared * shared
    assert len(repr(shared)) == 202


def test_division_by_a_formula_is_the_inverse():
    x, y = variables("x y")
    assert formula_text(x / y) == "x/y"
    assert formula_text(3 / (1 + x)) == "3/(1 + x)"
    assert (x / y).args[1].value == "inverse"


def test_functions_are_no_polynomials():
    formula = parse_formula("a + sin(a*b)")["y"]
    message = "sin(a*b) is no polynomial: it becomes one on a box, to an error, so functions need --box and --error"
    for walk in (operations, facts, lambda f: evaluate(f, {"a": np.array([1]), "b": np.array([1])}, Modular(8))):
        with pytest.raises(InputError) as caught:
            walk(formula)
        assert str(caught.value) == message


def test_relu_is_the_positive_part():
    formula = parse_formula("relu(x - 2*relu(y)) + 1")["y"]
    assert formula_text(formula) == "relu(x - 2*relu(y)) + 1"
    for x, y, expected in ((5, 1, 4), (5, 3, 1), (-2, -4, 1), (7, -1, 8)):
        lanes = {"x": np.array([Fraction(x)], dtype=object), "y": np.array([Fraction(y)], dtype=object)}
        assert evaluate(formula, lanes, Exact())[0] == expected
        assert lanes["y"][0] == y, "what goes in is left alone"
