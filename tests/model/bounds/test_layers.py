"""Bounds of programs that are not pure, against runs in plain Python integers and fractions."""

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skinny.model.bounds.bounds import bound
from skinny.model.bounds.suggest import suggest
from skinny.model.named_weight import NamedWeight
from skinny.model.program.forms import Input, Linear, Weight
from skinny.model.program.program import Columns, Output, Program
from skinny.model.rings import FixedPoint

ADD, ASSIGN, RELU = range(3)
RING = FixedPoint(16, 8)
THIRDS = (Fraction(1), Fraction(1, 3), Fraction(-7, 10), Fraction(5, 4))


def program_of(code, inputs="xz", weights=THIRDS, forms=(), width=4, outputs=None, **rest):
    columns = Columns.of(*zip(*code, strict=True))
    outputs = outputs or (Output("y", 0, len(code)),)
    return Program(width, tuple(inputs), tuple(weights), tuple(forms), columns, outputs, **rest)


def ref_run(program, x, weights, times):
    """Every value that is written, the values before each relu and the outputs, in a machine without limits;
    ``times`` multiplies."""
    registers = list(program.start)
    registers = [times(1, 1) if value else 0 * times(1, 1) for value in registers]
    written, before = [], []
    for dst, src, sign, number, mode in zip(*(c.tolist() for c in program.code.arrays()), strict=True):
        match program.forms[number]:
            case Input(u):
                scalar = x[u]
            case Weight(k):
                scalar = weights[k]
            case Linear(terms, bias, sums):
                scalar = sum(times(weights[k], x[u], 1) for k, u in terms) + (0 if bias is None else weights[bias])
                for factor, i in sums:
                    scalar += times(x[factor.u] if isinstance(factor, Input) else weights[factor.k], registers[i], 1)
        product = sign * times(scalar, registers[src], 1)
        before.append(product)
        registers[dst] = max(product, 0 * product) if mode == RELU else product + (registers[dst] if mode == ADD else 0)
        written.append(registers[dst])
    return written, before, {output.name: registers[output.register] for output in program.outputs}


def raw_times(frac):
    def times(a, b, rounded=0):
        return (a * b + (1 << frac) // 2) >> frac if rounded else 1 << frac

    return times


def exact_times(a, b, rounded=0):
    return a * b


def ref_words(program, raw, frac):
    words = [FixedPoint(32, frac).encode(w) for w in program.weights]
    return ref_run(program, raw, words, raw_times(frac))


def ref_error(program, raw, frac, name="y"):
    value = Fraction(ref_words(program, raw, frac)[2][name], 1 << frac)
    exact = ref_run(program, [Fraction(r, 1 << frac) for r in raw], program.weights, exact_times)[2][name]
    return abs(value - exact)


def points(rng, ends, count):
    corners = itertools.islice(itertools.product(*ends), 16)
    return [list(corner) for corner in corners] + [[rng.randint(*side) for side in ends] for _ in range(count)]


SQUARE = [
    Linear(((1, 0), (2, 1)), 3),
    Weight(1),
]


def test_a_square_of_a_form():
    """y = (x/3 - 7z/10 + 5/4)^2 on -1:1 lies between 0 and (1/3 + 7/10 + 5/4)^2."""
    program = program_of([(0, 1, 1, 0, ASSIGN), (0, 0, 1, 0, ASSIGN)], forms=SQUARE)
    found = bound(program, RING, [(-1, 1), (-1, 1)])
    most = (Fraction(1, 3) + Fraction(7, 10) + Fraction(5, 4)) ** 2
    assert found.low[1] >= -found.errors["y"]
    assert float(most) <= found.high[1] <= 1.01 * float(most) + found.errors["y"]
    # The form has two rounded products and three rounded weights; the slope of the square is at most twice its size.
    rounded = [abs(Fraction(RING.encode(w), 256) - w) for w in THIRDS[1:]]
    form = sum(rounded) + Fraction(2, 512)
    size = Fraction(1, 3) + Fraction(7, 10) + Fraction(5, 4)
    assert found.errors["y"] == pytest.approx(float(2 * size * form + form**2 + Fraction(1, 512)), rel=1e-6)


def test_whole_weights_round_nothing():
    """3·x - x, added and assigned, is exact."""
    program = program_of(
        [(2, 1, 1, 0, ASSIGN), (0, 2, 1, 1, ASSIGN), (0, 2, -1, 2, ADD)],
        inputs="x",
        weights=(Fraction(3), Fraction(1)),
        forms=[Input(0), Weight(0), Weight(1)],
    )
    found = bound(program, RING, [(-2, 2)])
    assert found.errors == {"y": 0.0}
    assert (found.low[2], found.high[2]) == (-4, 4)  # 3x and x go up and down together


def test_relu_is_not_below_zero_and_keeps_errors():
    program = program_of(
        [(2, 1, 1, 0, ASSIGN), (0, 1, 1, 1, RELU)], forms=[Input(0), Linear((), None, ((Weight(1), 2),))]
    )
    found = bound(program, RING, [(-3, 3), (0, 0)])
    assert -found.errors["y"] <= found.low[1] <= 0
    assert 1 <= found.high[1] <= 1 + found.errors["y"]
    # A third of a word is off by at most the rounding of the weight times three, and half a step.
    off = abs(Fraction(RING.encode(Fraction(1, 3)), 256) - Fraction(1, 3)) * 3 + Fraction(1, 512)
    assert found.errors["y"] == pytest.approx(float(off), rel=1e-9)
    below = program_of([(0, 1, 1, 0, RELU)], forms=[Input(0)])
    assert bound(below, RING, [(-3, -1), (0, 0)]).ranges[0].tolist() == [0, 0]


def test_what_is_undone_is_as_it_was():
    """R0 takes a product of registers and gives it back; R2 is read in between."""
    product = Linear((), None, ((Weight(1), 2),))
    code = [(2, 1, 1, 0, ADD), (3, 1, 1, 1, ADD), (0, 3, 1, 2, ADD), (0, 3, -1, 2, ADD), (3, 1, -1, 1, ADD)]
    program = program_of(code, forms=[Input(0), Input(1), product], outputs=(Output("y", 0, 5),))
    assert program.reversible
    found = bound(program, RING, [(-1, 1), (-1, 1)])
    assert found.errors == {"y": 0.0}
    assert (found.low[3], found.high[3], found.low[4], found.high[4]) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("code", "forms", "register", "instruction"),
    [
        # R2 = 50·x + 50·x is read as a part of S, which is 0.
        (
            [(2, 1, 1, 0, ASSIGN), (2, 1, 1, 0, ADD), (0, 1, 1, 1, ASSIGN)],
            [Linear(((2, 0),)), Linear((), None, ((Weight(1), 2),))],
            2,
            2,
        ),
        # S itself, which an instruction multiplies with.
        ([(0, 1, 1, 0, ASSIGN)], [Linear(((3, 0),))], None, 0),
    ],
)
def test_what_is_read_must_fit(code, forms, register, instruction):
    """Values reach 100·1.5, and words of 16.8 end before 128."""
    program = program_of(code, weights=(1, 0, 50, 100), forms=forms)
    assert bound(program, RING, [(0, 1), (0, 0)]).safe
    found = bound(program, RING, [(0, Fraction(3, 2)), (0, 0)])
    assert (found.overflow.instruction, found.overflow.register, found.overflow.high) == (instruction, register, 150)


