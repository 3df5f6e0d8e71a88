"""Streams: the program of a text with states and earlier samples is the recurrence that the text says."""

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from skinny.model.compiler.goal import Precision, parse_keep
from skinny.model.compiler.pipeline import compile_formula
from skinny.model.compiler.prove import prove_stream
from skinny.model.compiler.stream import compile_states, in_format, in_scales, in_window
from skinny.model.compiler.stream_scale import StreamScales
from skinny.model.errors import CheckError, InputError
from skinny.model.formula.definitions import Definitions, StateFormula
from skinny.model.formula.formula import constant, product, total, variables, weight
from skinny.model.formula.function import apply
from skinny.model.formula.parse import parse_definitions
from skinny.model.program.forms import Linear, renumbered
from skinny.model.program.text import dumps, loads
from skinny.model.rings import Exact, FixedPoint, Modular, parse_ring
from skinny.model.run.stream import begin_streams, run_stream

KEEPS = ["linear,reversible", "linear", "reversible", "none"]
BIQUAD = "state p = 0; state q = 0; y = x + p; let n = 1.2*y + q; next p = n; next q = 0.3*n - 0.5*q + 0.25*x"


def program_of(text, keep="none", width=16):
    return compile_states(parse_definitions(text), width=width, keep=parse_keep(keep)).program


def outputs_of(program, samples, ring=None):
    """The outputs of one stream of ``samples``, exactly."""
    ring = ring or Exact()
    elements = ring.encode_all([Fraction(value) for sample in samples for value in sample])
    elements = elements.reshape(1, len(samples), len(program.samples))
    found = run_stream(program, ring, elements, begin_streams(program, ring, 1, padded=True)).outputs[0]
    return [[Fraction(ring.decode(value)) for value in row] for row in found]


def drawn(chance, words, count=12):
    return [[Fraction(chance.randrange(-9, 10), chance.randrange(1, 4)) for _ in range(words)] for _ in range(count)]


@pytest.mark.parametrize("keep", KEEPS)
def test_a_biquad_is_its_difference_equation(keep):
    """With h = G + H: y[t] = x - h·x[t-1] + F·x[t-2] + (h + P)·y[t-1] - P·H·y[t-2]."""
    p, g, h, f = Fraction(6, 5), Fraction(3, 10), Fraction(-1, 2), Fraction(1, 4)
    samples = drawn(random.Random(1), 1)
    x = [Fraction(0)] * 2 + [row[0] for row in samples]
    y = [Fraction(0)] * 2
    for t in range(2, len(x)):
        y.append(x[t] - (g + h) * x[t - 1] + f * x[t - 2] + (g + h + p) * y[t - 1] - p * h * y[t - 2])
    program = program_of(BIQUAD, keep)
    assert outputs_of(program, samples) == [[value] for value in y[2:]]
    assert outputs_of(loads(dumps(program)), samples) == [[value] for value in y[2:]]


def test_all_next_values_are_made_of_old_ones():
    a, b = Fraction(1), Fraction(2)
    samples = drawn(random.Random(2), 1)
    expected = []
    for (x,) in samples:
        expected.append([a - b, a * b])
        a, b = a * b + x, 2 * a - b
    for text in (
        "y = a - b; z = a*b; next a = a*b + x; next b = 2*a - b",
        "next b = 2*a - b; next a = a*b + x; y = a - b; z = a*b",
    ):
        assert outputs_of(program_of(f"state a = 1; state b = 2; {text}"), samples) == expected


def test_states_and_a_window_together():
    s, last = Fraction(-1, 2), Fraction(0)
    samples = drawn(random.Random(3), 1)
    expected = []
    for (x,) in samples:
        expected.append([s + x * last])
        s, last = s / 2 + x - last, x
    program = program_of("state s = -1/2; y = s + x*x[t-1]; next s = s/2 + x - x[t-1]")
    assert (program.window, program.hop, program.inputs) == (2, 1, ("x", "x[t-1]"))
    assert outputs_of(program, samples) == expected


