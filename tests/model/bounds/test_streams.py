"""Bounds of streams, against the inputs that are worst for them and against simulations in integers."""

from fractions import Fraction

import numpy as np
import pytest
from skinny.model.bounds.bounds import bound
from skinny.model.bounds.case import Case
from skinny.model.bounds.layers import StateRange, follow_samples
from skinny.model.compiler.stream import compile_states
from skinny.model.formula.parse import parse_definitions
from skinny.model.program.text import loads
from skinny.model.rings import FixedPoint
from skinny.model.run.stream import run_stream

RING = FixedPoint(24, 10)
HALF = 1 << (RING.frac - 1)


def resonator(a1: Fraction, a2: Fraction):
    """y = x + a1*s + a2*r; next s = y, next r = s."""
    return loads(
        "skinny 1\nwidth 4\ncontract clean\nstart 0 1 0 0\nstate s = R2\nstate r = R3\ninputs x\n"
        f"weight w[0] = {a1}\nweight w[1] = {a2}\nweight w[2] = 1\n"
        "R0 += x*R1\nR0 += w[0]*R2\nR0 += w[1]*R3\nR3 = w[2]*R2\nR2 = w[2]*R0\nemit y = R0\nend\n"
    )


def worst_inputs(a1: float, a2: float, steps: int) -> list[int]:
    """Words of -1 and 1 with the signs of the responses, so that all of them add up in the last sample."""
    response, before = [1.0], 0.0
    while len(response) < steps:
        before, last = response[-1], before
        response.append(a1 * before + a2 * last)
    return [(1 if value >= 0 else -1) << RING.frac for value in reversed(response)]


def simulate(a1: Fraction, a2: Fraction, words: list[int]) -> tuple[int, float]:
    """The largest word that is sent, and the largest error, in steps."""
    w1, w2 = RING.encode(a1), RING.encode(a2)
    s = r = 0
    exact_s = exact_r = 0.0
    largest, error = 0, 0.0
    for x in words:
        s, r = x + ((w1 * s + HALF) >> RING.frac) + ((w2 * r + HALF) >> RING.frac), s
        exact_s, exact_r = x + float(a1) * exact_s + float(a2) * exact_r, exact_s
        largest, error = max(largest, abs(s)), max(error, abs(s - exact_s))
    return largest, error


@pytest.mark.parametrize(("radius", "angle"), [(0.5, 1.0), (0.9, 0.3), (0.97, 2.0), (0.99, 0.7)])
def test_worst_inputs_come_close_to_the_range_and_none_go_beyond_it_or_the_error(radius, angle):
    a1, a2 = Fraction(2 * radius * np.cos(angle)).limit_denominator(999), -Fraction(radius**2).limit_denominator(999)
    found = bound(resonator(a1, a2), RING, [(-1, 1)])
    assert found.safe
    assert found.reason is None
    step = 2.0**-RING.frac
    used = [RING.encode(a) * step for a in (a1, a2)]
    largest, error = simulate(a1, a2, worst_inputs(*used, 1500))
    assert 1.0 <= found.ranges[2, 1] / (largest * step) <= 1.3
    assert error * step <= found.errors["y"]
    rng = np.random.default_rng(3)
    for scale in (1, 1 << 5, 1 << RING.frac):
        largest, error = simulate(a1, a2, rng.integers(-scale, scale + 1, 1500).tolist())
        assert largest * step <= found.ranges[2, 1]
        assert error * step <= found.errors["y"]


def test_rounding_a_weight_can_make_a_filter_unstable():
    program = resonator(Fraction(0), Fraction(-4999, 5000))
    assert bound(program, FixedPoint(32, 16), [(-1, 1)]).reason is None
    coarse = bound(program, FixedPoint(16, 8), [(-1, 1)])
    assert not coarse.safe
    assert coarse.reason.startswith("no bound proven: pole on the unit circle at 0 ± 1i")


