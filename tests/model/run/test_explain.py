"""Shares against the expanded polynomial and against the mean over all orders; divergences against plain traces."""

import itertools
from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skinny.model.compiler.pipeline import compile_formula
from skinny.model.errors import CheckError, InputError
from skinny.model.formula.parse import parse_formula
from skinny.model.program.forms import Input, Linear, Weight
from skinny.model.program.program import Columns, Output, Program
from skinny.model.program.text import loads
from skinny.model.rings import Boolean, Exact, FixedPoint, Modular, PrimeField, Real
from skinny.model.run.explain import MOST_DEGREE, PRIME, degrees, divergence, shares
from skinny.model.run.golden import run, trace

FINITE = [Modular(1), Modular(8), Modular(64), PrimeField(2), PrimeField(8191), Boolean()]
EXACT = Exact()
seeds = st.integers(0, 2**32 - 1)


def expand(program):
    """Every output as a polynomial: coefficients by exponents."""
    one = (0,) * len(program.inputs)

    def times(p, q):
        out = {}
        for (e, c), (f, d) in itertools.product(p.items(), q.items()):
            key = tuple(map(sum, zip(e, f, strict=True)))
            out[key] = out.get(key, 0) + c * d
        return out

    def scalar(form):
        match form:
            case Input(u):
                return {tuple(int(v == u) for v in range(len(one))): Fraction(1)}
            case Weight(k):
                return {one: program.weights[k]}
            case Linear(terms, bias):
                out = {one: Fraction(0) if bias is None else program.weights[bias]}
                for k, u in terms:
                    ((key, _),) = scalar(Input(u)).items()
                    out[key] = out.get(key, 0) + program.weights[k]
                return out

    def begin():
        return [{one: Fraction(value)} for value in program.start]

    sent, registers = [], begin()
    for at in range(len(program) + 1):
        for output in program.outputs:
            if output.at == at:
                sent.append(registers[output.register])
                registers = begin() if output.restart else registers
        if at < len(program):
            dst, src, sign, form = (int(column[at]) for column in program.code.arrays()[:4])
            total = dict(registers[dst])
            for key, c in times(scalar(program.forms[form]), registers[src]).items():
                total[key] = total.get(key, 0) + sign * c
            registers[dst] = total
    return sent


def ref_line(polynomial, a, b):
    """Share of each input: the integral over the line of its partial derivative, a monomial after the other."""

    def integral(factors):
        """The integral from 0 to 1 of a product of straight lines, each given as (value at 0, slope)."""
        total = [Fraction(1)]
        for value, slope in factors:
            total = [value * c + slope * d for c, d in zip([*total, 0], [0, *total], strict=True)]
        return sum(Fraction(c) / (k + 1) for k, c in enumerate(total))

    out = []
    for u in range(len(a)):
        share = Fraction(0)
        for exponents, c in polynomial.items():
            rest = [(a[v], b[v] - a[v]) for v, e in enumerate(exponents) for _ in range(e - (v == u))]
            share += c * exponents[u] * (b[u] - a[u]) * integral(rest) if exponents[u] else 0
        out.append(share)
    return out


def evaluate(polynomial, x):
    return sum(c * prod(v**e for v, e in zip(x, exponents, strict=True)) for exponents, c in polynomial.items())


def ref_order(polynomial, a, b, order):
    """Share of each input: what changing it changes when the inputs are changed in ``order``."""
    x, out = list(a), [Fraction(0)] * len(a)
    for u in order:
        before = evaluate(polynomial, x)
        x[u] = b[u]
        out[u] = evaluate(polynomial, x) - before
    return out


def case(random_program, ring, seed, length=12):
    rng = np.random.default_rng(seed)
    program = random_program(
        rng,
        width=int(rng.integers(2, 5)),
        length=length,
        largest=1 if ring.bits else 3,
        denominators=(1,) if ring.bits else (1, 2, 3),
        restarts=bool(seed % 2),
    )
    points = rng.integers(0, 2 if ring.bits == 1 else 5, (2, len(program.inputs)))
    return program, *ring.encode_all(points)


@settings(deadline=None, max_examples=40)
@given(seed=seeds)
def test_line_shares_are_those_of_the_expanded_polynomial(random_program, seed):
    program, a, b = case(random_program, EXACT, seed, length=9)
    found = shares(program, EXACT, a, b)
    assert found.method == "line"
    assert found.remainder == [0] * len(program.outputs)
    assert found.inputs == [ref_line(polynomial, a, b) for polynomial in expand(program)]


