"""Programs for registers in memory: the first add is an assign; what such registers cannot do is refused by name."""

from fractions import Fraction

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.machine.assemble import assemble, disassemble, fit_image
from skinny.model.machine.cycles import execute
from skinny.model.machine.deep import assigned_registers, deep_code
from skinny.model.machine.isa import CoreConfig, Setting
from skinny.model.program.forms import Input, Linear, Weight
from skinny.model.program.program import Columns, Mode, Output, Program
from skinny.model.program.streams import State
from skinny.model.rings import FixedPoint, Modular
from skinny.model.run.stream import run_stream

FORMS = (Input(0), Weight(0), Linear(((0, 0),), 1), Linear((), None, ((Weight(1), 0), (Input(0), 2))))


def program(*code, outputs=(("y", 0, None),), **others):
    """A program of instructions ``(dst, src, form, mode)`` of four registers that sends registers at their places."""
    dst, src, form, mode = zip(*code, strict=True)
    given = {"width": 4, "inputs": ("a",), "weights": (Fraction(2), Fraction(3)), "forms": FORMS} | others
    return Program(
        code=Columns.of(dst, src, [1] * len(dst), form, mode),
        outputs=tuple(Output(name, r, len(dst) if at is None else at, *more) for name, r, at, *more in outputs),
        **given,
    )


GOOD = program((0, 1, 0, Mode.ADD), (2, 0, 1, Mode.ADD), (0, 2, 2, Mode.ADD), (3, 1, 3, Mode.RELU), (0, 3, 0, 0))


def test_only_the_first_add_to_a_register_is_an_assign():
    code = deep_code(GOOD, GOOD.code)
    assert code.mode.tolist() == [Mode.ASSIGN, Mode.ASSIGN, Mode.ADD, Mode.RELU, Mode.ADD]
    assert GOOD.code.mode.tolist() == [Mode.ADD, Mode.ADD, Mode.ADD, Mode.RELU, Mode.ADD]
    assert assigned_registers(code) == [0, 2, 3]