@pytest.mark.parametrize("ring", [Modular(16), FixedPoint(16, 8), Exact()], ids=lambda ring: ring.name)
def test_relu_of_states(ring):
    """An anti-windup: the sum is kept at zero or above, and below 5."""
    program = program_of("state i = 0; let up = relu(i + e); let n = up - relu(up - 5); next i = n; u = n")
    chance, i = random.Random(4), 0
    samples = [[chance.randrange(-4, 5)] for _ in range(40)]
    expected = []
    for (e,) in samples:
        i = min(max(i + e, 0), 5)
        expected.append([i])
    assert {0, 5} < {row[0] for row in expected}
    assert outputs_of(program, samples, ring) == expected


def random_stream(chance, keep):
    """A stream formula, whose products have at most one factor with a state where it is to be linear."""
    names = [f"s{n}" for n in range(chance.randrange(1, 5))]
    inputs = variables(chance.choice(["x z", "x z x[t-1] z[t-1]"]))
    states = variables(" ".join(names))
    recalls = {id(state) for state in states}
    nodes = [*states, *inputs, weight("k", 2, 0, 3), constant(chance.randrange(-3, 4)), constant(1)]
    for _ in range(chance.randrange(1, 10)):
        args = chance.choices(nodes, k=chance.randrange(1, 4))
        kind = chance.choice(["sum", "product", "relu" if keep == "none" else "sum"])
        if kind == "product" and "linear" in keep:
            args = [a for a in args if id(a) not in recalls] + [a for a in args if id(a) in recalls][:1]
        node = {"sum": total, "product": product, "relu": lambda found: apply("relu", found[0])}[kind](args)
        nodes.append(node)
        if any(id(arg) in recalls for arg in node.args):
            recalls.add(id(node))
    outputs = {f"y{n}": formula for n, formula in enumerate(chance.choices(nodes, k=chance.randrange(1, 4)))}
    found = tuple(StateFormula(name, Fraction(chance.randrange(-3, 4)), chance.choice(nodes)) for name in names)
    return Definitions(outputs, found, ("x", "z")[::-1], int(len(inputs) == 4))


@pytest.mark.parametrize("keep", KEEPS)
def test_random_streams_are_proven_on_every_width_that_fits(keep):
    chance = random.Random(keep)
    found = 0
    for _ in range(120):
        definitions = random_stream(chance, keep)
        width = chance.choice([3, 4, 5, 8, 16])
        try:
            program = compile_states(definitions, width=width, keep=parse_keep(keep)).program
        except InputError:
            if width == 16:
                raise
            continue
        found += 1
        assert program.width <= width
        assert [state.name for state in program.state] == [state.name for state in definitions.states]
        assert program.linear or "linear" not in keep
        assert "reversible" not in keep or not program.code.mode.any()
    assert found > 50


def test_the_proof_notices_every_wrong_instruction():
    definitions = parse_definitions(BIQUAD)
    program = program_of(BIQUAD, width=3)
    assert prove_stream(program, definitions) == "at 2 random points mod 2^61-1, 3 samples in a row"
    for position in range(len(program)):
        program.code.sign[position] *= -1
        with pytest.raises(
            CheckError, match=r"internal error: (output y|the state [pq]) of the compiled program is wr"
        ):
            prove_stream(program, definitions)
        program.code.sign[position] *= -1


def test_the_proof_notices_a_state_that_begins_elsewhere():
    definitions = parse_definitions("state s = 1/2; y = s; next s = s + x")
    program = program_of("state s = 1/3; y = s; next s = s + x")
    with pytest.raises(CheckError, match="internal error: the state s begins with 1/3"):
        prove_stream(program, definitions)


