"""The assembler: every word by hand, every refusal by its message."""

from fractions import Fraction

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.machine.assemble import assemble, disassemble, fit_image
from skinny.model.machine.isa import CoreConfig, Op, Setting, Space
from skinny.model.program.forms import Input, Linear, Weight
from skinny.model.program.program import Columns, Mode, Output, Program
from skinny.model.program.text import loads
from skinny.model.rings import Boolean, FixedPoint, Modular, PrimeField
from skinny.model.run.stream import run_stream

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
    options = {} if seed < 10 else {"modes": list(Mode), "sums": True}
    program = random_program(rng, width=int(rng.integers(3, 9)), length=60, restarts=bool(seed % 2), **options)
    config = CoreConfig.fit(program, Modular(16))
    image = assemble(program, config)
    fields = config.decode(image.words)
    op, to_sum = fields["op"], fields["dst"] == config.width
    assert not config.malformed(image.words).any()
    assert (np.isin(op, [1, 2, 3]) & ~to_sum).sum() == len(program)
    assert (np.isin(op, [4, 5]) | (np.isin(op, [1, 2, 3]) & to_sum)).sum() == program.attends()
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


NETWORK = """skinny 1
width 4
inputs a b
weight w[0] = 3
weight w[1] = 1
form f[0] = w[0]*a + w[1]*R3 + b*R2 + w[1]
form f[1] = w[0]*a + w[1]*R3
form f[2] = 0
R3 = -a*R1
R2 = w[0]*R2
R0 += f[0]*R1
R0 += f[1]*R1
R0 -= f[1]*R2
R3 += b*R1
R0 = relu(f[1]*R0)
R2 -= f[2]*R1
emit y = R0
emit z = R2
end
"""


def test_assigns_and_sums_of_registers_word_by_word():
    program = loads(NETWORK)
    config = CoreConfig.fit(program, Modular(16))
    assert (config.assign, config.sums, config.relu) == (True, True, True)
    image = assemble(program, config)
    assert disassemble(image.words, config) == [
        "R3 = -x[0]*R1",
        "R2 = w[0]*R2",
        "S = w[0]*x[0]",
        "S += w[1]*R3",
        "S += x[1]*R2",
        "S += w[1]",
        "R0 += S*R1",
        "S = w[0]*x[0]",  # as short as to take two terms away
        "S += w[1]*R3",
        "R0 += S*R1",
        "R0 -= S*R2",  # R0 was written, which is not in the form
        "R3 += x[1]*R1",
        "S = w[0]*x[0]",  # R3 was written: what was held is stale
        "S += w[1]*R3",
        "R0 = relu(S*R0)",
        "R2 -= w[2]*R1",  # a weight more, which is zero
        "emit R0",
        "emit R2 last",
    ]
    assert image.weights.tolist() == [3, 1, 0]
    assert len(image) == program.words + len(program.outputs)
    # A weight of the program that is zero will do.
    assert assemble(loads(NETWORK.replace("w[1] = 1", "w[1] = 0")), config).weights.tolist() == [3, 0]


def test_what_argmax_compares_and_sends():
    program = loads(NETWORK.replace("R3 = -a", "argmax best\nR3 = -a"))
    config = CoreConfig.fit(program, Modular(16))
    image = assemble(program, config)
    assert disassemble(image.words[-2:], config) == ["compare R0", "decide R2 last"]
    assert (image.outputs, image.emits, image.emit_steps.tolist()) == (("best",), 1, [len(image) - 1])
    assert image.describe(len(image) - 2) == f"word {len(image) - 2} (compare R0) of output y"
    single = loads(NETWORK.replace("R3 = -a", "argmax best\nR3 = -a").replace("emit z = R2\n", ""))
    image = assemble(single, CoreConfig.fit(single, Modular(16)))
    assert disassemble(image.words[-2:], image.config) == ["compare 0", "decide R0 last"]
    assert (len(image), image.config.argmax) == (single.words + 2, 2)