def test_a_relu_of_what_does_not_fit_is_not_safe():
    """-100·x is read only by the relu, which would make zero of it."""
    program = program_of([(0, 2, -1, 0, RELU)], weights=(1,), forms=[Input(0)], start=(0, 1, 100, 0))
    assert bound(program, RING, [(0, 1), (0, 0)]).safe
    found = bound(program, RING, [(0, Fraction(3, 2)), (0, 0)])
    assert (found.overflow.instruction, found.overflow.register, found.overflow.low) == (0, 0, -150)
    assert found.high.tolist() == [0]


def test_a_form_is_what_it_is_where_it_is_applied():
    """R2 is x, then z; y is three times the second."""
    held = Linear((), None, ((Weight(0), 2),))
    code = [(2, 1, 1, 0, ASSIGN), (3, 1, 1, 2, ASSIGN), (2, 1, 1, 1, ASSIGN), (0, 1, 1, 2, ASSIGN)]
    program = program_of(code, weights=(3,), forms=[Input(0), Input(1), held])
    found = bound(program, RING, [(0, 1), (5, 6)])
    assert (found.low[1], found.high[1], found.low[3], found.high[3]) == (0, 3, 15, 18)


def test_a_restart_begins_anew():
    """After the restart R2 is zero again, so that only the second product is in it."""
    code = [(2, 1, 1, 0, ADD), (0, 2, 1, 0, ASSIGN), (2, 1, 1, 0, ADD)]
    outputs = (Output("a", 0, 2, restart=True), Output("b", 2, 3))
    found = bound(program_of(code, forms=[Input(0)], outputs=outputs), RING, [(1, 2), (0, 0)])
    assert (found.low[2], found.high[2]) == (1, 2)


def test_named_weights_count_over_their_range():
    kp = NamedWeight("kp", Fraction(1, 2), Fraction(0), Fraction(2), ((1, Fraction(1)),))
    program = program_of(
        [(2, 1, 1, 0, ASSIGN), (0, 1, 1, 1, ASSIGN)],
        weights=(Fraction(1), Fraction(1, 2)),
        forms=[Input(0), Linear((), None, ((Weight(1), 2),))],
        named=(kp,),
    )
    found = bound(program, RING, [(-1, 3), (0, 0)])
    assert (found.low[1], found.high[1]) == (
        pytest.approx(-2 - 1 / 512, abs=0.01),
        pytest.approx(6 + 1 / 512, abs=0.01),
    )
    assert found.errors["y"] == pytest.approx(1 / 512, rel=1e-9)