def test_the_proof_notices_a_window_that_is_off_by_one():
    text = "state s = 0; y = s + x[t-2]; next s = s + x[t-1]"
    definitions, program = parse_definitions(text), program_of(text)
    forms = renumbered(program.forms, [0, 2, 1], range(len(program.weights)))
    assert program.inputs == ("x", "x[t-1]", "x[t-2]")
    with pytest.raises(CheckError, match="of the compiled program is wrong"):
        prove_stream(replace(program, forms=tuple(forms)), definitions)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("state s = 0; y = s; next s = s*s", {"keep": "linear"}, "which is not linear: --keep reversible or none"),
        ("state s = 0; y = s; next s = relu(s)", {"keep": "linear"}, r"relu\(s\) is neither linear nor reversible"),
        ("state s = 0; y = s; next s = sin(s)", {}, r"sin\(s\) is no polynomial"),
        (BIQUAD, {"width": 2}, "the width must be 3 to 1024, not 2"),
        (BIQUAD + "; state r = 0; next r = r", {"width": 3}, "3 states and the one need 4 registers"),
        ("state a = 1; state b = 2; next a = b; next b = a; y = a", {"width": 3}, "does not fit 3 registers"),
    ],
)
def test_refused(text, options, message):
    with pytest.raises(InputError, match=message):
        program_of(text, **options)


def test_a_form_with_a_named_weight_changes_a_state_by_adding():
    text = "weight k = 2 in 0:3; state s = 1; y = s; next s = (k + 2*x)*s"
    expected, s = [], Fraction(1)
    samples = drawn(random.Random(7), 1)
    for (x,) in samples:
        expected.append([s])
        s *= 2 + 2 * x
    assert outputs_of(program_of(text, "linear,reversible"), samples) == expected


def windowed(text, ranges=None, **options):
    definitions = parse_definitions(text)
    return in_window(compile_formula(definitions.outputs, **options).program, definitions, ranges or {})


def test_a_window_without_states_is_a_program_of_its_words():
    program = windowed("y = (x + 2*z[t-1])*x[t-2] - x")
    samples = drawn(random.Random(5), 2)
    x, z = ([Fraction(0)] * 2 + [row[u] for row in samples] for u in range(2))
    expected = [[(x[t] + 2 * z[t - 1]) * x[t - 2] - x[t]] for t in range(2, len(x))]
    assert program.samples == ("x", "z")
    assert (program.window, program.hop) == (8, 2)
    assert outputs_of(program, samples) == expected


def test_words_of_a_window_have_the_scale_and_the_range_of_their_sample():
    sides = {"x": (Fraction(-100), Fraction(100)), "z": (Fraction(0), Fraction(3))}
    box = {"x": sides["x"], "x[t-1]": sides["x"], "z": sides["z"]}
    precision = Precision(16, None, box, None, scale=True)
    program = windowed("y = z*x[t-1] + x", sides, precision=precision)
    assert program.inputs == ("x", "z", "x[t-1]", "z[t-1]")
    assert program.input_scales == (7, 2, 7, 2)
    assert program.box == (sides["x"], sides["z"]) * 2


def test_a_format_is_proven_for_all_samples():
    text = "state s = 0; y = s; next s = 0.9*s + 0.1*x"
    definitions = parse_definitions(text)
    compiled = compile_states(definitions, width=3, keep=parse_keep("none"))
    box = {"x": (Fraction(-1), Fraction(1))}
    found = in_format(compiled, definitions, Precision(16, None, box))
    assert (found.program.ring, found.program.box) == ("fixed:16.14", ((Fraction(-1), Fraction(1)),))
    ring = FixedPoint(16, 14)
    chance = np.random.default_rng(6)
    samples = np.where(chance.random((1, 3000, 1)) < 0.5, -(1 << 14), 1 << 14)
    exact, worst = 0.0, 0.0
    for raw, y in zip(samples[0, :, 0], run_stream(found.program, ring, samples).outputs[0, :, 0], strict=True):
        worst = max(worst, abs(y / 2**14 - exact))
        exact = 0.9 * exact + 0.1 * raw / 2**14
    assert 0 < worst <= found.errors["y"]
    for asked, message in (
        (Precision(16, 15, box), r"x: 1 does not fit fixed:16.15"),
        (
            Precision(8, None, box, Fraction(1, 1000)),
            "error of at most 0.001 in fixed:8 on this box: with 6 fraction bits",
        ),
    ):
        with pytest.raises((InputError, CheckError), match=message):
            in_format(compiled, definitions, asked)


