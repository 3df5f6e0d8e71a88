"""The assembler: every word by hand, every refusal by its message."""

from fractions import Fraction

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.machine.assemble import assemble, disassemble, fit_image
from skinny.model.machine.isa import CoreConfig, Op, Setting, Space
from skinny.model.program.forms import Input, Linear, Weight
from skinny.model.program.program import Columns, Output, Program
from skinny.model.rings import Boolean, FixedPoint, Modular, PrimeField

RINGS = [Modular(1), Modular(16), FixedPoint(16, 8), PrimeField(31), PrimeField(97), Boolean()]
DEFAULT = CoreConfig(Modular(16))


def program_of(forms, uses, outputs=None, weights=4, inputs=3, start=()):
    """``uses`` are form numbers, one an instruction ``R0 += s·R1``."""
    return Program(
        width=3,
        inputs=tuple(f"x{u}" for u in range(inputs)),
        weights=tuple(Fraction(k + 1) for k in range(weights)),
        forms=tuple(forms),
        code=Columns.of([0] * len(uses), [1] * len(uses), [1] * len(uses), uses),
        outputs=outputs or (Output("y", 0, len(uses)),),
        start=start,
    )


def texts(program, config=DEFAULT, **options):
    return disassemble(assemble(program, config, **options).words, config)


def test_one_word_for_each_kind_of_scalar():
    forms = [Input(2), Weight(3), Linear(((1, 0), (2, 1)), 3)]
    assert texts(program_of(forms, [0, 1, 2])) == [
        "R0 += x[2]*R1",
        "R0 += w[3]*R1",
        "S = w[1]*x[0]",
        "S += w[2]*x[1]",
        "S += w[3]",
        "R0 += S*R1",
        "emit R0 last",
    ]


def test_a_form_in_the_accumulator_is_not_built_again():
    forms = [Linear(((0, 0), (1, 1), (2, 2)), 3), Input(0)]
    words = texts(program_of(forms, [0, 1, 0, 0]))
    assert words.count("R0 += S*R1") == 3
    assert sum(word.startswith("S ") for word in words) == 4


def test_single_terms_are_added_and_taken_away_when_that_is_cheaper():
    three = ((0, 0), (1, 1), (2, 2))
    forms = [Linear(three, 3), Linear(three), Linear(((0, 0), (1, 1), (3, 2))), Linear(((0, 0),))]
    assert texts(program_of(forms, [0, 1, 2, 3]))[5:] == [
        "S -= w[3]",
        "R0 += S*R1",
        "S -= w[2]*x[2]",
        "S += w[3]*x[2]",
        "R0 += S*R1",
        "S = w[0]*x[0]",
        "R0 += S*R1",
        "emit R0 last",
    ]


def test_the_empty_form_costs_no_step():
    forms = [Linear(((0, 0),)), Linear(())]
    assert texts(program_of(forms, [0, 1, 0])) == [
        "S = w[0]*x[0]",
        "R0 += S*R1",
        "R0 += 0*R1",
        "S = w[0]*x[0]",
        "R0 += S*R1",
        "emit R0 last",
    ]


def test_a_term_listed_twice_counts_twice():
    forms = [Linear(((0, 0), (0, 0), (1, 1), (2, 2))), Linear(((0, 0), (1, 1), (2, 2)))]
    assert texts(program_of(forms, [0, 1]))[4:] == ["R0 += S*R1", "S -= w[0]*x[0]", "R0 += S*R1", "emit R0 last"]


def test_outputs_stand_where_the_program_sends_them():
    outputs = (Output("a", 2, 0), Output("b", 0, 1, True), Output("c", 1, 1), Output("d", 0, 2))
    assert texts(program_of([Input(0)], [0, 0, 0], outputs)) == [
        "emit R2",
        "R0 += x[0]*R1",
        "emit R0 restart",
        "emit R1",
        "R0 += x[0]*R1",
        "emit R0 last",
        "R0 += x[0]*R1",
    ]


def test_self_check_undoes_the_program_checks_and_sends_a_status():
    # The accumulator is built anew for the way back: an error in it must not be undone by itself.
    assert texts(program_of([Input(0), Linear(((0, 1),))], [0, 1]), self_check=True) == [
        "R0 += x[0]*R1",
        "S = w[0]*x[1]",
        "R0 += S*R1",
        "emit R0",
        "S = w[0]*x[1]",
        "R0 -= S*R1",
        "R0 -= x[0]*R1",
        "check",
        "emit R0 last",
    ]


def test_self_check_of_parts():
    outputs = (Output("a", 0, 1), Output("b", 0, 2, True), Output("c", 0, 3))
    program = program_of([Input(0), Input(1), Input(2)], [0, 1, 2], outputs)
    assert texts(program, self_check=True) == [
        "R0 += x[0]*R1",
        "emit R0",
        "R0 += x[1]*R1",
        "emit R0",
        "R0 -= x[1]*R1",
        "R0 -= x[0]*R1",
        "check",
        "R0 += x[2]*R1",
        "emit R0",
        "R0 -= x[2]*R1",
        "check",
        "emit R0 last",
    ]
    image = fit_image(program, Modular(16), self_check=True, threads=8, fifo=64)
    assert (image.emits, image.batches, image.config.depth, image.config.guard) == (4, 2, 16, True)
    assert image.instructions.tolist() == [0, -2, 1, -3, 1, 0, -1, 2, -4, 2, -1, -1]
    assert fit_image(program, Modular(16), threads=8).emits == 3


