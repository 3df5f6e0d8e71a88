"""The golden run against plain Python: one inference, one instruction, one number at a time."""

from dataclasses import replace
from fractions import Fraction
from math import floor

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.program.forms import Input, Linear, Weight
from skinny.model.program.program import Columns, Mode, Output, Program
from skinny.model.rings import Boolean, Exact, FixedPoint, Modular, PrimeField, Real
from skinny.model.run import golden
from skinny.model.run.golden import matrices, product, run, scalars, trace, trace_chunks, tree_product
from skinny.scripts.bench.golden import bench_golden

TRUE_RINGS = [
    Modular(1),
    Modular(8),
    Modular(13),
    Modular(64),
    PrimeField(3),
    PrimeField(2**31 - 1),
    Boolean(),
    Exact(),
]
ALL_RINGS = [*TRUE_RINGS, FixedPoint(8, 3), FixedPoint(32, 16), Real()]


class Reference:
    """Arithmetic of a ring on Python numbers."""

    def __init__(self, ring):
        self.ring = ring

    def reduce(self, number):
        ring = self.ring
        if isinstance(ring, PrimeField):
            return number % ring.p
        if isinstance(ring, Boolean):
            return number % 2
        if isinstance(ring, Modular | FixedPoint):
            half = 1 << (ring.bits - 1)
            return (number + half) % (2 * half) - half
        return number

    def mul(self, a, b):
        if isinstance(self.ring, FixedPoint):
            return self.reduce(floor(Fraction(a * b, 1 << self.ring.frac) + Fraction(1, 2)))
        return self.reduce(a * b)

    def constant(self, number):
        if isinstance(self.ring, FixedPoint):
            return floor(number * (1 << self.ring.frac) + Fraction(1, 2))
        if isinstance(self.ring, PrimeField):
            return number.numerator * pow(number.denominator, self.ring.p - 2, self.ring.p) % self.ring.p
        return float(number) if isinstance(self.ring, Real) else self.reduce(number)

    def scalar(self, program, form, x, registers):
        match form:
            case Input(u):
                return x[u]
            case Weight(k):
                return self.constant(program.weights[k])
            case Linear(terms, bias, sums):
                total = self.constant(Fraction(0))
                for k, u in terms:
                    total = self.reduce(total + self.mul(self.constant(program.weights[k]), x[u]))
                if bias is not None:
                    total = self.reduce(total + self.constant(program.weights[bias]))
                for factor, register in sums:
                    scalar = self.scalar(program, factor, x, registers)
                    total = self.reduce(total + self.mul(scalar, registers[register]))
                return total

    def run(self, program, x, start):
        """Outputs and trace of one inference."""
        registers = list(start)
        steps, sent = [list(registers)], []
        code = zip(*(column.tolist() for column in program.code.arrays()), strict=True)
        for at in range(len(program) + 1):
            for output in program.outputs:
                if output.at == at:
                    sent.append(registers[output.register])
                    registers = list(start) if output.restart else registers
            if at < len(program):
                dst, src, sign, form, mode = next(code)
                scaled = self.mul(self.scalar(program, program.forms[form], x, registers), registers[src])
                written = self.reduce((registers[dst] if mode == Mode.ADD else 0) + sign * scaled)
                registers[dst] = max(written, 0) if mode == Mode.RELU else written
                steps.append(list(registers))
        return sent, steps


def random_elements(rng, ring, shape):
    """Elements from the whole range of the ring."""
    if isinstance(ring, Exact):
        out = np.empty(shape, dtype=object)
        out.flat[:] = [Fraction(int(n), int(d)) for n, d in zip(*rng.integers(1, 9, (2, out.size)), strict=True)]
        return out
    if isinstance(ring, Real):
        return rng.uniform(-2, 2, shape)
    if isinstance(ring, PrimeField | Boolean):
        return rng.integers(0, 2 if ring == Boolean() else ring.p, shape).astype(ring.element_dtype)
    half = 1 << (ring.bits - 1)
    return rng.integers(-half, half - 1, shape, endpoint=True)


def small(ring):
    """Weights and starts that fit even the smallest ring."""
    return 1 if ring in (Modular(1), Boolean(), PrimeField(3)) else 5


def case(random_program, ring, seed, **options):
    rng = np.random.default_rng(seed)
    denominators = (1, 2, 4) if isinstance(ring, FixedPoint | Exact | Real) else (1,)
    program = random_program(
        rng, width=int(rng.integers(2, 7)), largest=small(ring), denominators=denominators, **options
    )
    batch = int(rng.choice([1, 5, 64, 70]))
    return rng, program, random_elements(rng, ring, (batch, len(program.inputs)))