REFUSED = {
    "instruction 1 reads R2 before it is assigned": program((0, 1, 0, 0), (0, 2, 0, 0)),
    "instruction 0 reads R3 before it is assigned": program((3, 3, 0, Mode.ASSIGN)),
    "instruction 1 reads R2 before": program((0, 1, 0, 0), (3, 1, 3, Mode.ASSIGN)),
    "instruction 1 writes it": program((0, 1, 0, 0), (1, 0, 0, 0)),
    "cannot send output z: R3 is not assigned before": program(
        (0, 1, 0, 0), (3, 1, 0, 0), outputs=(("z", 3, 1), ("y", 0, 2))
    ),
    "cannot send output y: R1 reads as one": program((0, 1, 0, 0), outputs=(("y", 1, None),)),
    "cannot hold the start vector 0 1 1 0": program((0, 1, 0, 0), start=(0, 1, 1, 0)),
    "cannot restart": program((0, 1, 0, 0), (0, 1, 0, 0), outputs=(("z", 0, 1, True), ("y", 0, 2))),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_registers_in_memory_cannot_do_is_refused_by_name(message):
    found = REFUSED[message]
    with pytest.raises(InputError, match="registers in memory") as refused:
        fit_image(found, Modular(8), registers="memory")
    assert message in str(refused.value)


def test_words_are_those_of_the_page():
    """The accumulator is register 1 as a destination, and a bias is a weight times register 1."""
    image = assemble(GOOD, CoreConfig(Modular(8), width=4, threads=8, registers="memory", relu=True))
    assert disassemble(image.words, image.config) == [
        "R0 = x[0]*R1",
        "R2 = w[0]*R0",
        "S = w[0]*x[0]",
        "S += w[1]*R1",
        "R0 += S*R2",
        "S = w[1]*R0",
        "S += x[0]*R2",
        "R3 = relu(S*R1)",
        "R0 += x[0]*R3",
        "emit R0 last",
    ]
    assert [item.space.name for item in image.loads()].count("START") == 0


def test_a_restart_behind_the_last_output_means_nothing():
    image = fit_image(program((0, 1, 0, 0), outputs=(("y", 0, None, True),)), Modular(8), registers="memory")
    assert disassemble(image.words, image.config)[-1] == "emit R0 last"


def test_a_self_check_undoes_everything_and_checks_each_register():
    pure = program((0, 1, 0, 0), (2, 0, 2, 0), (0, 2, 1, 0), (3, 1, 3, 0), (0, 3, 0, 0))
    image = fit_image(pure, FixedPoint(16, 8), self_check=True, registers="memory", width=9)
    assert disassemble(image.words, image.config)[-4:] == [
        "check R0 = 0",
        "check R2 = 0",
        "check R3 = 0",
        "emit R0 last",
    ]
    assert image.config.guard
    vectors = np.arange(0, 65536, 777, dtype=np.uint64)[:, None]
    found = execute(image, vectors)
    assert not found.faults.any()
    assert (found.values[-1] == image.status).all()
    # A wrong step on the way back leaves something behind.
    image.words[len(image) // 2] ^= np.uint64(image.config.encode(0, neg=1))
    assert execute(image, vectors).faults[:, 1:].any(axis=0).all()


@pytest.mark.parametrize(
    ("message", "given"),
    [
        ("registers must be in flipflops or memory, not 'ram'", {"registers": "ram"}),
        ("the width must be 3 to 1024, not 1025", {"registers": "memory", "width": 1025, "threads": 8}),
        ("the width must be 3 to 16, not 17", {"width": 17}),
        ("the number of threads must be 6 to 16, not 5", {"registers": "memory", "threads": 5}),
        ("the number of threads must be 8 to 16, not 7", {"registers": "memory", "threads": 7, "pipeline": 9}),
        ("the pipeline must be 6 to 11, not 5", {"registers": "memory", "threads": 8, "pipeline": 5}),
    ],
)
def test_bad_sizes(message, given):
    with pytest.raises(InputError) as refused:
        CoreConfig(Modular(8), **given)
    assert str(refused.value) == message


def test_a_format_without_one_is_refused():
    with pytest.raises(InputError, match=r"need a ring that has one, not fixed:8\.7"):
        CoreConfig(FixedPoint(8, 7), registers="memory", threads=8)


def test_programs_of_many_registers_get_them_in_memory():
    wide = program((0, 1, 0, 0), width=17)
    assert CoreConfig.fit(wide, Modular(8)).deep
    assert CoreConfig.fit(wide, Modular(8)).threads == 8
    assert not CoreConfig.fit(program((0, 1, 0, 0), width=16), Modular(8)).deep


def step(**others):
    """Two states that begin with a half and one that begins with three, each read before it is written."""
    code = [(0, 2, 0, Mode.ADD), (3, 0, 1, Mode.ADD), (2, 1, 0, Mode.ADD)]
    given = {"width": 5, "state": (State("p", 0), State("q", 2), State("r", 3)), "weights": (Fraction(1, 4),) * 2}
    half = Fraction(1, 2)
    return program(*code, **{"outputs": (("y", 3, None),), "start": (half, 1, half, 3, 0), **given} | others)


def test_a_run_begins_with_the_words_that_begin_streams():
    image = fit_image(step(), FixedPoint(16, 8), registers="memory")
    assert disassemble(image.words[:4], image.config) == [
        "R0 = w[2]*R1 in the first run",
        "R2 = w[2]*R1 in the first run",
        "R3 = w[3]*R1 in the first run",
        "R0 += x[0]*R2",
    ]
    assert image.weights[2:].tolist() == [1 << 7, 3 << 8]
    assert Setting.STATE not in image.settings
    with pytest.raises(InputError, match="4 weights do not fit a memory of 3"):
        fit_image(step(), FixedPoint(16, 8), registers="memory", weights=3)
    with pytest.raises(InputError, match="start of register 3: 3 "):
        fit_image(step(), FixedPoint(4, 3 - 1), registers="memory")


def test_states_in_memory_are_those_of_the_golden_run():
    ring = FixedPoint(16, 8)
    image = fit_image(step(), ring, registers="memory", threads=6)
    samples = np.random.default_rng(1).integers(-300, 300, (6, 5, 1))
    vectors = image.config.pack(samples.transpose(1, 0, 2).reshape(30, 1))
    # The third batch has two vectors.
    kept = [*range(14), *range(18, 30)]
    found = image.predict(vectors[kept], [6, 6, 2, 6, 6]).data.reshape(-1)
    golden = [run_stream(step(), ring, np.delete(samples[t], [2] * (t >= 2), 0)[None]).outputs[0] for t in range(6)]
    expected = [image.config.to_words(sent[:, 0]).tolist() for sent in golden]
    assert found.tolist() == [expected[t].pop(0) for size in (6, 6, 2, 6, 6) for t in range(size)]


def test_states_go_into_memory_only_where_they_must():
    wide = step(width=17, start=(Fraction(1, 2), 1, Fraction(1, 2), 3, *(0,) * 13))
    assert CoreConfig.fit(wide, FixedPoint(16, 8)).deep
    assert not CoreConfig.fit(step(), FixedPoint(16, 8)).deep


def test_the_one_is_no_state():
    with pytest.raises(InputError, match="registers in memory have a one in R1, but it is state"):
        fit_image(step(state=(State("p", 1),), start=()), FixedPoint(16, 8), registers="memory")
