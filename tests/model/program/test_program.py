"""Programs: what is refused, and what the transformations promise."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skinny.model.errors import InputError
from skinny.model.named_weight import NamedWeight
from skinny.model.program.forms import Input, Linear, Weight
from skinny.model.program.program import Columns, Mode, Output, Program
from skinny.model.program.text import loads
from skinny.model.rings import Boolean, Exact, FixedPoint, Modular, PrimeField
from skinny.model.run.golden import matrices, product, run

#: y = x0·(3·x0 - x1 + 2)
PLAIN = {
    "width": 3,
    "inputs": ("x0", "x1"),
    "weights": (Fraction(3), Fraction(-1), Fraction(2)),
    "forms": (Input(0), Weight(1), Linear(((0, 0), (1, 1)), 2)),
    "code": Columns.of([2, 0], [1, 2], [1, 1], [0, 2]),
    "outputs": (Output("y", 0, 2),),
}


def test_the_default_start_is_one_in_the_source():
    program = Program(**PLAIN)
    assert (program.start, program.derived) == ((0, 1, 0), (False, False, False))
    assert run(program, Exact(), Exact().encode_all([[5, 4]])).outputs.tolist() == [[5 * (15 - 4 + 2)]]


def code(**changes):
    return replace(PLAIN["code"], **{name: np.array(column) for name, column in changes.items()})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"width": 1, "start": (1,)}, "the width must be 2 to 1024, not 1"),
        ({"width": 1025}, "the width must be 2 to 1024, not 1025"),
        ({"start": (0, 1)}, "the start vector must have 3 entries, not 2"),
        ({"contract": "dirty"}, "the contract must be in-place or clean, not 'dirty'"),
        ({"derived": (True,)}, "every weight needs a 'derived' mark"),
        ({"forms": (Input(2),)}, "form 0: input index 2 is past the end (2)"),
        ({"forms": (Input(0), Weight(3))}, "form 1: weight index 3 is past the end (3)"),
        ({"forms": (Weight(-1),)}, "form 0: weight index -1 is past the end (3)"),
        ({"forms": (Linear(((0, 2),)),)}, "form 0: input index 2 is past the end (2)"),
        ({"forms": (Linear(((3, 0),)),)}, "form 0: weight index 3 is past the end (3)"),
        ({"forms": (Linear(((0, 0),), 3),)}, "form 0: weight index 3 is past the end (3)"),
        ({"code": code(dst=[2])}, "the columns of the program differ in length"),
        ({"code": code(dst=[2, 3])}, "instruction 1: register out of range (width 3)"),
        ({"code": code(src=[7, 2])}, "instruction 0: register out of range (width 3)"),
        ({"code": code(src=[1, 0])}, "instruction 1: dst = src"),
        ({"code": code(sign=[0, 1])}, "instruction 0: sign is neither +1 nor -1"),
        ({"code": code(sign=[1, -2])}, "instruction 1: sign is neither +1 nor -1"),
        ({"code": code(form=[0, 3])}, "instruction 1: form index past the end"),
        ({"code": code(form=[-1, 0])}, "instruction 0: form index past the end"),
        ({"code": code(mode=[0, 3])}, "instruction 1: mode is neither add, assign nor relu"),
        ({"forms": (Linear((), sums=((Input(2), 0),)),)}, "form 0: input index 2 is past the end (2)"),
        ({"forms": (Linear((), sums=((Weight(3), 0),)),)}, "form 0: weight index 3 is past the end (3)"),
        ({"forms": (Linear((), sums=((Weight(0), 3),)),)}, "form 0: register 3 is out of range (width 3)"),
        (
            {"forms": (Input(0), Input(1), Linear((), sums=((Weight(0), 1), (Input(0), 0))))},
            "instruction 1: the form reads the register that is added to",
        ),
        (
            {"argmax": "c", "outputs": (Output("y", 0, 2), Output("z", 1, 2, scale=1))},
            "argmax compares words: all outputs must have one scale",
        ),
        ({"outputs": ()}, "a program needs at least one output"),
        ({"outputs": (Output("y", 3, 2),)}, "output y: register out of range (width 3)"),
        ({"outputs": (Output("y", 0, 3),)}, "output y: position 3 is out of order"),
        ({"outputs": (Output("y", 0, 2), Output("z", 0, 1))}, "output z: position 1 is out of order"),
        ({"outputs": (Output("y", 0, 2), Output("y", 1, 2))}, "the name 'y' is used twice"),
        ({"inputs": ("a", "a")}, "the name 'a' is used twice"),
        ({"input_scales": (1,)}, "there must be 2 input scales, not 1"),
        ({"input_scales": (0, 257)}, "input x1: the scale must be -256 to 256, not 257"),
        ({"outputs": (Output("y", 0, 2, scale=-257),)}, "output y: the scale must be -256 to 256, not -257"),
        (
            {"outputs": (Output("y", 0, 2, approximation=Fraction(-1)),)},
            "output y: the approximation must be 0 or more, not negative",
        ),
        ({"box": ((Fraction(0), Fraction(1)),)}, "the box must have 2 entries, not 1"),
        (
            {"box": ((Fraction(0), Fraction(0)), (Fraction(1), Fraction(0)))},
            "input x1: the least value of the box is above the greatest",
        ),
        (
            {"ring": "fixed:16"},
            "unknown ring 'fixed:16': expected modular:BITS, fixed:BITS.FRAC, prime:P, boolean, exact or real",
        ),
    ],
)
def test_what_means_nothing_is_refused(change, message):
    with pytest.raises(InputError) as caught:
        Program(**PLAIN | change)
    assert str(caught.value) == message


def test_equality_is_of_everything_but_the_title():
    program = Program(**PLAIN)
    assert program == Program(**PLAIN, title="f")
    assert program != Program(**PLAIN | {"code": code(sign=[1, -1])})
    assert program != replace(program, start=(0, 1, 1))
    assert program != replace(program, input_scales=(0, 1))
    assert program != replace(program, ring="real")
    assert program != "program"


def test_units_stay_with_their_inputs_and_outputs():
    sides = ((Fraction(0), Fraction(1)), (Fraction(-1), Fraction(2)))
    outputs = (Output("y", 0, 1, True, 3, Fraction(1, 8)), Output("z", 2, 2, scale=-2))
    program = Program(**PLAIN | {"outputs": outputs}, input_scales=(4, -1), box=sides, ring="fixed:16.8")
    for part, output in zip(program.parts(), outputs, strict=True):
        assert (part.input_scales, part.box, part.ring) == ((4, -1), sides, "fixed:16.8")
        for made in (part, part.inverse(), part.segments(2)[1], Program.concatenate([part, part])):
            assert (made.input_scales, made.box, made.ring) == ((4, -1), sides, "fixed:16.8")
            assert (made.outputs[-1].scale, made.outputs[-1].approximation) == (output.scale, output.approximation)


def test_concatenation_needs_one_scale_for_an_input():
    one, other = (Program(**PLAIN, input_scales=(0, scale)) for scale in (0, 1))
    with pytest.raises(InputError, match="the input 'x1' has different scales"):
        Program.concatenate([one, other])
    sides = ((Fraction(0), Fraction(1)),) * 2
    assert Program.concatenate([one, replace(one, box=sides)]).box is None


@pytest.mark.parametrize(
    "ring",
    [
        *(Modular(1), Modular(7), Modular(64)),
        *(FixedPoint(6, 2), FixedPoint(16, 8), FixedPoint(32, 31)),
        *(PrimeField(3), PrimeField(2**31 - 1), Boolean(), Exact()),
    ],
    ids=repr,
)
@pytest.mark.parametrize("seed", range(6))
def test_program_then_inverse_is_the_identity_bit_for_bit(random_program, ring, seed):
    rng = np.random.default_rng(seed)
    fixed = isinstance(ring, FixedPoint)
    program = random_program(
        rng, width=int(rng.integers(2, 7)), length=60, largest=1, denominators=(2, 4, 8) if fixed else (1,)
    )

    def anything(shape):
        if isinstance(ring, Exact):
            return ring.encode_all(rng.integers(-5, 5, shape))
        top = 2 if ring == Boolean() else ring.p if isinstance(ring, PrimeField) else 1 << (ring.bits - 1)
        low = -top if isinstance(ring, Modular | FixedPoint) else 0
        return rng.integers(low, top - 1, shape, endpoint=True).astype(ring.element_dtype)

    inputs, start = anything((70, len(program.inputs))), anything((70, program.width))
    there = run(program, ring, inputs, start).registers
    assert run(program.inverse(), ring, inputs, there).registers.tolist() == start.tolist()
    round_trip = Program.concatenate([program, program.inverse()])
    assert run(round_trip, ring, inputs, start).registers.tolist() == start.tolist()
    assert there.tolist() != start.tolist()
    assert program.inverse().inverse() == program


@pytest.mark.parametrize(
    "ring", [Modular(7), FixedPoint(16, 8), FixedPoint(32, 31), PrimeField(251), Boolean()], ids=repr
)
@pytest.mark.parametrize("seed", range(6))
def test_sums_of_registers_are_undone_bit_for_bit(random_program, ring, seed):
    rng = np.random.default_rng(seed)
    program = random_program(rng, width=5, length=60, largest=1 if ring != FixedPoint(32, 31) else 0, sums=True)
    assert program.reversible
    assert not program.linear
    top = 2 if ring == Boolean() else ring.p if isinstance(ring, PrimeField) else 1 << (ring.bits - 1)
    low = -top if ring.signed else 0
    inputs, start = (
        rng.integers(low, top, (70, count)).astype(ring.element_dtype) for count in (len(program.inputs), program.width)
    )
    there = run(program, ring, inputs, start).registers
    assert run(program.inverse(), ring, inputs, there).registers.tolist() == start.tolist()


@given(seed=st.integers(0, 1000))
def test_transpose_has_the_transposed_matrix(random_program, seed):
    rng = np.random.default_rng(seed)
    program = random_program(rng, width=int(rng.integers(2, 6)), length=12)
    x = Exact().encode_all(rng.integers(-3, 4, len(program.inputs)))
    there = product(Exact(), matrices(program, Exact(), x))
    back = product(Exact(), matrices(program.transpose(), Exact(), x))
    assert back.tolist() == there.T.tolist()
    assert program.transpose().start == tuple(int(r == program.outputs[0].register) for r in range(program.width))


@given(seed=st.integers(0, 1000))
def test_levels_of_other_programs_may_be_done_in_any_order(random_program, seed):
    rng = np.random.default_rng(seed)
    program = random_program(rng, width=5, length=12, largest=2, modes=[Mode.ADD, Mode.ADD, Mode.ASSIGN], sums=True)
    order = np.concatenate([rng.permutation(level) for level in program.levels()])
    shuffled = replace(program, code=program.code.part(order))
    field = PrimeField(8191)
    inputs = rng.integers(0, field.p, (2, len(program.inputs)))
    assert run(shuffled, field, inputs).registers.tolist() == run(program, field, inputs).registers.tolist()
    # No level could be a step earlier: an instruction of it depends on one of the level before.
    numbers = program.level_numbers().tolist()
    steps = list(zip(*(column.tolist() for column in program.code.arrays()), strict=True))

    def depends(earlier, later):
        reads = [{s[1], *(getattr(program.forms[s[3]], "registers", ()))} for s in (earlier, later)]
        same = earlier[0] == later[0] and (earlier[4] or later[4])
        return same or earlier[0] in reads[1] or later[0] in reads[0]

    for at, step in enumerate(steps):
        before = [numbers[p] for p in range(at) if depends(steps[p], step)]
        assert numbers[at] == 1 + max(before, default=0)


def test_a_form_is_stale_once_a_register_in_it_is_written():
    sums = Linear(((0, 0),), sums=((Weight(1), 2),))
    steps = [(0, 1, 0, 0), (0, 1, 0, 0), (2, 1, 1, 0), (0, 1, 0, 0), (2, 1, 0, 1), (0, 1, 0, 0)]
    dst, src, form, mode = zip(*steps, strict=True)
    program = Program(
        **PLAIN | {"forms": (sums, Input(0)), "code": Columns.of(dst, src, [1] * 6, form, mode)},
    )
    program = replace(program, outputs=(Output("y", 0, 2), Output("z", 0, 6)))
    # Built for the first instruction, held for the second, stale after the third and again after the fifth, an assign
    # of the register that its form reads.
    assert program.costs()[0].tolist() == [3, 1, 1, 3, 1, 3]
    assert program.attends() == 6
    # A restart writes all registers.
    assert replace(program, outputs=(Output("y", 0, 1, True), Output("z", 0, 6))).attends() == 8


def commute(first, second, width):
    """Whether two instructions commute with every pair of scalars: their matrices do with two independent ones."""
    a, b = (np.eye(width, dtype=int) for _ in range(2))
    a[first[1], first[0]] += 2
    b[second[1], second[0]] += 3
    return np.array_equal(a @ b, b @ a)


@given(seed=st.integers(0, 1000))
def test_levels_are_the_longest_chains_of_instructions_that_do_not_commute(random_program, seed):
    rng = np.random.default_rng(seed)
    program = random_program(rng, width=int(rng.integers(2, 7)), length=int(rng.integers(0, 25)))
    steps = list(zip(program.code.dst.tolist(), program.code.src.tolist(), strict=True))
    expected: list[int] = []
    for position, step in enumerate(steps):
        before = [expected[p] for p in range(position) if not commute(steps[p], step, program.width)]
        expected.append(1 + max(before, default=0))
    assert program.level_numbers().tolist() == expected
    assert program.depth == max(expected, default=0)
    levels = [level.tolist() for level in program.levels()]
    assert levels == [[p for p, e in enumerate(expected) if e == n] for n in range(1, program.depth + 1)]
    for level in levels:
        assert all(commute(steps[p], steps[q], program.width) for p, q in itertools.combinations(level, 2))


@given(seed=st.integers(0, 1000), count=st.integers(1, 9))
def test_segments_run_in_order_are_the_program(random_program, seed, count):
    rng = np.random.default_rng(seed)
    program = random_program(rng, length=int(rng.integers(0, 40)))
    inputs = rng.integers(-9, 9, (4, len(program.inputs)))
    pieces = program.segments(count)
    assert len(pieces) == count
    registers = run(program, Modular(32), inputs).registers
    state = np.broadcast_to(program.start, (4, program.width))
    for piece in pieces:
        state = run(piece, Modular(32), inputs, state).registers
    assert np.array_equal(state, registers)
    ends = np.cumsum([len(piece) for piece in pieces])[:-1]
    forms = program.code.form.tolist()
    for end in ends.tolist():
        neighbours = 0 < end < len(program) and forms[end - 1] == forms[end]
        assert not (neighbours and isinstance(program.forms[forms[end]], Linear))


def test_segments_are_nearly_equal():
    length = 1003
    program = Program(
        **PLAIN | {"code": Columns.of(*np.array([[0, 1, 1, 0]] * length).T), "outputs": (Output("y", 0, 0),)}
    )
    assert {len(piece) for piece in program.segments(10)} == {100, 101}


def test_parts_are_the_programs_between_restarts(random_program):
    rng = np.random.default_rng(1)
    several = 0
    for _ in range(50):
        program = random_program(rng, length=20, restarts=True)
        inputs = rng.integers(-9, 9, (3, len(program.inputs)))
        parts = program.parts()
        several += len(parts) > 1
        assert not any(part.has_restart for part in parts)
        assert [o.name for part in parts for o in part.outputs] == [o.name for o in program.outputs]
        sent = np.concatenate([run(part, Modular(32), inputs).outputs for part in parts], axis=1)
        assert np.array_equal(sent, run(program, Modular(32), inputs).outputs)
    assert several > 10


@pytest.mark.parametrize(
    ("outputs", "restarts"),
    [
        ([Output("y", 0, 2)], False),
        ([Output("y", 0, 2, True)], False),
        ([Output("y", 0, 1, True)], True),
        ([Output("y", 0, 1), Output("z", 0, 2, True)], False),
        ([Output("y", 0, 2, True), Output("z", 0, 2)], True),
    ],
)
def test_a_restart_counts_when_something_follows_it(outputs, restarts):
    program = Program(**PLAIN | {"outputs": tuple(outputs)})
    assert program.has_restart == restarts
    if restarts:
        for what, message in [
            (program.inverse, "has no inverse; take its parts"),
            (program.transpose, "has no transpose; take its parts"),
            (lambda: program.segments(2), "cannot be cut; take its parts"),
        ]:
            with pytest.raises(InputError) as caught:
                what()
            assert str(caught.value) == f"a program that restarts between outputs {message}"


def test_at_least_one_segment():
    with pytest.raises(InputError) as caught:
        Program(**PLAIN).segments(0)
    assert str(caught.value) == "the number of segments must be at least 1, not 0"


@given(seed=st.integers(0, 1000))
def test_concatenation_matches_inputs_by_name(random_program, seed):
    rng = np.random.default_rng(seed)
    pieces = [random_program(rng, length=10) for _ in range(3)]
    pieces[1] = replace(pieces[1], inputs=tuple(f"x{u + 1}" for u in range(len(pieces[1].inputs))))
    whole = Program.concatenate(pieces)
    values = {name: int(rng.integers(-9, 9)) for name in whole.inputs}
    state = np.array(pieces[0].start)
    for piece in pieces:
        x = np.array([[values[name] for name in piece.inputs]])
        state = run(piece, Modular(32), x, state).registers[0]
    found = run(whole, Modular(32), np.array([list(values.values())]))
    assert found.registers.tolist() == [state.tolist()]
    assert found.outputs.tolist() == [[state[pieces[-1].outputs[0].register]]]
    assert set(whole.inputs) == {name for piece in pieces for name in piece.inputs}
    assert len(whole.forms) == len(set(whole.forms))


def test_concatenation_promises_the_start_only():
    program = Program(**PLAIN, contract="in-place")
    assert Program.concatenate([program]).contract == "in-place"
    assert Program.concatenate([program, program]).contract == "clean"
    with pytest.raises(InputError, match=r"^there is nothing to concatenate$"):
        Program.concatenate([])
    with pytest.raises(InputError, match=r"^programs of different widths cannot be concatenated$"):
        Program.concatenate([program, Program(**PLAIN | {"width": 4})])


def test_a_given_weight_must_fit_and_a_derived_one_wraps():
    weights = (Fraction(3), Fraction(-1), Fraction(300))
    assert Program(**PLAIN | {"weights": weights}, derived=(False, False, True)).quantise(Modular(8)).tolist() == [
        3,
        -1,
        44,
    ]
    with pytest.raises(InputError) as caught:
        Program(**PLAIN | {"weights": weights}).quantise(Modular(8))
    assert str(caught.value) == "weight w[2]: 300 does not fit modular:8 (-128 to 255)"
    with pytest.raises(InputError) as caught:
        Program(**PLAIN | {"weights": weights}, derived=(True,) * 3).quantise(FixedPoint(8, 0))
    assert str(caught.value) == "weight w[2]: 300 does not fit fixed:8.0 (-128.0 to 127.0)"


def test_attention_is_built_anew_or_changed_by_single_terms():
    a, ab = Linear(((0, 0),)), Linear(((0, 0), (1, 1)))
    far = Linear(((2, 1),), 0)
    forms = (Input(0), a, ab, far)
    used = [1, 0, 1, 2, 3, 3, 0, 1]  # built 1, kept 0, one more 1, anew 2, kept 0, anew 1
    length = len(used)
    program = Program(
        **PLAIN
        | {
            "forms": forms,
            "code": Columns.of([0] * length, [1] * length, [1] * length, used),
            "outputs": (Output("y", 0, length),),
        }
    )
    assert program.attends() == 1 + 0 + 1 + 2 + 0 + 1
    assert program.words == length + 5
    assert sum(piece.attends() for piece in program.segments(1)) == 5
    assert Program(**PLAIN | {"code": code(form=[0, 1])}).attends() == 0


def test_an_input_and_a_weight_of_one_number_are_two_scalars():
    assert Input(0) != Weight(0)
    plain = Program(2, ("a", "b"), (Fraction(2),), (Input(0), Weight(0)), Columns.empty(), (Output("y", 0, 0),))
    assert replace(plain, forms=(Weight(0), Input(0))) != plain
    assert Program.concatenate([plain]).forms == (Input(0), Weight(0))


KP = NamedWeight("kp", Fraction(3), Fraction(0), Fraction(4), ((0, Fraction(1)), (2, Fraction(2, 3))))


def test_named_weights_are_set_in_all_their_words():
    program = Program(**PLAIN, named=(KP,))
    changed = program.with_weights(kp=1.5)
    assert changed.weights == (Fraction(3, 2), Fraction(-1), Fraction(1))
    assert changed.named == (KP._replace(value=Fraction(3, 2)),)
    assert program.weight_names() == ["kp", "w[1]", "2/3*kp"]
    assert replace(changed, weights=program.weights, named=program.named) == program
    negative = replace(program, weights=(3, -1, -6), named=(KP._replace(words=((2, Fraction(-2)),)),))
    assert negative.weight_ranges() == [(3, 3), (-1, -1), (-8, 0)]
    twice = Program.concatenate([program, program])
    assert (twice.weights, twice.named) == (program.weights, program.named)
    with pytest.raises(InputError, match="the weight 'kp' differs, so the programs cannot be concatenated"):
        Program.concatenate([program, changed])
    with pytest.raises(InputError, match=r"^weight kp: 4 does not fit fixed:4\.1"):
        program.with_weights(kp=4).quantise(FixedPoint(4, 1))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kp": 5}, "weight kp: 5 is outside its range 0:4"),
        ({"ki": 1}, "the program has no named weight 'ki', only kp"),
        ({"kp": "x"}, "weight kp: a number must be an int, a float or a Fraction, not 'x'"),
    ],
)
def test_what_a_weight_cannot_be_is_refused_by_name(values, message):
    with pytest.raises(InputError) as caught:
        Program(**PLAIN, named=(KP,)).with_weights(**values)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ((KP, KP), "the name 'kp' is used twice"),
        ((KP._replace(name="x0"),), "the name 'x0' is used twice"),
        ((KP._replace(words=((3, Fraction(1)),)),), "weight kp: index 3 is past the end (3)"),
        ((KP._replace(words=((1, Fraction(1)),)),), "weight kp: w[1] is not 1 times its value"),
        ((KP._replace(value=Fraction(9)),), "weight kp: 9 is outside its range 0:4"),
    ],
)
def test_named_weights_that_mean_nothing_are_refused(named, message):
    with pytest.raises(InputError) as caught:
        Program(**PLAIN, named=named)
    assert str(caught.value) == message


def test_what_the_host_makes_probabilities_of():
    plain = loads("skinny 1\nwidth 3\ninputs a\nR0 += a*R1\nemit y = R0\nend")
    assert replace(plain, probabilities="sigmoid").probabilities == "sigmoid"
    for options, message in (
        ({"probabilities": "tanh"}, "probabilities must be sigmoid or softmax, not 'tanh'"),
        ({"probabilities": "softmax"}, "a softmax is of at least two outputs, and the program has one"),
        ({"probabilities": "sigmoid", "argmax": "class"}, "with argmax no outputs are sent that the host could make"),
    ):
        with pytest.raises(InputError, match=message):
            replace(plain, **options)
    assert replace(plain, probabilities="sigmoid").inverse().probabilities == ""


def test_which_weights_may_be_set():
    program = loads(
        "skinny 1\nwidth 3\ninputs a\nnamed k = 2 in 0:3\nweight w[0] = 5\nweight w[1] = k\n"
        "R0 += w[0]*R1\nR0 += w[1]*R1\nR0 += a*R1\nemit y = R0\nend"
    )
    assert program.settable_weights == {1}
    assert replace(program, settable=True).settable_weights == {0, 1}