@pytest.mark.parametrize("ring", ALL_RINGS, ids=repr)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("pure", [True, False])
def test_run_and_trace_equal_plain_python(random_program, ring, seed, pure):
    options = {} if pure else {"modes": list(Mode) if ring.signed else [Mode.ADD, Mode.ASSIGN], "sums": True}
    if isinstance(ring, Exact | Real) and not pure:
        options["length"] = 10  # the degree doubles with each product of registers
    _, program, inputs = case(random_program, ring, seed, restarts=seed % 2 == 1, **options)
    reference = Reference(ring)
    start = [reference.constant(Fraction(n)) for n in program.start]
    expected = [reference.run(program, x, start) for x in inputs.tolist()]
    found = run(program, ring, inputs)
    assert found.outputs.dtype == found.registers.dtype == ring.element_dtype
    assert found.outputs.tolist() == [sent for sent, _ in expected]
    steps = trace(program, ring, inputs)
    assert steps.shape == (len(program) + 1, len(inputs), program.width)
    assert steps.swapaxes(0, 1).tolist() == [steps for _, steps in expected]
    # A restart after the last instruction, with an output behind it, is the one thing a trace does not show.
    if not any(o.restart and o.at == len(program) for o in program.outputs[:-1]):
        assert found.registers.tolist() == [steps[-1] for _, steps in expected]


@pytest.mark.parametrize("ring", ALL_RINGS, ids=repr)
@pytest.mark.parametrize("shared", [True, False])
def test_a_given_start_takes_the_place_of_the_programs(random_program, ring, shared):
    rng, program, inputs = case(random_program, ring, 11, restarts=True)
    start = random_elements(rng, ring, (program.width,) if shared else (len(inputs), program.width))
    each = np.broadcast_to(start, (len(inputs), program.width)).tolist()
    expected = [Reference(ring).run(program, x, r) for x, r in zip(inputs.tolist(), each, strict=True)]
    before = start.copy()
    assert run(program, ring, inputs, start).outputs.tolist() == [sent for sent, _ in expected]
    assert trace(program, ring, inputs, start).swapaxes(0, 1).tolist() == [steps for _, steps in expected]
    assert start.tolist() == before.tolist()


@pytest.mark.parametrize("ring", [Modular(32), Boolean(), FixedPoint(16, 8)], ids=repr)
def test_blocks_do_not_show(random_program, ring, monkeypatch):
    rng = np.random.default_rng(5)
    program = random_program(rng, largest=1, restarts=True)
    inputs = random_elements(rng, ring, (1000, len(program.inputs)))
    whole = run(program, ring, inputs)
    monkeypatch.setattr(golden, "BLOCK", 24)
    monkeypatch.setattr(golden, "LISTED", 7)
    cut = run(program, ring, inputs)
    assert np.array_equal(cut.outputs, whole.outputs)
    assert np.array_equal(cut.registers, whole.registers)


@pytest.mark.parametrize("chunk", [1, 7, 30, 31, 32, 4096])
def test_chunks_put_together_are_the_trace(random_program, chunk):
    rng = np.random.default_rng(2)
    program = random_program(rng, restarts=True)
    inputs = rng.integers(-9, 9, (3, len(program.inputs)))
    pieces = list(trace_chunks(program, Modular(16), inputs, chunk=chunk))
    assert [first for first, _ in pieces] == list(range(0, 31, chunk))
    assert all(len(piece) <= chunk for _, piece in pieces)
    assert np.array_equal(np.concatenate([piece for _, piece in pieces]), trace(program, Modular(16), inputs))


def test_an_output_behind_a_restart_at_the_end_is_the_start():
    program = Program(
        width=3,
        inputs=("x",),
        weights=(),
        forms=(Input(0),),
        code=Columns.of([0], [1], [1], [0]),
        outputs=(Output("y", 0, 1, restart=True), Output("zero", 0, 1)),
    )
    found = run(program, Modular(8), np.array([[7], [-7]]))
    assert found.outputs.tolist() == [[7, 0], [-7, 0]]
    assert found.registers.tolist() == [[0, 1, 0]] * 2
    assert trace(program, Modular(8), np.array([[7]])).tolist() == [[[0, 1, 0]], [[7, 1, 0]]]