@settings(deadline=None, max_examples=40)
@given(seed=seeds)
def test_order_shares_are_those_of_the_expanded_polynomial(random_program, seed):
    program, a, b = case(random_program, EXACT, seed, length=9)
    order = range(len(program.inputs))
    assert shares(program, EXACT, a, b, "order").inputs == [ref_order(p, a, b, order) for p in expand(program)]


@pytest.mark.parametrize("ring", [EXACT, *FINITE], ids=repr)
@settings(deadline=None, max_examples=25)
@given(seed=seeds)
def test_shares_add_up_to_the_difference_in_every_ring(random_program, ring, seed):
    program, a, b = case(random_program, ring, seed, length=30)
    found = shares(program, ring, a, b)
    before, after = (ring.decode_all(row) for row in run(program, ring, np.stack([a, b])).outputs)
    for number, (y, z) in enumerate(zip(before, after, strict=True)):
        assert ring.embed(sum(found.inputs[number])) == ring.embed(z - y) == ring.embed(found.difference[number])
        assert found.remainder[number] == 0


@pytest.mark.parametrize("ring", [FixedPoint(16, 8), FixedPoint(8, 6), Real()], ids=repr)
@pytest.mark.parametrize("method", ["line", "order"])
@settings(deadline=None, max_examples=25)
@given(seed=seeds)
def test_rounding_and_overflow_are_a_line_of_their_own(random_program, ring, method, seed):
    rng = np.random.default_rng(seed)
    program = random_program(rng, length=12, largest=1, denominators=(1, 3))
    a, b = ring.encode_all(rng.uniform(-1, 1, (2, len(program.inputs))))
    found = shares(program, ring, a, b, method)
    (y,), (z,) = (ring.decode_all(row) for row in run(program, ring, np.stack([a, b])).outputs)
    assert found.difference == [Fraction(z) - Fraction(y)]
    assert sum(found.inputs[0]) + found.remainder[0] == found.difference[0]
    if method == "order":
        assert found.remainder == [0]
    elif isinstance(ring, Real):
        assert abs(found.remainder[0]) < 1e-9


def test_the_remainder_is_what_rounding_loses():
    program = compile_formula(parse_formula("y = a*b")).program
    ring = FixedPoint(8, 2)
    # 1/4·1/4 = 1/16 is rounded to zero: the whole difference is lost.
    found = shares(program, ring, ring.encode_all([0, 0]), ring.encode_all([0.25, 0.25]))
    assert found == ("line", [0], [[Fraction(1, 32), Fraction(1, 32)]], [Fraction(-1, 16)])


@settings(deadline=None, max_examples=10)
@given(
    coefficients=st.lists(st.fractions(-3, 3, max_denominator=4), min_size=16, max_size=16),
    points=st.lists(st.integers(-4, 4), min_size=8, max_size=8),
)
def test_for_multilinear_formulas_the_line_is_the_mean_over_all_orders(coefficients, points):
    subsets = [s for size in range(5) for s in itertools.combinations("pqrs", size)]
    text = " + ".join("*".join([f"({c})", *s]) for c, s in zip(coefficients, subsets, strict=True))
    formula = parse_formula(f"p*q*r*s - p*q*r*s + {text}")
    program = compile_formula(formula, contract="in-place", without={"schedule", "search"}).program
    assert set(program.inputs) == set("pqrs")
    a, b = EXACT.encode_all(points[:4]), EXACT.encode_all(points[4:])
    polynomial = {
        tuple(int(name in s) for name in program.inputs): c for c, s in zip(coefficients, subsets, strict=True)
    }
    orders = [ref_order(polynomial, a, b, order) for order in itertools.permutations(range(4))]
    mean = [sum(column) / len(orders) for column in zip(*orders, strict=True)]
    assert shares(program, EXACT, a, b).inputs == [mean]


@pytest.mark.parametrize(
    "text", ["(a + 2*b)^3 - 3/4*c*a", "a*b*c*a*b + c^4", "(a*b + c)*(b*c + a)*(c*a + b) - a*b*c*(1 + a*b*c)"]
)
def test_shares_do_not_depend_on_the_program(text):
    kinds = [(("search",), "clean", 3), (("search",), "in-place", 3), (("search", "prune"), "clean", 4)]
    programs = [
        compile_formula(parse_formula(text), without=without, contract=contract, width=width).program
        for without, contract, width in kinds
    ]
    assert len({len(program) for program in programs}) > 1
    a, b = EXACT.encode_all([1, -2, 3]), EXACT.encode_all([4, Fraction(1, 2), -1])
    for method in ("line", "order"):
        found = {repr(shares(program, EXACT, a, b, method).inputs) for program in programs}
        assert len(found) == 1