def test_the_fifo_of_a_self_check_holds_two_batches():
    outputs = tuple(Output(f"y{n}", 0, 1) for n in range(15))
    program = program_of([Input(0)], [0], outputs)
    assert fit_image(program, Modular(16), self_check=True).config.fifo == 128
    assert fit_image(program, Modular(16), self_check=True, threads=5).batches == 3


@pytest.mark.parametrize("seed", range(20))
def test_as_many_words_as_the_program_counts_cycles(random_program, seed):
    rng = np.random.default_rng(seed)
    program = random_program(rng, width=int(rng.integers(3, 9)), length=60, restarts=bool(seed % 2))
    config = CoreConfig.fit(program, Modular(16))
    image = assemble(program, config)
    op = config.decode(image.words)["op"]
    assert not config.malformed(image.words).any()
    assert (np.isin(op, [1, 2, 3])).sum() == len(program)
    assert (np.isin(op, [4, 5])).sum() == program.attends()
    assert (op == Op.EMIT).sum() == len(program.outputs)
    assert len(image) == program.words + len(program.outputs)


def test_image_holds_weights_start_and_settings():
    program = program_of([Input(0)], [0], start=(-1, 1, 0))
    image = assemble(program, CoreConfig(FixedPoint(16, 4), width=4, threads=3, fifo=16))
    assert image.weights.tolist() == [16, 32, 48, 64]
    assert image.start.tolist() == [0xFFF0, 16, 0, 0]
    assert image.settings == {Setting.LAST_WORD: 1, Setting.LAST_INPUT: 2, Setting.BATCHES: 5}
    loads = list(image.loads())
    assert len(loads) == 2 + 4 + 4 + 3
    assert loads[1] == (Space.PROGRAM, 1, int(image.words[1]))
    assert loads[7] == (Space.START, 1, 16)
    assert loads[-1] == (Space.SETTINGS, 2, 5)


def test_words_know_the_instruction_they_serve():
    program = program_of([Linear(((0, 0), (1, 1))), Input(1)], [1, 0], (Output("y", 0, 2), Output("z", 1, 2)))
    image = assemble(program, DEFAULT)
    assert image.instructions.tolist() == [0, 1, 1, 1, -2, -3]
    assert image.describe(1) == "word 1 (S = w[0]*x[0]) of instruction 1: R0 += f[0]*R1"
    assert image.describe(5) == "word 5 (emit R1 last) of output z"
    lines = image.listing().splitlines()
    assert lines[0] == f"     0  {int(image.words[0]):06x}  {'R0 += x[1]*R1':<24}  0: R0 += x1*R1"
    assert lines[2].split()[0] == "2"
    assert lines[6] == "  w[0] = 0x1"
    assert lines[-1] == "  start 0x0 0x1 0x0"


def test_malformed_words_are_shown_as_numbers():
    assert disassemble([0, DEFAULT.encode(Op.APPLY_X)], DEFAULT) == ["malformed 0x0", "malformed 0x1"]


# Refusals

BIG = program_of([Linear(((0, 0), (1, 1)))], [0, 0])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"inputs": 2}, "3 inputs do not fit a memory of 2"),
        ({"weights": 3}, "4 weights do not fit a memory of 3"),
        ({"depth": 4}, "5 program words do not fit a memory of 4"),
        ({"attention": False}, "the program uses linear forms, but the core has no attention unit"),
        ({"ring": Modular(2)}, r"weight w\[3\]: 4 does not fit modular:2 \(-2 to 3\)"),
    ],
)
def test_what_does_not_fit_is_named(given, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        assemble(BIG, CoreConfig(**({"ring": Modular(16)} | given)))


def test_more_refusals():
    outputs = tuple(Output(f"y{n}", 0, 1) for n in range(17))
    with pytest.raises(InputError, match=r"^68 results of a batch do not fit a FIFO of 64$"):
        assemble(program_of([Input(0)], [0], outputs), DEFAULT)
    with pytest.raises(InputError, match=r"^start of register 1: 9 does not fit modular:3 \(-4 to 7\)$"):
        assemble(program_of([Input(0)], [0], start=(0, 9, 0)), CoreConfig(Modular(3)))
    wide = Program(4, ("x",), (), (Input(0),), Columns.of([3], [1], [1], [0]), (Output("y", 3, 1),))
    with pytest.raises(InputError, match=r"^4 registers do not fit the width 3$"):
        assemble(wide, DEFAULT)
    with pytest.raises(InputError, match=r"^a self-check needs a core with the check unit$"):
        assemble(BIG, CoreConfig(Modular(16), check=False), self_check=True)
    with pytest.raises(InputError, match=r"^68 results of a batch do not fit a FIFO of 64$"):
        assemble(program_of([Input(0)], [0], outputs[:16]), DEFAULT, self_check=True)
    with pytest.raises(InputError, match=r"^11 program words do not fit a memory of 7$"):
        assemble(BIG, CoreConfig(Modular(16), depth=7), self_check=True)


def test_a_program_of_ten_million_instructions_is_refused_at_once():
    huge = program_of([Input(0)], np.zeros(10**7, dtype=np.int32))
    with pytest.raises(InputError, match=r"^10000001 program words do not fit a memory of 1024$"):
        assemble(huge, DEFAULT)