def test_a_pole_outside_is_said_to_grow_and_a_product_of_state_has_no_bound():
    assert bound(resonator(Fraction(0), Fraction(9, 8)), RING, [(-1, 1)]).reason.startswith("grows without bound: pole")
    squared = loads(
        "skinny 1\nwidth 4\ncontract clean\nstart 0 1 1/2 0\nstate s = R2\ninputs x\nweight w[0] = 1\n"
        "R0 += x*R2\nR2 = w[0]*R0\nemit y = R0\nend\n"
    )
    found = bound(squared, RING, [(-1, 1)])
    assert not found.safe
    assert found.reason == (
        "no bound proven: instruction 0 multiplies two values that change, "
        "and no ranges were found that the states stay in; "
        "a smaller box, narrower ranges of named weights, or a factor that lets the state fade may help"
    )


#: next s = relu(s/2 + 3/4*x), and next s = x*s + 1/8 from one: the state multiplies, and is multiplied.
CELLS = {
    "relu": "start 0 1 0 0\nstate s = R2\ninputs x\nweight w[0] = 1/2\nweight w[1] = 3/4\n"
    "form f[0] = w[0]*R2 + w[1]*x\nR2 = relu(f[0]*R1)\nemit y = R2\nend\n",
    "product": "start 0 1 1 0\nstate s = R2\ninputs x\nweight w[0] = 1\nweight w[1] = 1/8\n"
    "R0 += x*R2\nR0 += w[1]*R1\nR2 = w[0]*R0\nemit y = R0\nend\n",
}


def rounded(product: int) -> int:
    return (product + HALF) >> RING.frac


@pytest.mark.parametrize(
    ("name", "most", "start", "step", "exact"),
    [
        (
            "relu",
            # x is never above 1: 3/4 + 3/8 + …
            1.5,
            0,
            lambda s, x: max(0, rounded(s << RING.frac - 1) + rounded(3 * x << RING.frac - 2)),
            lambda s, x: max(Fraction(0), s / 2 + Fraction(3, 4) * x),
        ),
        (
            "product",
            # x is never above 3/4, and the state begins with one.
            1.0,
            1 << RING.frac,
            lambda s, x: rounded(s * x) + (1 << RING.frac - 3),
            lambda s, x: s * x + Fraction(1, 8),
        ),
    ],
)
def test_states_that_multiply_stay_in_ranges_that_are_found(name, most, start, step, exact):
    largest_input = Fraction(1) if name == "relu" else Fraction(3, 4)
    found = bound(loads(f"skinny 1\nwidth 4\ncontract clean\n{CELLS[name]}"), RING, [(-largest_input, largest_input)])
    assert found.safe
    assert found.reason is None
    unit = 2.0**-RING.frac
    assert most - 0.02 <= found.ranges[2, 1] <= most + 0.05
    rng = np.random.default_rng(4)
    top = int(largest_input * 2**RING.frac)
    worst = 0.0
    for words in ([top] * 60, [-top] * 60, [top, -top] * 30, *rng.integers(-top, top + 1, (60, 60)).tolist()):
        s, right = start, Fraction(start, 1 << RING.frac)
        for x in words:
            s, right = step(s, x), exact(right, Fraction(x, 1 << RING.frac))
            assert found.ranges[2, 0] <= s * unit <= found.ranges[2, 1]
            worst = max(worst, abs(float(s * unit - right)))
    assert 0 < worst <= found.errors["y"] <= 4 * worst


def test_a_state_that_nothing_reads_or_nothing_moves_needs_no_stable_pole():
    counted = loads(
        "skinny 1\nwidth 4\ncontract clean\nstart 0 1 0 1/2\nstate s = R2\nstate c = R3\ninputs x\nweight w[0] = 1\n"
        "R2 += x*R1\nR0 += w[0]*R3\nR3 = w[0]*R0\nemit y = R0\nend\n"
    )
    found = bound(counted, RING, [(-1, 1)])
    assert found.safe
    assert found.reason is None
    assert found.ranges[0].tolist() == [0, 0.5]
    assert found.ranges[2].tolist() == [-np.inf, np.inf]