@pytest.mark.parametrize("ring", [EXACT, *FINITE], ids=repr)
@pytest.mark.parametrize("seed", range(6))
def test_an_input_that_does_not_move_has_no_share(random_program, ring, seed):
    program, a, b = case(random_program, ring, seed, length=25)
    b[0] = a[0]
    for of_output in shares(program, ring, a, b).inputs:
        assert of_output[0] == 0


@pytest.mark.parametrize("method", ["line", "order"])
def test_an_input_the_function_ignores_has_no_share(method):
    program = compile_formula(parse_formula("y = a*b + c - c")).program
    found = shares(program, EXACT, EXACT.encode_all([1, 2, 3]), EXACT.encode_all([5, 6, 7]), method)
    assert found.inputs[0][program.inputs.index("c")] == 0


def test_the_line_is_symmetric_in_inputs_and_turns_its_sign_with_the_direction():
    program = compile_formula(parse_formula("y = a*b*c + (a + b + c)^2"), contract="in-place").program
    a, b = EXACT.encode_all([1, 1, 1]), EXACT.encode_all([3, 3, 3])
    (there,), (back,) = shares(program, EXACT, a, b).inputs, shares(program, EXACT, b, a).inputs
    assert len(set(there)) == 1
    assert back == [-share for share in there]


@pytest.mark.parametrize(
    ("text", "degree"),
    [
        ("a^64*b", 65),
        ("a^70*b", 65),
        ("a*b - a*b", 0),
        ("2147483647*a^2 + b", 2),
        ("(a + b)^20", 20),
        ("a^3*c^5 + b", 3),
    ],
)
def test_degrees_are_those_of_the_moving_inputs(text, degree):
    program = compile_formula(parse_formula(text), without=("univariate", "search")).program
    moved = np.array([name != "c" for name in program.inputs])
    assert MOST_DEGREE == 64
    assert degrees(program, EXACT.encode_all([2] * len(moved)), moved) == [degree]


def test_a_degree_too_high_for_the_line_takes_the_order():
    program = compile_formula(parse_formula("a^64*b"), without=("univariate",)).program
    a, b = EXACT.encode_all([1, 1]), EXACT.encode_all([2, 3])
    assert shares(program, EXACT, a, b) == ("order", [3 * 2**64 - 1], [[2**64 - 1, 2**65]], [0])
    with pytest.raises(InputError, match="the outputs have a degree above 64, too high for the line: use the order"):
        shares(program, EXACT, a, b, "line")


def test_a_degree_found_too_low_is_no_silent_error():
    program = compile_formula(parse_formula(f"{PRIME}*a^2 + a")).program
    with pytest.raises(CheckError, match="the shares of y do not add up"):
        shares(program, EXACT, EXACT.encode_all([0]), EXACT.encode_all([1]))


@pytest.mark.parametrize(
    ("ring", "method", "message"),
    [
        (Boolean(), "line", "shares along the line need division, which boolean lacks"),
        (EXACT, "guess", "the method must be line or order, not 'guess'"),
    ],
)
def test_methods_that_cannot_be_had(ring, method, message):
    program = compile_formula(parse_formula("a*b")).program
    with pytest.raises(InputError, match=message):
        shares(program, ring, ring.encode_all([0, 0]), ring.encode_all([1, 1]), method)


def ref_divergence(program, ring, a, b):
    """First step that differs, and the growth of every step, from whole traces of Python numbers."""
    states = ring.decode_all(trace(program, ring, np.stack([a, b])))
    begin = ring.decode_all(trace(program, ring, np.stack([a, b]))[0])
    restarts = {output.at for output in program.outputs if output.restart}

    def distance(x, y):
        if not isinstance(ring, Modular | PrimeField | Boolean):
            return abs(Fraction(x) - Fraction(y))
        modulus = ring.p if isinstance(ring, PrimeField) else 2**ring.bits
        return min((x - y) % modulus, (y - x) % modulus)

    first, grown = None, {}
    for step in range(1, len(program) + 1):
        before = begin if step - 1 in restarts else states[step - 1]
        sizes = [sum(distance(x, y) for x, y in zip(*state, strict=True)) for state in (before, states[step])]
        grown[step] = sizes[1] - sizes[0]
        if first is None and sizes[1]:
            first = step
    return first, grown


