"""Gradients against exact differentiation (dual numbers over the rationals) and against finite differences."""

import tracemalloc
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.program.forms import Input, Linear, Weight
from skinny.model.program.program import Columns, Mode, Output, Program
from skinny.model.rings import Boolean, Exact, FixedPoint, Modular, PrimeField, Real
from skinny.model.run.golden import run
from skinny.model.run.gradient import gradient


@dataclass
class Dual:
    """A number and its derivatives by named quantities."""

    value: Fraction
    slopes: dict[tuple[str, int], Fraction]

    def __add__(self, other):
        names = self.slopes.keys() | other.slopes.keys()
        return Dual(self.value + other.value, {n: self.slopes.get(n, 0) + other.slopes.get(n, 0) for n in names})

    def __mul__(self, other):
        mine = Dual(Fraction(0), {n: slope * other.value for n, slope in self.slopes.items()})
        theirs = Dual(self.value * other.value, {n: slope * self.value for n, slope in other.slopes.items()})
        return mine + theirs


def ref_gradient(program, x, output):
    """Derivatives of one output by the weights and by the inputs, forwards, over the rationals."""
    inputs = [Dual(Fraction(number), {("x", u): Fraction(1)}) for u, number in enumerate(x)]
    weights = [Dual(number, {("w", k): Fraction(1)}) for k, number in enumerate(program.weights)]

    def scalar(form):
        match form:
            case Input(u):
                return inputs[u]
            case Weight(k):
                return weights[k]
            case Linear(terms, bias, sums):
                total = Dual(Fraction(0), {}) if bias is None else weights[bias]
                for k, u in terms:
                    total += weights[k] * inputs[u]
                for factor, register in sums:
                    total += scalar(factor) * registers[register]
                return total

    def begin():
        return [Dual(Fraction(number), {}) for number in program.start]

    registers = begin()
    steps = zip(*(column.tolist() for column in program.code.arrays()), strict=True)
    for at in range(len(program) + 1):
        for candidate in program.outputs:
            if candidate.at == at:
                if candidate.name == output:
                    slopes = registers[candidate.register].slopes
                    return tuple(
                        [slopes.get((kind, n), Fraction(0)) for n in range(count)]
                        for kind, count in (("w", len(weights)), ("x", len(inputs)))
                    )
                registers = begin() if candidate.restart else registers
        dst, src, sign, form, mode = next(steps)
        product = Dual(Fraction(sign), {}) * scalar(program.forms[form]) * registers[src]
        if mode == Mode.RELU and product.value <= 0:
            product = Dual(Fraction(0), {})
        registers[dst] = product if mode else registers[dst] + product
    raise AssertionError(output)


def product_program(count):
    """The textbook program of x0·x1·…, from R1 to R0 by way of the third register."""

    def emit(low, high, a, b, c, sign):
        if high - low == 1:
            return [(c, a, sign, low)]
        middle = (low + high) // 2
        f, g = emit(low, middle, a, c, b, 1), emit(middle, high, b, a, c, sign)
        undo = [(dst, src, -s, form) for dst, src, s, form in reversed(g)]
        return undo + f + g + [(dst, src, -s, form) for dst, src, s, form in reversed(f)]

    steps = emit(0, count, 1, 2, 0, 1)
    names = tuple(f"x{u}" for u in range(count))
    code = Columns.of(*zip(*steps, strict=True))
    return Program(3, names, (), tuple(map(Input, range(count))), code, (Output("y", 0, len(steps)),))


@pytest.mark.parametrize("seed", range(12))
def test_exact_gradients_equal_dual_numbers(random_program, seed):
    rng = np.random.default_rng(seed)
    program = random_program(
        rng, width=int(rng.integers(2, 6)), length=25, largest=3, denominators=(1, 2, 3), restarts=seed % 2 == 1
    )
    inputs = Exact().encode_all(rng.integers(-3, 4, (3, len(program.inputs))))
    for output in program.outputs:
        found = gradient(program, Exact(), inputs, output.name)
        for row, x in enumerate(inputs.tolist()):
            by_weight, by_input = ref_gradient(program, x, output.name)
            assert found.weights[row].tolist() == by_weight
            assert found.inputs[row].tolist() == by_input


