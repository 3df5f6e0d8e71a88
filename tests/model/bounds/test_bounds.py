"""Bounds against runs in plain Python integers and fractions, at random, corner and hill-climbed inputs."""

import random
import time
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from skinny.model.bounds import bounds, structure
from skinny.model.bounds.bounds import bound, suggest
from skinny.model.bounds.structure import dyadic, follow
from skinny.model.compiler.pipeline import compile_formula
from skinny.model.errors import InputError
from skinny.model.formula.parse import parse_formula
from skinny.model.program.program import Columns, Input, Linear, Output, Program, Weight
from skinny.model.rings import FixedPoint
from skinny.model.run import golden

THIRDS = (Fraction(1, 3), Fraction(-7, 10), Fraction(5, 4))


def program_of(code, inputs, weights, forms, width=3, **rest):
    columns = Columns.of(*zip(*code, strict=True)) if code else Columns.empty()
    rest.setdefault("outputs", (Output("y", 0, len(code)),))
    return Program(width, tuple(inputs), tuple(weights), tuple(forms), columns, **rest)


def ref_rounded(a, b, frac):
    return (a * b + (1 << frac) // 2) >> frac


def ref_run(program, frac, raw):
    """The fixed-point run without any wrap: raw value of ``dst`` after each instruction, and raw outputs."""
    weights = [FixedPoint(32, frac).encode(w) for w in program.weights]
    scalars = []
    for form in program.forms:
        match form:
            case Input(u):
                scalars.append(raw[u])
            case Weight(k):
                scalars.append(weights[k])
            case Linear(terms, bias):
                total = sum(ref_rounded(weights[k], raw[u], frac) for k, u in terms)
                scalars.append(total + (0 if bias is None else weights[bias]))
    return _steps(program, [v << frac for v in program.start], lambda f, r: ref_rounded(scalars[f], r, frac))


def ref_exact(program, x):
    """The run in fractions with the weights as they are."""
    w = program.weights
    scalars = []
    for form in program.forms:
        match form:
            case Input(u):
                scalars.append(x[u])
            case Weight(k):
                scalars.append(w[k])
            case Linear(terms, bias):
                scalars.append(sum(w[k] * x[u] for k, u in terms) + (0 if bias is None else w[bias]))
    return _steps(program, list(program.start), lambda f, r: scalars[f] * r)


def _steps(program, start, multiply):
    registers, written, sent = list(start), [], {}
    waiting = list(program.outputs)
    for t in range(len(program) + 1):
        while waiting and waiting[0].at == t:
            output = waiting.pop(0)
            sent[output.name] = registers[output.register]
            if output.restart:
                registers = list(start)
        if t < len(program):
            dst, src, sign, form = (int(column[t]) for column in program.code.arrays())
            registers[dst] += sign * multiply(form, registers[src])
            written.append(registers[dst])
    return written, sent


def assert_within(program, found, frac, raw):
    """One run stays within the bounds, in every register and at every output."""
    written, sent = ref_run(program, frac, raw)
    exact = ref_exact(program, [Fraction(v, 1 << frac) for v in raw])[1]
    for t, value in enumerate(written):
        assert found.low[t] * 2**frac <= value <= found.high[t] * 2**frac, (t, value)
    for name, value in sent.items():
        assert abs(Fraction(value, 1 << frac) - exact[name]) <= found.errors[name]


def raw_box(ring, box):
    return [(ring.encode(low), ring.encode(high)) for low, high in box]


def some_inputs(rng, ends, count):
    """Corners, near corners and anything else."""
    for _ in range(count):
        near = rng.choice((0, 0, 3))
        kind = rng.random()
        yield [
            min(high, max(low, rng.choice((low + rng.randint(0, near), high - rng.randint(0, near)))))
            if rng.random() < kind
            else rng.randint(low, high)
            for low, high in ends
        ]


def random_program(rng, length):
    width, inputs = rng.randint(2, 4), rng.randint(1, 3)
    weights = [rng.choice((Fraction(1), Fraction(-1), Fraction(1, 2), Fraction(rng.randint(-9, 9), rng.randint(1, 9))))]
    weights += [Fraction(rng.randint(-9, 9), rng.randint(3, 9)) for _ in range(2)]
    forms = [Input(u) for u in range(inputs)] + [Weight(k) for k in range(3)]
    for _ in range(2):
        terms = {(rng.randrange(3), rng.randrange(inputs)) for _ in range(rng.randint(1, 3))}
        forms.append(Linear(tuple(sorted(terms)), rng.choice((None, 0, 2))))
    code = []
    for _ in range(length):
        # Half of the time something is taken away again, as programs do.
        if code and rng.random() < 0.5:
            dst, src, sign, form = rng.choice(code[-4:])
            code.append((dst, src, -sign, form))
        else:
            dst, src = rng.sample(range(width), 2)
            code.append((dst, src, rng.choice((1, -1)), rng.randrange(len(forms))))
    cut = rng.randint(0, length)
    outputs = (Output("y", 0, cut, restart=rng.random() < 0.5), Output("z", 1, length))
    start = tuple(rng.randint(-1, 2) for _ in range(width))
    return program_of(code, "abc"[:inputs], weights, forms, width, outputs=outputs, start=start)


def reversed_block(block):
    return [(dst, src, -sign, form) for dst, src, sign, form in reversed(block)]


def word(node, contract, i, j, k):
    """The words of compiler.md: offset ``R_j`` by ``node·R_i``, third register ``R_k``."""
    kind, *rest = node
    if kind == "leaf":
        return [(j, i, 1, rest[0])]
    if kind == "sum":
        last = "C" if contract == "C" else contract
        others = "L" if contract == "C" else contract
        return [s for term in rest[:-1] for s in word(term, others, i, j, k)] + word(rest[-1], last, i, j, k)
    f, g = rest
    if contract == "C":
        return word(g, "P", i, k, j) + word(f, "R", k, j, i)
    f_word = word(f, "P" if contract == "L" else "L", k, j, i)
    g_word = word(g, "P" if contract == "R" else "R", i, k, j)
    if contract == "P":
        return reversed_block(f_word) + g_word + f_word + reversed_block(g_word)
    return (reversed_block(f_word) if contract == "R" else g_word) + (
        [*g_word, *f_word] if contract == "R" else [*f_word, *reversed_block(g_word)]
    )


def polynomial_program(rng, monomials, inputs=4, degree=4, weights=THIRDS, contract="clean"):
    """A sum of weighted monomials, each a balanced product."""
    forms = [Input(u) for u in range(inputs)] + [Weight(k) for k in range(len(weights))]
    terms = []
    for number in range(monomials):
        factors = [("leaf", rng.randrange(inputs)) for _ in range(rng.randint(1, degree) if number else degree)]
        factors += [("leaf", inputs + rng.randrange(len(weights)))] if weights else []
        while len(factors) > 1:
            paired = [("product", a, b) for a, b in zip(factors[::2], factors[1::2], strict=False)]
            factors = paired + factors[len(paired) * 2 :]
        terms.append(factors[0])
    code = word(("sum", *terms), "C" if contract == "clean" else "P", 1, 0, 2)
    return program_of(code, [f"x{u}" for u in range(inputs)], weights, forms, contract=contract)


def attention_program(rng, layers):
    """A clean product of sums of linear forms, used through the accumulator."""
    weights = [Fraction(rng.randint(-20, 20), 21) for _ in range(8)]
    forms = [
        Linear(tuple((rng.randrange(8), u) for u in range(4)), rng.choice((None, rng.randrange(8))))
        for _ in range(2 * layers)
    ]
    terms = [("product", ("leaf", a), ("leaf", b)) for a, b in pairwise(range(2 * layers))]
    code = word(("product", ("sum", *terms[::2]), ("sum", *terms[1::2], ("leaf", 0))), "C", 1, 0, 2)
    return program_of(code, "abcd", weights, forms)


def errors_at(program, ring, raw):
    """Errors of a batch, the exact value in doubles: good enough to search with."""
    x = raw / 2**ring.frac
    w = [float(v) for v in program.weights]
    scalars = []
    for form in program.forms:
        match form:
            case Input(u):
                scalars.append(x[:, u])
            case Weight(k):
                scalars.append(np.full(len(x), w[k]))
            case Linear(terms, bias):
                scalars.append(sum(w[k] * x[:, u] for k, u in terms) + (0 if bias is None else w[bias]))
    registers = [np.full(len(x), float(v)) for v in program.start]
    for dst, src, sign, form in zip(*(c.tolist() for c in program.code.arrays()), strict=True):
        registers[dst] = registers[dst] + sign * scalars[form] * registers[src]
    actual = golden.run(program, ring, raw)[0][:, 0] / 2**ring.frac
    return np.abs(actual - registers[program.outputs[0].register])


def worst_input(program, ring, box, seed, rounds=150, crowd=256):
    """Hill climbing on the grid from corners and random inputs; the better half displaces the other now and then."""
    rng = np.random.default_rng(seed)
    low, high = np.array(raw_box(ring, box)).T
    x = rng.integers(low, high + 1, size=(crowd, len(low)))
    near = rng.integers(0, 6, size=(crowd // 2, len(low)))
    x[: crowd // 2] = np.clip(np.where(rng.random(near.shape) < 0.5, high - near, low + near), low, high)
    error = errors_at(program, ring, x)
    everyone = np.arange(crowd)
    for number in range(rounds):
        at = rng.integers(0, len(low), crowd)
        far = int((high - low).max()) // 8 + 1
        step = np.where(rng.random(crowd) < 0.5, rng.integers(-4, 5, crowd), rng.integers(-far, far + 1, crowd))
        moved = x.copy()
        moved[everyone, at] = np.clip(moved[everyone, at] + step, low[at], high[at])
        new = errors_at(program, ring, moved)
        better = new > error
        x[better], error[better] = moved[better], new[better]
        if number % 50 == 49:
            order = np.argsort(-error)
            x[order[crowd // 2 :]], error[order[crowd // 2 :]] = x[order[: crowd // 2]], error[order[: crowd // 2]]
    return x[int(np.argmax(error))].tolist()


def error_at(program, ring, raw):
    value = ref_run(program, ring.frac, raw)[1]["y"]
    return abs(Fraction(value, 1 << ring.frac) - ref_exact(program, [Fraction(v, 1 << ring.frac) for v in raw])[1]["y"])


# What is known by hand


def test_one_rounding_costs_half_a_step():
    product = program_of([(2, 1, 1, 0), (0, 2, 1, 1)], "xz", [], [Input(0), Input(1)])
    found = bound(product, FixedPoint(16, 8), [(-1, 1), (-1, 1)])
    assert found.errors == {"y": pytest.approx(2**-9, rel=1e-9)}
    assert found.errors["y"] >= 2**-9
    assert found.low.tolist() == [-1, -1]
    assert found.high.tolist() == [1, 1]
    assert found.ranges.tolist() == [[-1, 1], [1, 1], [-1, 1]]
    assert found.safe


def test_rounding_of_a_weight_counts():
    scaled = program_of([(0, 1, 1, 0)], "", [Fraction(1, 3)], [Weight(0)])
    found = bound(scaled, FixedPoint(8, 4), [])
    assert found.errors["y"] == pytest.approx(float(Fraction(1, 3) - Fraction(5, 16)), rel=1e-9)


def test_the_floats_of_the_analysis_are_accounted_for():
    # Every weight rounds to zero, so nothing but the exact value is left as error, and it is no float.
    rng = random.Random(0)
    weights = [Fraction(rng.randint(1, 99), 200 + rng.randint(1, 99)) for _ in range(40)]
    code = [(dst, src, 1, k) for k, (dst, src) in enumerate([(2, 1), (0, 2), (2, 0), (0, 1)] * 10)]
    chain = program_of(code, "", weights, [Weight(k) for k in range(40)])
    exact = ref_exact(chain, [])[1]["y"]
    assert exact <= Fraction(bound(chain, FixedPoint(8, 0), []).errors["y"]) <= exact * Fraction(10**9 + 1, 10**9)


def test_roundings_of_a_form_multiply():
    # Eight products of 1/4 are rounded to 1/2 each: the form is 4 where it should be 2, its square 16 instead of 4.
    form = Linear(tuple((0, u) for u in range(8)))
    square = program_of([(2, 1, 1, 0), (0, 2, 1, 0)], "abcdefgh", [Fraction(1, 2)], [form])
    found = bound(square, FixedPoint(8, 1), [(0, Fraction(1, 2))] * 8)
    assert error_at(square, FixedPoint(8, 1), [1] * 8) == 12
    assert 12 <= found.errors["y"] <= 13


def test_integers_are_exact():
    whole = program_of([(2, 1, 1, 0), (0, 2, 3 - 4, 1)], "x", [Fraction(-3)], [Input(0), Weight(0)])
    found = bound(whole, FixedPoint(16, 8), [(Fraction(1, 4), 2)])
    assert found.errors == {"y": 0}
    assert (found.low[-1], found.high[-1]) == (0.75, 6)


def test_uncomputed_values_cancel():
    f_word = [(0, 2, 1, 1)]
    g_word = [(2, 1, 1, 0)]
    once = reversed_block(f_word) + g_word + f_word + reversed_block(g_word)
    # Stepwise intervals would double with every round; x·z is added and taken away 30 times, and once more added.
    code = (once + reversed_block(once)) * 30 + once
    found = bound(program_of(code, "xz", [], [Input(0), Input(1)]), FixedPoint(16, 8), [(-1, 1), (-1, 1)])
    assert np.abs(found.ranges).max() <= 1 + 2**-7
    assert found.errors["y"] == pytest.approx(2**-9, rel=1e-6)


def test_equal_products_round_equally():
    # x·z is built twice in the same way: the difference is zero bit for bit.
    code = [(2, 1, 1, 0), (0, 2, 1, 1), (0, 2, -1, 1)]
    assert bound(program_of(code, "xz", [], [Input(0), Input(1)]), FixedPoint(16, 8), [(-1, 1)] * 2).errors["y"] == 0


def test_names_the_first_overflow():
    powers = program_of([(2, 1, 1, 0), (0, 2, 1, 0), (2, 0, 1, 0)], "x", [], [Input(0)])
    found = bound(powers, FixedPoint(8, 4), [(-3, 3)])
    assert found.overflow == (1, 0, 0, 9)
    assert not found.safe
    assert bound(powers, FixedPoint(10, 4), [(-3, 3)]).safe
    below = bound(powers, FixedPoint(8, 4), [(-2, 1)]).overflow
    assert below is not None
    assert below[:2] == (2, 2)
    assert below.low <= -10
    assert below.high >= 2


def test_what_is_no_number_does_not_fit():
    analysis = bounds._Analysis(program_of([(0, 1, 1, 0)], "x", [], [Input(0)]), FixedPoint(16, 8), [(-1, 1)])
    assert analysis.first_overflow(16) is None
    analysis.high[0] = np.nan
    assert analysis.first_overflow(16).instruction == 0


def test_the_word_is_not_symmetric():
    twice = program_of([(0, 1, 1, 0), (0, 1, 1, 0)], "x", [], [Input(0)])
    assert bound(twice, FixedPoint(8, 4), [(-4, Fraction(63, 16))]).safe
    assert bound(twice, FixedPoint(8, 4), [(0, 4)]).overflow == (1, 0, 0, 8)


def test_the_accumulator_must_fit():
    form = Linear(((0, 0), (0, 1)), 0)
    attending = program_of([(0, 1, 1, 0)], "ab", [Fraction(3)], [form])
    assert bound(attending, FixedPoint(8, 4), [(0, 1)] * 2).overflow == (0, None, 3, 9)
    assert bound(attending, FixedPoint(9, 4), [(0, 1)] * 2).safe


def test_a_hopeless_program_ends():
    doubling = [(2, 1, 1, 0), (1, 2, 1, 0)] * 2000
    found = bound(program_of(doubling, "", [Fraction(2)], [Weight(0)]), FixedPoint(32, 8), [])
    assert found.overflow is not None
    assert found.high[-1] == np.inf


def test_an_empty_program():
    found = bound(program_of([], "x", [], []), FixedPoint(8, 4), [(0, 1)])
    assert found.safe
    assert found.errors == {"y": 0}


@pytest.mark.parametrize(
    ("ring", "box", "message"),
    [
        (FixedPoint(8, 4), [(0, 1)], "the box must have a range for each of the 2 inputs, not 1"),
        (FixedPoint(8, 4), [(0, 1), (0, 9)], r"input b: 9 does not fit fixed:8.4 \(-8.0 to 7.9375\)"),
        (FixedPoint(8, 4), [(1, 0), (0, 1)], "input a: the range 1 to 0 is empty"),
        (FixedPoint(8, 4), [(0, float("nan")), (0, 1)], "input a: the range 0 to nan is empty"),
        (FixedPoint(4, 1), [(0, 1), (0, 1)], r"weight w\[0\]: 5 does not fit fixed:4.1 .*"),
        (FixedPoint(8, 7), [(0, 0), (0, 0)], r"weight w\[0\]: 5 does not fit fixed:8.7 .*"),
    ],
)
def test_what_does_not_fit_is_named(ring, box, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        bound(program_of([(0, 1, 1, 0)], "ab", [Fraction(5)], [Weight(0)]), ring, box)


# Soundness


@pytest.mark.parametrize("seed", range(40))
def test_never_exceeded_by_any_program(seed):
    rng = random.Random(seed)
    program, frac = random_program(rng, rng.randint(1, 14)), rng.randint(0, 8)
    ends = [sorted(Fraction(rng.randint(-12, 12), 8) for _ in range(2)) for _ in program.inputs]
    found = bound(program, FixedPoint(32, frac), ends)
    for raw in some_inputs(rng, raw_box(FixedPoint(32, frac), ends), 60):
        assert_within(program, found, frac, raw)


@pytest.mark.parametrize("seed", range(40))
def test_never_exceeded_when_folded(monkeypatch, seed):
    for name, value in (("_WORK", 1), ("_LEAST_TERMS", 2 + seed % 5), ("_HOME", 1), ("_LEAST_HOME", 1)):
        monkeypatch.setattr(bounds, name, value)
    monkeypatch.setattr(bounds, "_KEPT_PRODUCTS", 3)
    rng = random.Random(seed)
    program = random_program(rng, 10) if seed % 2 else polynomial_program(rng, 3, inputs=3, contract="in-place")
    ends = [sorted(Fraction(rng.randint(-8, 8), 8) for _ in range(2)) for _ in program.inputs]
    found = bound(program, FixedPoint(32, 6), ends)
    for raw in some_inputs(rng, raw_box(FixedPoint(32, 6), ends), 40):
        assert_within(program, found, 6, raw)


@pytest.mark.parametrize("seed", range(12))
def test_safe_programs_do_not_wrap(seed):
    """In every format that is called safe, the machine's run is the run without wrap."""
    rng = random.Random(seed)
    program = random_program(rng, 8)
    ends = [(-1, 1)] * len(program.inputs)
    for bits in range(6, 20):
        ring = FixedPoint(bits, 3)
        try:
            found = bound(program, ring, ends)
        except InputError:
            continue
        raw = np.array(list(some_inputs(rng, raw_box(ring, ends), 40)))
        wide = [ref_run(program, 3, row)[1] for row in raw.tolist()]
        if found.safe:
            got = golden.run(program, ring, raw)[0]
            assert got.tolist() == [[sent["y"], sent["z"]] for sent in wide]


def test_exhaustively_on_a_small_grid():
    """Every input of a grid: nothing exceeds the bounds, in any register."""
    rng = random.Random(3)
    for _ in range(2):
        program = polynomial_program(rng, 2, inputs=2, contract="in-place")
        found = bound(program, FixedPoint(16, 4), [(-1, 1)] * 2)
        for a in range(-16, 17):
            for b in range(-16, 17):
                assert_within(program, found, 4, [a, b])


# Tightness: clean polynomials of degree 4 in 4 variables


@pytest.mark.parametrize(
    ("monomials", "weights", "box"),
    [
        (3, (), (-1, 1)),
        (10, (), (0, 1)),
        (10, THIRDS, (-1, 1)),
        (20, THIRDS, (Fraction(-1, 2), 2)),
        (35, THIRDS, (-1, 1)),
        (35, (), (-2, 2)),
    ],
)
def test_within_eight_times_the_worst_error_found(monomials, weights, box):
    ring = FixedPoint(28, 10)
    program = polynomial_program(random.Random(monomials), monomials, weights=weights)
    found = bound(program, ring, [box] * 4)
    assert found.safe
    worst = worst_input(program, ring, [box] * 4, seed=monomials)
    assert_within(program, found, ring.frac, worst)
    assert found.errors["y"] <= 8 * error_at(program, ring, worst)


@pytest.mark.parametrize("layers", [2, 4])
def test_within_eight_times_with_attention(layers):
    ring = FixedPoint(28, 10)
    program = attention_program(random.Random(layers), layers)
    found = bound(program, ring, [(-1, 1)] * 4)
    worst = worst_input(program, ring, [(-1, 1)] * 4, seed=layers)
    assert_within(program, found, ring.frac, worst)
    assert found.errors["y"] <= 8 * error_at(program, ring, worst)


# Long programs


@pytest.mark.parametrize(("monomials", "weights", "contract"), [(4000, (), "clean"), (500, THIRDS, "in-place")])
def test_long_sums_do_not_explode(monomials, weights, contract):
    program = polynomial_program(random.Random(1), monomials, inputs=32, weights=weights, contract=contract)
    began = time.process_time()
    found = bound(program, FixedPoint(32, 12), [(-1, 1)] * 32)
    assert time.process_time() - began < 20
    assert found.safe
    # Each monomial is at most 5/4; while one is computed, a copy of the sum is held as well.
    assert np.abs(found.ranges).max() <= 4 * monomials
    assert found.errors["y"] <= monomials**2 * 2**-10
    for raw in some_inputs(random.Random(2), [(-4096, 4096)] * 32, 2):
        assert_within(program, found, 12, raw)


# Suggested formats


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("error", [Fraction(1, 50), 1e-4, None])
def test_suggests_the_smallest_format(seed, error):
    rng = random.Random(seed)
    program = polynomial_program(rng, 3, inputs=2, weights=THIRDS if seed % 2 else ())
    box = [(-1, Fraction(3, 2))] * 2
    safe = {}
    for frac in range(32):
        for bits in range(max(2, frac + 1), 33):
            try:
                found = bound(program, FixedPoint(bits, frac), box)
            except InputError:
                continue
            if found.safe:
                safe[bits, frac] = max(found.errors["y"], 0.5 / 2**frac)
                break
    wanted = min(safe.values()) if error is None else error
    assert suggest(program, box, error) == FixedPoint(*min(key for key, reached in safe.items() if reached <= wanted))


def test_suggests_few_bits_when_nothing_is_rounded():
    constant = program_of([(0, 1, 1, 0), (0, 1, 1, 1)], "", [Fraction(5, 2), Fraction(1, 4)], [Weight(0), Weight(1)])
    assert suggest(constant, []) == FixedPoint(5, 2)


@pytest.mark.parametrize(
    ("weight", "error", "message"),
    [
        (1, 1e-12, r"no format up to 32 bits has an error of at most 1e-12: the least is .*e-.*"),
        (2**40, None, r"no format up to 32 bits holds what is given: weight w\[0\]: 1099511627776 does not fit .*"),
        (2**30, None, "no format up to 32 bits is proven safe on this box"),
        (1, float("nan"), "no format up to 32 bits has an error of at most nan: .*"),
    ],
)
def test_refuses_what_no_format_reaches(weight, error, message):
    code = [(2, 1, 1, 0), (0, 2, 1, 0), (2, 0, 1, 1)]
    with pytest.raises(InputError, match=f"^{message}$"):
        suggest(program_of(code, "x", [Fraction(weight)], [Input(0), Weight(0)]), [(-3, 3)], error)


# By the structure alone


def structure_of(program, ring, box):
    """What the structure says without the help of the other analysis."""
    analysis = bounds._Analysis(program, ring, box)
    factors = [analysis._factor(number) for number in range(len(program.forms))]
    return follow(program, factors, [value * analysis.unit for value in analysis.start], analysis.algebra)


def ref_entries(program, x):
    """The sum of the absolute entries that the errors of rounded products are multiplied with."""
    scalars = [x[form.u] if isinstance(form, Input) else program.weights[form.k] for form in program.forms]
    entries = [int(r == program.outputs[0].register) for r in range(program.width)]
    total = 0
    for dst, src, sign, form in reversed(list(zip(*(c.tolist() for c in program.code.arrays()), strict=True))):
        total += abs(entries[dst]) * isinstance(program.forms[form], Input)
        entries[src] += sign * scalars[form] * entries[dst]
    return total


def product_program(count, contract):
    return compile_formula(parse_formula("*".join(f"x{n}" for n in range(count))), contract=contract).program


def chain_program(count, contract, constant="1"):
    text = "x0"
    for n in range(1, count):
        text = f"({text})*x{n} + {constant}"
    return compile_formula(parse_formula(text), contract=contract).program


def test_dyadic_numbers_over_one_denominator():
    assert dyadic({0: Fraction(3, 8), 2: Fraction(-1, 2), 5: Fraction(0)}) == ([(0, 3), (2, -4)], 3)
    assert dyadic({1: Fraction(7)}) == ([(1, 7)], 0)


@pytest.mark.parametrize("seed", range(60))
def test_the_structure_is_never_exceeded_by_any_program(seed):
    rng = random.Random(seed)
    program = random_program(rng, rng.randint(1, 30))
    ring = FixedPoint(32, rng.choice((2, 5, 8, 12)))
    box = [sorted(Fraction(rng.randint(-40, 40), 16) for _ in range(2)) for _ in program.inputs]
    found = structure_of(program, ring, box)
    for raw in some_inputs(rng, raw_box(ring, box), 40):
        assert_within(program, found, ring.frac, raw)


@pytest.mark.parametrize("seed", range(6))
def test_the_structure_is_never_exceeded_with_forms(seed):
    rng = random.Random(seed)
    program = attention_program(rng, 4)
    ring = FixedPoint(32, 6 + seed)
    box = [(-1, 1)] * 4
    found = structure_of(program, ring, box)
    assert all(np.isfinite(error) for error in found.errors.values())
    for raw in some_inputs(rng, raw_box(ring, box), 60):
        assert_within(program, found, ring.frac, raw)


def test_a_step_of_each_kind():
    """``k += x·i; j += y·k; k -= x·i``: two roundings reach ``j``, the first one multiplied by ``y``; its other
    occurrence does not, but this analysis knows products by their place only."""
    code = [(2, 1, 1, 0), (0, 2, 1, 1), (2, 1, -1, 0)]
    program = program_of(code, "xy", [], [Input(0), Input(1)])
    found = structure_of(program, FixedPoint(16, 4), [(-2, 2), (-3, 3)])
    ulp = 1 / 16
    assert found.errors["y"] == pytest.approx(ulp / 2 + 3 * ulp / 2)
    assert found.high == pytest.approx([2 + ulp / 2, 6 + 4 * ulp / 2, ulp])
    assert found.low == pytest.approx(-found.high)


def test_errors_made_while_a_copy_is_held():
    """``k += x·i; i += y·j; k -= x·i`` leaves ``x`` times the error of ``i`` in ``k``; once ``k`` is back where it was,
    what is added to it and taken away leaves its own two roundings only, though ``i`` has a greater error then."""
    once = [(2, 1, 1, 0), (1, 0, 1, 1), (2, 1, -1, 0)]
    code = [*once, (1, 0, 1, 1), (2, 1, 1, 0), (2, 1, -1, 0)]
    program = program_of(code, "xy", [], [Input(0), Input(1)], start=(1, 0, 0))
    found = structure_of(program, FixedPoint(16, 4), [(-3, 3), (-1, 1)])
    assert found.high[2] == pytest.approx(3 + (3 + 1) / 32)
    assert found.high[5] == pytest.approx(3 + (3 + 1 + 2) / 32)


def test_errors_made_while_two_copies_are_held():
    """An error that comes to ``i`` while ``k`` holds ``x·i`` and ``j`` lacks ``z·i`` is multiplied by ``x·y + z`` when
    both are undone: the signs of the inverse count."""
    i, j, k, one, x, y, z, v = 1, 0, 2, 3, 0, 1, 2, 3
    before = [(j, k, 1, y), (k, i, 1, x), (j, i, -1, z)]
    code = [*before, (i, one, 1, v), *reversed_block(before)]
    program = program_of(code, "xyzv", [], [Input(u) for u in range(4)], width=4, start=(0, 0, 0, 1))
    found = structure_of(program, FixedPoint(16, 4), [(0, 1)] * 4)
    assert found.high[6] == pytest.approx(2 + (2 + 1 + 1 + 1) / 32)


def test_whole_scalars_are_exact_and_rounded_weights_are_not():
    code = [(2, 1, 1, 0), (0, 2, 1, 1)]
    exact = program_of(code, "x", [Fraction(3)], [Input(0), Weight(0)])
    ring, ulp = FixedPoint(16, 4), 1 / 16
    assert structure_of(exact, ring, [(-1, 1)]).errors["y"] == pytest.approx(3 * ulp / 2)
    rounded = program_of(code, "x", [Fraction(1, 3)], [Input(0), Weight(0)])
    shift = abs(Fraction(5, 16) - Fraction(1, 3))
    found = structure_of(rounded, ring, [(-1, 1)]).errors["y"]
    assert found == pytest.approx(float(ulp / 2 * 5 / 16 + ulp / 2 + shift * (1 + ulp)))


def test_a_restart_begins_anew():
    code = [(0, 1, 1, 0), (0, 1, 1, 0)]
    outputs = (Output("a", 0, 1, restart=True), Output("b", 0, 2))
    program = program_of(code, "x", [], [Input(0)], outputs=outputs)
    found = structure_of(program, FixedPoint(16, 4), [(-1, 1)])
    assert found.high == pytest.approx([1 + 1 / 32] * 2)
    assert found.errors == pytest.approx({"a": 1 / 32, "b": 1 / 32})
    twice = compile_formula(parse_formula("a = s*t*u*v*w*x*y*z; b = s*t*u*v*w*x*y*z")).program
    found = structure_of(twice, FixedPoint(16, 4), [(-1, 1)] * 8)
    assert found.errors["a"] == pytest.approx(found.errors["b"])


@pytest.mark.parametrize("contract", ["clean", "in-place"])
@pytest.mark.parametrize(("make", "count"), [(product_program, 64), (product_program, 96), (chain_program, 48)])
def test_deep_programs_do_not_explode(make, count, contract):
    program = make(count, contract)
    ring = FixedPoint(32, 12)
    box = [(-1, 1)] * count
    found = bound(program, ring, box)
    assert found.safe
    rng = random.Random(0)
    corners = [[rng.choice((-1, 1)) for _ in range(count)] for _ in range(20)]
    worst = max(ref_entries(program, corner) for corner in corners) / 2 / 2**12
    assert found.errors["y"] <= 12 * worst
    for raw in some_inputs(rng, raw_box(ring, box), 3):
        assert_within(program, found, ring.frac, raw)


@pytest.mark.parametrize(("work", "constant", "known"), [(0, "1", False), (15_000, "1", True), (5_000, "1/3", False)])
def test_giving_up_is_sound(monkeypatch, work, constant, known):
    """The error of an output is known from the end backwards all the same, unless it depends on what registers hold."""
    program = chain_program(24, "clean", constant)
    ring, box = FixedPoint(32, 10), [(-1, 1)] * 24
    whole = structure_of(program, ring, box)
    assert np.isfinite(whole.high).all()
    monkeypatch.setattr(structure, "_WORK", work)
    found = structure_of(program, ring, box)
    followed = np.isfinite(found.high)
    assert followed.any() == (work > 0)
    assert not followed[-1]
    assert (found.high[followed] == whole.high[followed]).all()
    assert np.isfinite(found.errors["y"]) == known
    assert found.errors["y"] >= whole.errors["y"] * (1 - 1e-9)
    for raw in some_inputs(random.Random(work), raw_box(ring, box), 20):
        assert_within(program, found, ring.frac, raw)


def test_small_coefficients_are_dropped_soundly():
    """Powers of a tiny input fall below what is kept; the error they leave is that of the rounding."""
    code = [step for _ in range(20) for step in ((2, 1, 1, 0), (1, 2, 1, 0), (2, 1, -1, 0), (0, 2, 1, 0))]
    program = program_of(code, "x", [], [Input(0)])
    ring, box = FixedPoint(32, 24), [(0, Fraction(3, 1 << 24))]
    found = structure_of(program, ring, box)
    assert found.errors["y"] < 1e-4
    for raw in range(4):
        assert_within(program, found, ring.frac, [raw])


def test_wide_words_are_given_up():
    """Entries above 2^64 are outside what the steps of 2^-400 are good for."""
    code = [((t + 1) % 2, t % 2, 1, 0) for t in range(12)]
    program = program_of(code, "x", [], [Input(0)], width=2)
    found = structure_of(program, FixedPoint(32, 0), [(-(2**20), 2**20)])
    assert np.isfinite(found.high[0])
    assert np.isinf(found.high[-1])


def test_errors_without_end_are_given_up():
    """Stepwise, the weight 2/5, which is 0 here, doubles the error again and again; what follows must not be called
    safe for want of a number."""
    once = [(0, 1, 1, 0), (1, 0, 1, 0), (1, 0, -1, 0), (0, 1, -1, 0)]
    code = [*once * 700, (2, 1, 1, 1), (3, 2, 1, 1)]
    program = program_of(
        code, "x", [Fraction(2, 5)], [Weight(0), Input(0)], width=4, outputs=(Output("y", 3, len(code)),)
    )
    ring, box = FixedPoint(16, 0), [(0, 1000)]
    found = structure_of(program, ring, box)
    assert not np.isnan(found.low).any()
    assert not np.isnan(found.high).any()
    assert_within(program, found, 0, [1000])
    assert not bound(program, ring, box).safe


def test_what_is_dropped_must_not_grow_again():
    """From the end backwards, ``y^23`` falls below what is kept, and ``x^30`` would have brought it back."""
    forms = [2, 2, *[0] * 30, *[1] * 23]
    code = [(k + 2, k + 1, 1, form) for k, form in enumerate(forms)]
    outputs = (Output("y", len(code) + 1, len(code)),)
    program = program_of(code, "xyz", [], [Input(u) for u in range(3)], width=len(code) + 2, outputs=outputs)
    found = structure_of(program, FixedPoint(32, 16), [(0, 2**15 - 1), (0, Fraction(1, 1 << 16)), (0, 1)])
    assert_within(program, found, 16, [(2**15 - 1) << 16, 1, 3])


def test_products_beyond_all_floats_are_given_up():
    names = [f"y{n}" for n in range(64)], [f"x{n}" for n in range(128)]
    program = compile_formula(
        parse_formula("; ".join(f"{y} = " + "*".join(x) for y, x in zip("ab", names, strict=True)))
    ).program
    found = bound(program, FixedPoint(32, 8), [(-1, 1) if name[0] == "y" else (-1000, 1000) for name in program.inputs])
    assert not found.safe
    assert found.errors["a"] < 100
    assert np.isinf(found.errors["b"])