REVERSIBLE = """skinny 1
width 4
inputs a b
weight w[0] = 3
form f[0] = w[0]*R3 + b*R2
argmax best
R3 = a*R1
R2 = b*R1
R0 += f[0]*R1
emit y = R0
emit z = R2
end
"""


def test_a_self_check_undoes_sums_of_registers_and_assigns_at_the_start():
    program = loads(REVERSIBLE)
    config = CoreConfig.fit(program, Modular(16), depth=64, registers="flipflops")
    words = disassemble(assemble(program, config, self_check=True).words, config)
    assert words == [
        "R3 += x[0]*R1",
        "R2 += x[1]*R1",
        "S = w[0]*R3",
        "S += x[1]*R2",
        "R0 += S*R1",
        "compare R0",
        "decide R2",
        "S = w[0]*R3",
        "S += x[1]*R2",
        "R0 -= S*R1",
        "R2 -= x[1]*R1",
        "R3 -= x[0]*R1",
        "check",
        "emit R0 last",
    ]


@pytest.mark.parametrize(
    ("text", "given", "message"),
    [
        (NETWORK, {"assign": False, "relu": False}, "instruction 0 assigns, but the core has no unit for that"),
        (NETWORK, {"relu": False}, "instruction 6 takes the relu, but the core has no unit for that"),
        (
            NETWORK,
            {"sums": False},
            "instruction 2 multiplies with a sum of registers, but the core has no unit for that",
        ),
        (NETWORK, {"weights": 2}, "3 weights do not fit a memory of 2"),
        (REVERSIBLE, {"argmax": 0}, "2 outputs do not fit an argmax of 0"),
    ],
)
def test_units_that_a_core_lacks_are_named(text, given, message):
    program = loads(text)
    config = CoreConfig.fit(program, Modular(16), **given)
    with pytest.raises(InputError) as caught:
        assemble(program, config)
    assert str(caught.value) == message


def test_a_self_check_needs_a_reversible_program():
    program = loads(NETWORK)
    with pytest.raises(
        InputError, match=r"^a self-check needs a reversible program, but instruction 1 assigns a register$"
    ):
        fit_image(program, Modular(16), self_check=True)


SMOOTHER = loads("""\
skinny 1
width 3
contract clean
start 0 1 5
state s = R2
inputs x
weight w[0] = 3
weight w[1] = 1
R0 += w[1]*R2
emit old = R0 restart
R0 += w[0]*R2
R0 += x*R1
R2 = w[1]*R0
emit y = R2
end
""")
WINDOW = """\
skinny 1
width 3
contract clean
start 0 1 0
window 4 hop 2
inputs b a b[t-1] a[t-1]
R2 += a*R1
R0 += b[t-1]*R2
emit y = R0
end
"""


def test_the_image_keeps_the_state_of_the_program_in_flipflops():
    image = fit_image(SMOOTHER, Modular(16))
    assert image.state == (2,)
    assert image.config.state
    assert not image.config.deep


def test_cores_without_window_or_state_are_refused_by_name():
    with pytest.raises(InputError, match="the program has a window of 4 words, but the core has none"):
        fit_image(loads(WINDOW), Modular(16), window=False)
    with pytest.raises(InputError, match="4 inputs do not fit a memory of 2"):
        fit_image(loads(WINDOW), Modular(16), inputs=2)
    config = CoreConfig.fit(SMOOTHER, Modular(16), state=False)
    with pytest.raises(InputError, match="the program has the state s, but the core keeps none"):
        assemble(SMOOTHER, config)


def test_the_cycle_model_sends_the_words_of_the_golden_run():
    image = fit_image(SMOOTHER, Modular(16))
    streams, count = image.config.threads, 5
    samples = np.random.default_rng(3).integers(-99, 99, (streams, count, 1))
    vectors = image.config.to_words(samples.swapaxes(0, 1).reshape(-1, 1))
    found = image.predict(vectors, [streams] * count)
    golden = run_stream(SMOOTHER, Modular(16), samples).outputs
    # In every batch each output is sent for all threads, then the next.
    expected = image.config.to_words(golden.transpose(1, 2, 0).reshape(-1, 1))
    assert found.data.tolist() == expected.reshape(-1).tolist()