@pytest.mark.parametrize("ring", ALL_RINGS, ids=repr)
def test_a_batch_may_be_empty(random_program, ring):
    program = random_program(np.random.default_rng(3), width=4, length=5, largest=1)
    nothing = np.empty((0, len(program.inputs)), dtype=ring.element_dtype)
    found = run(program, ring, nothing)
    assert (found.outputs.shape, found.registers.shape) == ((0, 1), (0, 4))
    assert trace(program, ring, nothing).shape == (6, 0, 4)


def test_a_program_may_be_empty():
    empty = Program(2, (), (), (), Columns.empty(), (Output("y", 1, 0),))
    assert run(empty, Exact(), np.empty((2, 0), dtype=object)).outputs.tolist() == [[1], [1]]
    assert tree_product(Exact(), matrices(empty, Exact(), np.empty(0, dtype=object))).tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("ring", TRUE_RINGS, ids=repr)
@pytest.mark.parametrize("length", [0, 1, 2, 3, 31, 64])
def test_matrix_products_equal_the_run_over_a_true_ring(random_program, ring, length):
    rng, program, inputs = case(random_program, ring, 100 + length, length=length)
    reference = Reference(ring)
    factors = matrices(program, ring, inputs[0])
    assert factors.shape == (length, program.width, program.width)
    both = product(ring, factors), tree_product(ring, factors)
    assert both[0].dtype == both[1].dtype == ring.element_dtype
    assert both[0].tolist() == both[1].tolist()
    start = random_elements(rng, ring, (program.width,))
    expected = run(program, ring, inputs[:1], start).registers[0].tolist()
    row, whole = start.tolist(), both[0].tolist()
    assert expected == [reference.reduce(sum(r * whole[i][j] for i, r in enumerate(row))) for j in range(program.width)]


def test_matrices_are_one_entry_away_from_the_identity():
    program = Program(
        width=3,
        inputs=("x",),
        weights=(Fraction(2), Fraction(3)),
        forms=(Input(0), Linear(((0, 0),), 1)),
        code=Columns.of([0, 2], [1, 0], [-1, 1], [0, 1]),
        outputs=(Output("y", 0, 2),),
    )
    assert matrices(program, Modular(8), np.array([5])).tolist() == [
        [[1, 0, 0], [-5, 1, 0], [0, 0, 1]],
        [[1, 0, 13], [0, 1, 0], [0, 0, 1]],
    ]


def test_matrix_products_are_near_the_run_where_products_are_rounded(random_program):
    rng = np.random.default_rng(8)
    program = random_program(rng, length=8, largest=1, denominators=(4,))
    x = rng.uniform(-1, 1, len(program.inputs))
    exact = run(program, Real(), x[None]).registers[0]
    start = np.array(program.start, dtype=float)
    for multiply in (product, tree_product):
        assert start @ multiply(Real(), matrices(program, Real(), x)) == pytest.approx(exact, rel=1e-12, abs=1e-12)
        ring = FixedPoint(32, 20)
        raw = multiply(ring, matrices(program, ring, ring.encode_all(x)))
        assert start @ (raw / 2**20) == pytest.approx(exact, abs=1e-3)


def test_scalars_keep_a_bounded_number_of_values(monkeypatch):
    monkeypatch.setattr(golden, "KEPT", 1 << 20)
    forms = tuple(Linear(((0, 0),), None) for _ in range(500))
    program = Program(2, ("x",), (Fraction(3),), forms, Columns.empty(), (Output("y", 0, 0),))
    lanes = np.arange(1 << 13, dtype=np.int64)[None]
    value = scalars(program, FixedPoint(32, 0), lanes)
    held = [value(number) for number in range(500)]
    assert all(np.array_equal(row, 3 * lanes[0]) for row in held)
    kept = sum(value(number) is row for number, row in reversed(list(enumerate(held))))
    assert 1 <= kept <= (1 << 20) // lanes.nbytes


