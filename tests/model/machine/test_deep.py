"""Programs for registers in memory: the first add is an assign; what such registers cannot do is refused by name."""

from fractions import Fraction

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.machine.assemble import assemble, disassemble, fit_image
from skinny.model.machine.cycles import execute
from skinny.model.machine.deep import assigned_registers, deep_code
from skinny.model.machine.isa import CoreConfig
from skinny.model.program.forms import Input, Linear, Weight
from skinny.model.program.program import Columns, Mode, Output, Program
from skinny.model.rings import FixedPoint, Modular

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