#: Streams whose words are bounded though their errors are not.
WORDS = {
    # What an integral loses to rounding it never gets back; the limiter keeps it in range.
    "integral": "state i = 0; let u = x + i; let c = relu(u - 1) - relu(-1 - u); next i = i + 0.1*x - 0.5*c; y = u - c",
    # One sample alone loses too much: the states turn round their start, and leave every box for a while.
    "turning": "state a = 0; state b = 0; next a = 0.6*a - 0.6*b + x; next b = 0.6*a + 0.6*b; y = relu(a)",
    # A coarse format, in which much is rounded.
    "rounded": "state i = 0; state s = 0; let c = relu(i - 1) - relu(-1 - i); next i = i + x - 0.5*c; "
    "let n = relu(0.875*s + x); next s = n; y = n",
    "window": "state s = 0; next s = s + 0.5*relu(x[t-1] - s) - 0.5*relu(s - x); y = s",
    "named": "weight k = 0.5 in 0.4:0.6; state i = 0; let c = relu(i - 1) - relu(-1 - i); next i = i + x - k*c; y = i",
}


def compiled(text):
    return compile_states(parse_definitions(text), width=16, keep=frozenset()).program


@pytest.mark.parametrize("name", WORDS)
def test_words_are_bounded_where_errors_are_not(name):
    ring = FixedPoint(16, 3 if name == "rounded" else 8)
    low, high = (0, Fraction(1, 4)) if name == "rounded" else (Fraction(-1), Fraction(1))
    program = compiled(WORDS[name])
    found = bound(program, ring, [(low, high)] * len(program.inputs))
    assert found.safe
    assert found.reason.startswith("the values fit for ever, but no bound of the error was proven: ")
    assert found.errors == {"y": np.inf}
    rng = np.random.default_rng(4)
    top, bottom = ring.encode(high), ring.encode(low)
    rows = [[top] * 80, [bottom] * 80, [top, bottom] * 40, ([top] * 4 + [bottom] * 4) * 10]
    rows += [[top] * n + [bottom] * (80 - n) for n in range(1, 20)] + rng.integers(bottom, top + 1, (20, 80)).tolist()
    samples = np.array(rows)[:, :, None]
    sent, state = [], None
    for part, k in zip(np.split(samples, 8, axis=1), ["0.4", "0.6"] * 4, strict=True):
        ran = run_stream(program.with_weights(k=Fraction(k)) if name == "named" else program, ring, part, state)
        sent, state = [*sent, ran.outputs], ran.state
    sent = np.concatenate(sent, axis=1)
    register = program.outputs[-1].register
    unit = 2.0**-ring.frac
    assert found.ranges[register, 0] <= sent.min() * unit
    assert sent.max() * unit <= found.ranges[register, 1]


@pytest.mark.parametrize(("factor", "least"), [("", 0), ("weight k = 1 in 0:1; ", -1)])
def test_a_window_moves_on_from_sample_to_sample_and_a_named_weight_may_change(factor, least):
    k = "k*" if factor else ""
    program = compiled(f"{factor}state a = 0; state b = 0; next a = {k}x; next b = a - {k}x[t-1]; y = b*b")
    step = 1 << RING.frac
    named = {program.weight_names().index("k"): (0, step)} if factor else {}
    weights = [RING.encode(weight) for weight in program.weights]
    case = Case(program, RING.frac, [(0, step)] * 2, weights, [0, step, 0, *[0] * (program.width - 3)], named)
    _, after = follow_samples(case, {0: StateRange(-9, 9, 0), 2: StateRange(-9, 9, 0)}, 2, exact=False)
    assert least - 0.01 <= after[2].low <= least + 0.01
    assert -least - 0.01 <= after[2].high <= -least + 0.01
