"""The watch: a row wrapped when, and only when, a value that is read does not fit the word."""

import numpy as np
import pytest
from skinny.model.program.forms import Input, Linear, Weight
from skinny.model.program.program import Columns, Mode, Output, Program
from skinny.model.rings import Exact, FixedPoint, Modular
from skinny.model.run.golden import run


def ref_wraps(program, ring, row):
    """The same with Python's integers, which never wrap."""
    half, last = 1 << (ring.bits - 1), (1 << ring.frac) >> 1
    weights = program.quantise(ring).tolist()

    def product(a, b):
        return (a * b + last) >> ring.frac

    def fits(value):
        return -half <= value < half

    start = [ring.encode(value) for value in program.start]
    registers, at = list(start), 0
    for output in (*program.outputs, None):
        end = len(program) if output is None else output.at
        for dst, src, sign, form, mode in zip(*(c[at:end].tolist() for c in program.code.arrays()), strict=True):
            match program.forms[form]:
                case Input(u):
                    scalar = row[u]
                case Weight(k):
                    scalar = weights[k]
                case Linear(terms, bias, sums):
                    scalar = sum(product(weights[k], row[u]) for k, u in terms)
                    scalar += 0 if bias is None else weights[bias]
                    for factor, register in sums:
                        if not fits(registers[register]):
                            return True
                        known = row[factor.u] if isinstance(factor, Input) else weights[factor.k]
                        scalar += product(known, registers[register])
            if not fits(scalar) or not fits(registers[src]):
                return True
            value = sign * product(scalar, registers[src])
            if mode == Mode.RELU and not fits(value):
                return True
            registers[dst] = max(value, 0) if mode == Mode.RELU else value if mode else registers[dst] + value
        if output is not None:
            if not fits(registers[output.register]):
                return True
            registers = list(start) if output.restart else registers
        at = end
    return False


@pytest.mark.parametrize(
    "ring", [FixedPoint(8, 3), FixedPoint(16, 12), FixedPoint(32, 0), FixedPoint(32, 20)], ids=repr
)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("pure", [True, False])
def test_rows_that_wrap_are_found(random_program, ring, seed, pure):
    rng = np.random.default_rng(seed)
    program = random_program(
        rng,
        length=int(rng.integers(3, 12)),
        largest=1,
        denominators=(1, 2),
        restarts=seed % 2 == 1,
        **({} if pure else {"modes": list(Mode), "sums": True}),
    )
    most = 1 << int(rng.integers(ring.frac, ring.bits))
    inputs = rng.integers(-most // 2, most // 2, (300, len(program.inputs)), endpoint=True).clip(
        -(1 << ring.bits - 1), (1 << ring.bits - 1) - 1
    )
    found = run(program, ring, inputs, watched=True)
    assert found.wrapped.tolist() == [ref_wraps(program, ring, row) for row in inputs.tolist()]
    assert (found.outputs == run(program, ring, inputs).outputs).all()


def one_register(signs, **changes):
    """R0 takes x with each of the signs in turn, then is sent."""
    fields = {
        "width": 2,
        "inputs": ("x",),
        "weights": (),
        "forms": (Input(0),),
        "code": Columns.of([0] * len(signs), [1] * len(signs), signs, [0] * len(signs)),
        "outputs": (Output("y", 0, len(signs)),),
    }
    return Program(**fields | changes)


def test_sums_may_wrap_and_come_back():
    ring = FixedPoint(8, 0)
    inputs = np.array([[60], [50], [-100]])
    back = run(one_register([1, 1, 1, -1, -1]), ring, inputs, watched=True)
    assert back.wrapped.tolist() == [False, False, False]
    assert back.outputs.tolist() == inputs.tolist()
    assert run(one_register([1, 1, 1, -1]), ring, inputs, watched=True).wrapped.tolist() == [False, False, True]
    assert run(one_register([1, 1, 1]), ring, inputs, watched=True).wrapped.tolist() == [True, True, True]


def test_a_restart_forgets():
    early = one_register([1, 1, 1, -1], outputs=(Output("y", 1, 3, True), Output("z", 0, 4)))
    assert run(early, FixedPoint(8, 0), np.array([[100]]), watched=True).wrapped.tolist() == [False]


def test_other_rings_never_wrap():
    for ring in (Modular(8), Exact()):
        found = run(one_register([1, 1, 1]), ring, ring.encode_all([[100]]), watched=True)
        assert found.wrapped.tolist() == [False]
    assert run(one_register([1]), FixedPoint(8, 0), np.array([[1]])).wrapped is None


def test_a_form_must_fit_where_it_is_used():
    """100 - 1 fits eight bits, 100 + 100 does not; an unused form may do as it likes."""
    twice = Linear(((0, 0), (0, 0), (1, 0)))
    for third, wraps in ((-1, False), (1, True)):
        program = one_register([1], weights=(1, third), forms=(twice, Input(0)), code=Columns.of([0], [1], [1], [0]))
        found = run(program, FixedPoint(8, 0), np.array([[100], [60]]), watched=True)
        assert found.wrapped.tolist() == [wraps, wraps]
        unused = one_register([1], weights=(1, third), forms=(twice, Input(0)), code=Columns.of([0], [1], [1], [1]))
        assert run(unused, FixedPoint(8, 0), np.array([[100]]), watched=True).wrapped.tolist() == [False]