@pytest.mark.parametrize("keep", KEEPS)
def test_a_stream_with_scales_gives_the_same_numbers(keep):
    """States, products of states, the relu, constants and named weights; proven against the formula as written."""
    chance = random.Random(keep)
    for _ in range(12):
        definitions = random_stream(chance, keep)
        scales = StreamScales({"x": chance.randrange(-3, 13), "z": chance.randrange(-3, 13)}, chance.randrange(-5, 9))
        program = compile_states(definitions, width=16, keep=parse_keep(keep), scales=scales).program
        assert {output.scale for output in program.outputs} == {scales.common}
        samples = drawn(chance, len(program.samples))
        into = [Fraction(2) ** scales.inputs[name] for name in program.samples]
        divided = [[x / unit for x, unit in zip(row, into, strict=True)] for row in samples]
        found = [[y * Fraction(2) ** scales.common for y in row] for row in outputs_of(program, divided)]
        plain = compile_states(definitions, width=16, keep=parse_keep(keep)).program
        assert found == outputs_of(plain, samples)


def test_scales_use_the_bits_of_a_word():
    """A sensor's word in a low-pass: where the format had to hold 4095, an eighth would not be held at all."""
    definitions = parse_definitions("state s = 0; let n = s + (v - s)/8; next s = n; y = n")
    box = {"v": (Fraction(0), Fraction(4095))}
    compiled = in_scales(definitions, Precision(16, None, box, scale=True), width=3, keep=parse_keep("linear"))
    program = compiled.program
    assert program.box == (box["v"],)
    assert compiled.errors["y"] < 1
    ring = parse_ring(program.ring)
    chance = np.random.default_rng(9)
    given = np.where(chance.random(2000) < 0.5, 4095, chance.integers(0, 4096, 2000))
    words = (given << ring.frac) >> program.input_scales[0]
    sent = run_stream(program, ring, words.reshape(1, -1, 1)).outputs[0, :, 0] * 2.0 ** (
        program.outputs[0].scale - ring.frac
    )
    exact, worst = 0.0, 0.0
    for v, y in zip(given.tolist(), sent.tolist(), strict=True):
        exact += (v - exact) / 8
        worst = max(worst, abs(y - exact))
    assert 0 < worst <= compiled.errors["y"] + 4095 * 2.0**-ring.frac


def test_with_an_error_the_fewest_cycles_count():
    definitions = parse_definitions("state s = 0; let n = 0.8*s + v; next s = n; y = n")
    box = {"v": (Fraction(0), Fraction(4095))}
    options = {"width": 3, "keep": parse_keep("linear")}
    finest = in_scales(definitions, Precision(16, None, box, scale=True), **options)
    shortest = in_scales(definitions, Precision(16, None, box, Fraction(10), scale=True), **options)
    assert shortest.program.words < finest.program.words
    assert finest.errors["y"] < shortest.errors["y"] <= 10


def test_scales_that_are_not_proven_are_refused():
    definitions = parse_definitions("state s = 0; let n = s + (v - s)/8; next s = n; y = n")
    box = {"v": (Fraction(0), Fraction(4095))}
    with pytest.raises(CheckError, match=r"error of at most 0\.1 in fixed:12 on this box"):
        in_scales(definitions, Precision(12, None, box, Fraction(1, 10), scale=True), width=3, keep=parse_keep("none"))
    growing = parse_definitions("state s = 0; y = s; next s = s + x")
    with pytest.raises(CheckError, match="pole on the unit circle"):
        in_scales(growing, Precision(16, None, {"x": box["v"]}, scale=True), width=3, keep=parse_keep("none"))


def test_what_grows_has_no_format():
    definitions = parse_definitions("state s = 0; y = s; next s = s + x")
    compiled = compile_states(definitions, width=3, keep=parse_keep("none"))
    with pytest.raises(CheckError, match="pole on the unit circle"):
        in_format(compiled, definitions, Precision(16, 8, {"x": (Fraction(-1), Fraction(1))}))


def test_forms_of_inputs_keep_their_order_in_a_window():
    program = windowed("y = 3*x[t-1] + 2*x")
    (form,) = (form for form in program.forms if isinstance(form, Linear))
    assert sorted((int(program.weights[k]), program.inputs[u]) for k, u in form.terms) == [(2, "x"), (3, "x[t-1]")]