def draw_program(draw):
    """Instructions of all kinds on four registers, forms of all kinds."""
    scalar = st.one_of(st.builds(Input, st.integers(0, 1)), st.builds(Weight, st.integers(0, 3)))
    forms, code = [], []
    for _ in range(draw(st.integers(1, 9))):
        mode = draw(st.sampled_from([ADD, ADD, ASSIGN, RELU]))
        dst, src = draw(st.integers(0, 3)), draw(st.integers(0, 3))
        read = [i for i in range(4) if mode != ADD or i != dst]
        if mode == ADD and src == dst:
            src = read[0]
        sums = draw(st.lists(st.tuples(scalar, st.sampled_from(read)), max_size=2))
        terms = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), max_size=2))
        bias = draw(st.sampled_from([None, 0, 1, 2, 3]))
        form = (
            draw(scalar)
            if not (sums or terms or bias) or draw(st.booleans())
            else Linear(tuple(terms), bias, tuple(sums))
        )
        code.append((dst, src, draw(st.sampled_from([1, -1])), len(forms), mode))
        forms.append(form)
    return program_of(code, forms=forms, outputs=(Output("y", draw(st.integers(0, 3)), len(code)),))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.data())
def test_never_exceeded(data):
    program = draw_program(data.draw)
    if program.pure:
        return
    frac = data.draw(st.sampled_from([0, 4, 8, 12]))
    ring = FixedPoint(32, frac)
    box = [(Fraction(-1), Fraction(3, 2)), (Fraction(1, 4), Fraction(1))]
    found = bound(program, ring, box)
    ends = [(ring.encode(low), ring.encode(high)) for low, high in box]
    for raw in points(random.Random(1), ends, 12):
        written, _, _ = ref_words(program, raw, frac)
        for t, value in enumerate(written):
            assert found.low[t] <= value / 2**frac <= found.high[t], (t, raw)
        assert ref_error(program, raw, frac) <= found.errors["y"], raw


def climbed(score, ends, rng, rounds):
    """The greatest score that single changes of one input find from a few random corners."""
    best = 0
    for _ in range(4):
        at = [rng.choice(side) for side in ends]
        top = score(at)
        for _ in range(rounds):
            u = rng.randrange(len(ends))
            low, high = ends[u]
            moved = [*at[:u], min(high, max(low, rng.choice([low, high, at[u] + rng.randint(-9, 9)]))), *at[u + 1 :]]
            if (new := score(moved)) > top:
                at, top = moved, new
        best = max(best, top)
    return best


def test_a_network_is_bounded_near_what_is_found():
    """8-6-3 with squares and weights of two digits."""
    rng = random.Random(3)
    weights = [Fraction(rng.randint(-50, 50), 100) for _ in range(8 * 6 + 6 * 3)]
    forms = [Linear(tuple((8 * h + u, u) for u in range(8))) for h in range(6)]
    code = [(2 + h, 1 + n * (1 + h), 1, h, ASSIGN) for h in range(6) for n in range(2)]
    for y, h in itertools.product(range(3), range(6)):
        forms.append(Weight(48 + 6 * y + h))
        code.append((8 + y, 2 + h, 1, len(forms) - 1, ADD if h else ASSIGN))
    outputs = tuple(Output(f"y{y}", 8 + y, len(code)) for y in range(3))
    program = program_of(code, [f"x{u}" for u in range(8)], weights, forms, width=11, outputs=outputs)
    found = bound(program, RING, [(-1, 1)] * 8)
    assert found.safe
    ends = [(-256, 256)] * 8
    for name in ("y0", "y1", "y2"):
        error = climbed(lambda raw, name=name: ref_error(program, raw, 8, name), ends, rng, 60)
        size = climbed(lambda raw, name=name: abs(ref_words(program, raw, 8)[2][name]), ends, rng, 60) / 256
        register = 8 + int(name[1])
        # In the proof all of the 66 roundings are at their worst at once.
        assert error <= found.errors[name] <= 16 * error
        assert size <= max(np.abs(found.ranges[register])) <= 3 * size


def test_a_format_is_suggested():
    program = program_of([(0, 1, 1, 0, ASSIGN), (0, 0, 1, 0, ASSIGN)], forms=SQUARE)
    (ring,) = suggest(program, [(-1, 1), (-1, 1)], error=Fraction(1, 1000))
    assert bound(program, ring, [(-1, 1), (-1, 1)]).safe
    assert bound(program, ring, [(-1, 1), (-1, 1)]).errors["y"] <= 0.001
    assert bound(program, FixedPoint(ring.bits, ring.frac - 1), [(-1, 1), (-1, 1)]).errors["y"] > 0.001