@pytest.mark.parametrize(
    ("inputs", "start", "message"),
    [
        (np.zeros((2, 3), int), None, "the inputs must have the shape (batch, 2), not (2, 3)"),
        (np.zeros(2, int), None, "the inputs must have the shape (batch, 2), not (2,)"),
        (np.zeros((2, 2)), None, "the inputs must be elements of modular:8 (int64), not float64"),
        (np.zeros((2, 2), int), np.zeros(4, int), "the start must have the shape (3,) or (2, 3), not (4,)"),
        (np.zeros((2, 2), int), np.zeros(3), "the start must be elements of modular:8 (int64), not float64"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(inputs, start, message):
    program = Program(3, ("a", "b"), (), (Input(0),), Columns.empty(), (Output("y", 0, 0),))
    for attempt in (run, trace):
        with pytest.raises(InputError) as caught:
            attempt(program, Modular(8), inputs, start)
        assert str(caught.value) == message


def test_what_cannot_be_run_is_named():
    program = Program(3, (), (Fraction(300),), (Weight(0),), Columns.of([0], [1], [1], [0]), (Output("y", 0, 1),))
    nothing = np.empty((1, 0), dtype=np.int64)
    with pytest.raises(InputError) as caught:
        run(program, Modular(8), nothing)
    assert str(caught.value) == "weight w[0]: 300 does not fit modular:8 (-128 to 255)"
    plain = Program(3, (), (), (), Columns.empty(), (Output("y", 0, 0),))
    with pytest.raises(InputError) as caught:
        run(plain, FixedPoint(8, 7), nothing)
    assert str(caught.value) == "start of register 1: 1 does not fit fixed:8.7 (-1.0 to 0.9921875)"
    with pytest.raises(InputError) as caught:
        next(trace_chunks(plain, Modular(8), nothing, chunk=0))
    assert str(caught.value) == "a piece of a trace must have at least 1 step, not 0"
    twice = Program(3, (), (), (), Columns.empty(), (Output("a", 0, 0, True), Output("b", 0, 0)))
    with pytest.raises(InputError) as caught:
        matrices(twice, Modular(8), nothing[0])
    assert str(caught.value) == "a program that restarts between outputs is no matrix product; take its parts"


def test_the_run_costs_little_more_than_its_arithmetic():
    # The claim is a factor 2 on 10^4 x 10^4 (`skinny bench golden`); here a small size on a busy machine.
    assert bench_golden(instructions=1000, batch=10_000)["ratio"] < 4


@pytest.mark.parametrize("ring", [Modular(8), FixedPoint(8, 3), Exact(), Real()], ids=repr)
@pytest.mark.parametrize("outputs", [1, 2, 5])
@pytest.mark.parametrize("seed", range(3))
def test_argmax_is_the_first_of_the_largest(random_program, ring, outputs, seed):
    rng, program, inputs = case(random_program, ring, seed)
    registers = rng.integers(program.width, size=outputs).tolist()  # some are equal
    sent = tuple(Output(f"y{n}", register, len(program)) for n, register in enumerate(registers))
    program = replace(program, outputs=sent)
    rows = run(program, ring, inputs).outputs.tolist()
    found = run(replace(program, argmax="best"), ring, inputs)
    wanted = [[int(row[0] > 0)] if outputs == 1 else [row.index(max(row))] for row in rows]
    assert found.outputs.tolist() == wanted
    assert found.outputs.dtype == ring.element_dtype


@pytest.mark.parametrize("ring", [PrimeField(7), Boolean()], ids=repr)
def test_comparisons_need_signs(random_program, ring):
    _, program, inputs = case(random_program, ring, 3)
    with pytest.raises(InputError, match=rf"^an argmax needs a ring with signs .*, not {ring.name}$"):
        run(replace(program, argmax="best"), ring, inputs)
    relu = replace(program, code=replace(program.code, mode=np.array([0, 0, 2] + [0] * 27, np.uint8)))
    message = rf"^a relu \(instruction 2 takes the relu\) needs a ring with signs .*, not {ring.name}$"
    with pytest.raises(InputError, match=message):
        run(relu, ring, inputs)


@pytest.mark.parametrize("ring", TRUE_RINGS, ids=repr)
def test_assigns_are_matrices_too(random_program, ring):
    rng, program, _ = case(random_program, ring, 4, modes=[Mode.ADD, Mode.ASSIGN])
    x = random_elements(rng, ring, (1, len(program.inputs)))
    whole = product(ring, matrices(program, ring, x[0]))
    for unit in range(program.width):
        start = np.full(program.width, ring.embed(0), dtype=ring.element_dtype)
        start[unit] = ring.encode(1)
        assert run(program, ring, x, start).registers[0].tolist() == whole[unit].tolist()


def test_a_sum_of_registers_is_no_matrix(random_program):
    _, program, inputs = case(random_program, Exact(), 5, sums=True)
    first = next(at for at, form in enumerate(program.code.form.tolist()) if form in program.summing)
    message = f"^matrices need a linear program, but instruction {first} multiplies with a sum of registers$"
    with pytest.raises(InputError, match=message):
        matrices(program, Exact(), inputs[0])
