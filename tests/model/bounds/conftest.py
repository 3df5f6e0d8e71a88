"""References for the tests of bounds: runs in plain Python integers and fractions, programs, boxes and inputs.

Tests take them through the fixture ``reference``.
"""

import sys
from fractions import Fraction
from itertools import pairwise

import pytest
from skinny.model.program.forms import Input, Linear, Weight
from skinny.model.program.program import Columns, Output, Program
from skinny.model.rings import FixedPoint

THIRDS = (Fraction(1, 3), Fraction(-7, 10), Fraction(5, 4))


@pytest.fixture(scope="session")
def reference():
    return sys.modules[__name__]


def program_of(code, inputs, weights, forms, width=3, **rest):
    columns = Columns.of(*zip(*code, strict=True)) if code else Columns.empty()
    rest.setdefault("outputs", (Output("y", 0, len(code)),))
    return Program(width, tuple(inputs), tuple(weights), tuple(forms), columns, **rest)


def ref_rounded(a, b, frac):
    return (a * b + (1 << frac) // 2) >> frac


def ref_run(program, frac, raw, bits=None):
    """The fixed-point run, without any wrap or in ``bits`` bits: raw value of ``dst`` after each instruction, and raw
    outputs."""

    def wrapped(value):
        return value if bits is None else (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)

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
                scalars.append(wrapped(total + (0 if bias is None else weights[bias])))
    start = [v << frac for v in program.start]
    return _steps(program, start, lambda f, r: ref_rounded(scalars[f], r, frac), wrapped)


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


def _steps(program, start, multiply, wrapped=lambda value: value):
    registers, written, sent = list(start), [], {}
    waiting = list(program.outputs)
    for t in range(len(program) + 1):
        while waiting and waiting[0].at == t:
            output = waiting.pop(0)
            sent[output.name] = registers[output.register]
            if output.restart:
                registers = list(start)
        if t < len(program):
            dst, src, sign, form = (int(column[t]) for column in program.code.arrays()[:4])
            registers[dst] = wrapped(registers[dst] + sign * multiply(form, registers[src]))
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