@pytest.mark.parametrize("modes", [[Mode.ADD], [Mode.ADD, Mode.ASSIGN], list(Mode)])
@pytest.mark.parametrize("sums", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_exact_gradients_of_other_programs_equal_dual_numbers(random_program, seed, modes, sums):
    rng = np.random.default_rng(seed)
    program = random_program(rng, width=4, length=10, largest=2, restarts=seed % 2 == 1, modes=modes, sums=sums)
    inputs = Exact().encode_all(rng.integers(-2, 3, (2, len(program.inputs))))
    for output in program.outputs:
        found = gradient(program, Exact(), inputs, output.name)
        for row, x in enumerate(inputs.tolist()):
            by_weight, by_input = ref_gradient(program, x, output.name)
            assert found.weights[row].tolist() == by_weight
            assert found.inputs[row].tolist() == by_input


@pytest.mark.parametrize("seed", range(4))
def test_stretches_between_saved_registers_do_not_show(random_program, seed, monkeypatch):
    monkeypatch.setattr("skinny.model.run.gradient.LEAST", 1)
    rng = np.random.default_rng(seed)
    program = random_program(rng, width=2, length=30, largest=1, modes=[Mode.ADD, Mode.ASSIGN])
    assert (program.code.mode == Mode.ASSIGN).sum() > 2 * 5  # three stretches
    inputs = Exact().encode_all(rng.integers(-2, 3, (2, len(program.inputs))))
    found = gradient(program, Exact(), inputs)
    for row, x in enumerate(inputs.tolist()):
        by_weight, by_input = ref_gradient(program, x, "y0")
        assert (found.weights[row].tolist(), found.inputs[row].tolist()) == (by_weight, by_input)


def test_a_relu_has_no_formal_derivative(random_program):
    program = random_program(np.random.default_rng(1), modes=[Mode.RELU])
    with pytest.raises(InputError, match=r"^the relu has no derivative in modular:8: use exact or real$"):
        gradient(program, Modular(8), np.zeros((1, len(program.inputs)), dtype=np.int64))


@pytest.mark.parametrize(
    "ring", [Modular(1), Modular(13), Modular(64), PrimeField(3), PrimeField(2**31 - 1), Boolean()], ids=repr
)
@pytest.mark.parametrize("seed", range(4))
def test_formal_gradients_are_the_exact_ones_in_the_ring(random_program, ring, seed):
    rng = np.random.default_rng(seed)
    program = random_program(rng, length=40, largest=1, restarts=seed % 2 == 1)
    batch = 70
    numbers = rng.integers(0, 2, (batch, len(program.inputs)))
    wanted = program.outputs[-1].name
    found = gradient(program, ring, ring.encode_all(numbers), wanted)
    assert found.weights.dtype == found.inputs.dtype == ring.element_dtype
    for row in (0, 1, batch - 1):
        by_weight, by_input = ref_gradient(program, numbers[row].tolist(), wanted)
        assert found.weights[row].tolist() == [ring.embed(slope) for slope in by_weight]
        assert found.inputs[row].tolist() == [ring.embed(slope) for slope in by_input]


def test_the_gradient_of_a_product_is_the_product_of_the_others():
    program = product_program(7)
    rng = np.random.default_rng(4)
    inputs = rng.integers(1, 9, (5, 7))
    assert run(program, Modular(64), inputs).outputs[:, 0].tolist() == np.prod(inputs, axis=1).tolist()
    found = gradient(program, Modular(64), inputs)
    others = [[int(np.prod(np.delete(row, u))) for u in range(7)] for row in inputs]
    assert found.inputs.tolist() == others
    assert found.weights.shape == (5, 0)


@pytest.mark.parametrize("seed", range(6))
def test_real_gradients_equal_finite_differences(random_program, seed):
    rng = np.random.default_rng(seed)
    program = random_program(rng, width=4, length=20, largest=3, denominators=(4,))
    x = rng.uniform(-1, 1, (1, len(program.inputs)))
    found = gradient(program, Real(), x)
    step = 2.0**-17

    def difference(moved):
        """The central difference of the output along ``moved(distance) -> (program, inputs)``."""
        up, down = (run(p, Real(), v).outputs[0, 0] for p, v in (moved(step), moved(-step)))
        return (up - down) / (2 * step)

    def along_weight(k, distance):
        weights = [weight + Fraction(distance) * (n == k) for n, weight in enumerate(program.weights)]
        return replace(program, weights=tuple(weights)), x

    def along_input(u, distance):
        return program, x + distance * np.eye(x.shape[1])[u]

    scale = 1 + np.abs(found.weights).max() + np.abs(found.inputs).max()
    for k in range(len(program.weights)):
        assert difference(partial(along_weight, k)) == pytest.approx(found.weights[0, k], abs=1e-6 * scale)
    for u in range(len(program.inputs)):
        assert difference(partial(along_input, u)) == pytest.approx(found.inputs[0, u], abs=1e-6 * scale)


@pytest.mark.parametrize("sums", [False, True])
def test_memory_does_not_grow_with_the_length(random_program, sums):
    def peak(length):
        program = random_program(np.random.default_rng(0), length=length, largest=1, sums=sums)
        inputs = np.ones((500, len(program.inputs)), dtype=np.int64)
        tracemalloc.start()
        gradient(program, Modular(32), inputs)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(100)  # what is allocated once
    trace_bytes = (6000 - 2000) * 500 * 3 * 4
    assert peak(6000) - peak(2000) < trace_bytes / 10


def test_inputs_are_left_alone():
    inputs = Exact().encode_all([[2, 3, 5]])
    gradient(product_program(3), Exact(), inputs)
    assert inputs.tolist() == [[2, 3, 5]]


def test_what_has_no_gradient_is_refused(random_program):
    program = random_program(np.random.default_rng(1), length=5, restarts=True)
    inputs = np.zeros((1, len(program.inputs)), dtype=np.int64)
    for ring, output, message in [
        (FixedPoint(16, 8), "y0", "the rounding of fixed:16.8 has no derivative: use real"),
        (Modular(8), None, "the gradient of which output: y0, y1, y2?"),
        (Modular(8), "z", "there is no output 'z', only y0, y1, y2"),
    ]:
        with pytest.raises(InputError) as caught:
            gradient(program, ring, inputs, output)
        assert str(caught.value) == message