@pytest.mark.parametrize("ring", [EXACT, FixedPoint(16, 8), Real(), *FINITE], ids=repr)
@pytest.mark.parametrize("seed", range(6))
def test_divergence_is_that_of_the_traces(random_program, ring, seed):
    program, a, b = case(random_program, ring, seed, length=30)
    found = divergence(program, ring, a, b, most=5)
    first, grown = ref_divergence(program, ring, a, b)
    assert found.first == first
    wanted = sorted((-growth, step) for step, growth in grown.items() if growth > 0)[:5]
    if isinstance(ring, Real):
        assert [float(-growth) for growth, _ in wanted] == pytest.approx([entry.growth for entry in found.steps])
    else:
        assert [(-entry.growth, entry.step) for entry in found.steps] == wanted
        states = trace(program, ring, np.stack([a, b]))
        for entry in found.steps:
            assert program.code.dst[entry.step - 1] == entry.register
            assert states[entry.step, :, entry.register].tolist() == [entry.a, entry.b]


def test_divergence_of_long_programs_comes_in_pieces():
    length = 10_000
    code = Columns.of([0] * length, [1] * length, [1] * length, [1] * length)
    code.form[[0, 4094, 4095, 4096, 9000]] = 0
    program = Program(2, ("a",), (Fraction(1),), (Input(0), Weight(0)), code, (Output("y", 0, length),))
    found = divergence(program, Modular(32), np.array([3]), np.array([7]))
    assert found.first == 1
    assert [entry[:3] for entry in found.steps] == [(step + 1, 0, 4) for step in (0, 4094, 4095, 4096, 9000)]


def test_a_restart_brings_the_runs_together_again():
    outputs = (Output("y", 0, 1, restart=True), Output("z", 0, 2))
    program = Program(2, ("a",), (), (Input(0),), Columns.of([0, 0], [1, 1], [1, 1], [0, 0]), outputs)
    found = divergence(program, EXACT, EXACT.encode_all([3]), EXACT.encode_all([7]))
    assert found == (1, [(1, 0, 4, 3, 7), (2, 0, 4, 3, 7)])


def test_equal_inputs_never_part():
    program = compile_formula(parse_formula("a*b + 1")).program
    x = EXACT.encode_all([2, 3])
    assert divergence(program, EXACT, x, x) == (None, [])
    assert shares(program, EXACT, x, x) == ("line", [0], [[0, 0]], [0])


def test_overflow_of_floats_is_named():
    program = compile_formula(parse_formula("a*a*a")).program
    with np.errstate(all="ignore"), pytest.raises(InputError, match="the registers overflow real at step"):
        divergence(program, Real(), np.array([1.0]), np.array([1e200]))


SQUARES = """skinny 1
width 4
inputs a b c
weight w[0] = 2
weight w[1] = 1
form f[0] = w[1]*a + w[0]*b
form f[1] = w[1]*R2 + c*R2
R2 = f[0]*R1
{last} f[1]*R2
emit y = R0
end
"""


def test_sums_of_registers_have_the_shares_of_their_function():
    """(a + 2·b)^2·(1 + c), as formula and with a register that is multiplied by itself."""
    formula = compile_formula(parse_formula("(a + 2*b)^2*(1 + c)")).program
    network = loads(SQUARES.format(last="R0 +="))
    a, b = EXACT.encode_all([1, -2, 3]), EXACT.encode_all([4, Fraction(1, 2), -1])
    for method in ("line", "order"):
        assert shares(network, EXACT, a, b, method).inputs == shares(formula, EXACT, a, b, method).inputs


def test_a_relu_takes_the_order():
    network = loads(SQUARES.format(last="R0 =").replace("f[1]*R2\nemit", "relu(f[1]*R2)\nemit"))
    a, b = EXACT.encode_all([1, -2, 3]), EXACT.encode_all([4, Fraction(1, 2), -1])
    assert shares(network, EXACT, a, b).method == "order"
    message = "^shares along the line need a polynomial, but instruction 1 takes the relu: use the order$"
    with pytest.raises(InputError, match=message):
        shares(network, EXACT, a, b, "line")
