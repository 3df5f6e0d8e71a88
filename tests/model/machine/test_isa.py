"""The instruction set: every field by hand, the sizes of memories, every refusal by its message."""

from itertools import product

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.machine.isa import CoreConfig, Op, fifo_size, index_bits, lacks_zero, memory_size, zero_weight
from skinny.model.program.text import loads
from skinny.model.rings import Boolean, Exact, FixedPoint, Modular, PrimeField

RINGS = [Modular(1), Modular(16), FixedPoint(16, 8), PrimeField(31), PrimeField(97), Boolean()]
DEFAULT = CoreConfig(Modular(16))


def test_fields_lie_where_the_page_says():
    assert DEFAULT.fields == {"op": 3, "neg": 1, "flag": 1, "dst": 2, "src": 2, "u": 6, "k": 8}
    word = DEFAULT.encode(Op.APPLY_W, neg=1, dst=2, src=1, u=33, k=200)
    assert word == 2 | 1 << 3 | 0 << 4 | 2 << 5 | 1 << 7 | 33 << 9 | 200 << 15
    columns = {name: column.tolist() for name, column in DEFAULT.decode([word, 0]).items()}
    assert columns == {
        "op": [2, 0],
        "neg": [1, 0],
        "flag": [0, 0],
        "dst": [2, 0],
        "src": [1, 0],
        "u": [33, 0],
        "k": [200, 0],
    }


def test_bad_fields_are_refused():
    with pytest.raises(InputError, match="field u of a program word must be 0 to 63, not 64"):
        DEFAULT.encode(Op.APPLY_X, u=64)
    with pytest.raises(InputError, match="a program word has no field 'v'"):
        DEFAULT.encode(Op.APPLY_X, v=0)


@pytest.mark.parametrize(("attention", "check"), list(product([True, False], repeat=2)))
def test_malformed_words_one_by_one(attention, check):
    config = CoreConfig(Modular(8), 3, 2, 16, 3, 3, attention, check)
    words = np.arange(1 << config.word_bits)
    found = config.malformed(words).tolist()

    def means_something(word):
        op, dst, src, u, k = word & 7, word >> 5 & 3, word >> 7 & 3, word >> 9 & 3, word >> 11 & 3
        if op in (1, 2, 3):
            fine = dst < 3 and src < 3 and dst != src
            return fine and {1: u < 3, 2: k < 3, 3: attention}[op]
        return {0: False, 4: attention and u < 3 and k < 3, 5: attention and k < 3, 6: dst < 3, 7: check}[op]

    assert found == [not means_something(word) for word in words.tolist()]


def test_fields_of_other_units():
    config = CoreConfig(Modular(16), width=4, assign=True, sums=True, relu=True)
    assert config.fields == {"op": 3, "neg": 1, "flag": 1, "relu": 1, "dst": 3, "src": 2, "u": 6, "k": 8}
    assert CoreConfig(Modular(16), sums=True, assign=True, argmax=4).fields == DEFAULT.fields


@pytest.mark.parametrize(("assign", "sums"), list(product([True, False], repeat=2)))
def test_malformed_words_of_other_units_one_by_one(assign, sums):
    config = CoreConfig(Modular(8), 3, 2, 16, 3, 3, assign=assign, sums=sums)
    words = np.arange(1 << config.word_bits)
    found = config.malformed(words).tolist()

    def means_something(word):
        op, flag, dst, src = word & 7, word >> 4 & 1, word >> 5 & 3, word >> 7 & 3
        u, k = word >> 9 & 3, word >> 11 & 3
        if op in (1, 2, 3):
            to_register = dst < 3 and (dst != src or (assign and flag == 1))
            to_sum = sums and dst == 3 and op != 3
            return src < 3 and (to_register or to_sum) and {1: u < 3, 2: k < 3, 3: True}[op]
        return {0: False, 4: u < 3 and k < 3, 5: k < 3, 6: dst < 3, 7: True}[op]

    assert found == [not means_something(word) for word in words.tolist()]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"ring": Exact()}, "there is no hardware for the ring exact"),
        ({"ring": Modular(33)}, "a word of the core must be at most 32 bits, not 33"),
        ({"width": 2}, "the width must be 3 to 16, not 2"),
        ({"threads": 17}, "the number of threads must be 1 to 16, not 17"),
        ({"depth": 1}, "the program depth must be 2 to 1048576, not 1"),
        ({"inputs": 0}, "the number of inputs must be 1 to 65536, not 0"),
        ({"weights": 0}, "the number of weights must be 1 to 65536, not 0"),
        ({"fifo": 48}, "the depth of the result FIFO must be a power of two, not 48"),
        ({"fifo": 2}, "a result FIFO of 2 words cannot hold one output of 4 threads"),
        ({"slices": 65}, "the number of slices must be 1 to 64, not 65"),
        ({"argmax": -1}, "the number of outputs of argmax must be 0 to 65536, not -1"),
        ({"sums": True, "attention": False}, "sums of registers need the attention unit"),
        ({"relu": True}, "relu needs the unit that assigns"),
        (
            {"relu": True, "assign": True, "ring": PrimeField(7)},
            "relu and argmax need a ring with signs, not prime:7",
        ),
        ({"argmax": 2, "ring": Boolean()}, "relu and argmax need a ring with signs, not boolean"),
        ({"argmax": 2, "threads": 3}, "argmax needs 4 threads or more"),
        ({"argmax": 256, "ring": Modular(8)}, "256 outputs have no number in modular:8"),
    ],
)
def test_bad_configurations(given, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        CoreConfig(**({"ring": Modular(16)} | given))


@pytest.mark.parametrize("ring", [*RINGS, FixedPoint(8, 7), Modular(32)], ids=repr)
def test_elements_survive_packing(ring):
    config = CoreConfig(ring, slices=5)
    rng = np.random.default_rng(0)
    low, top = (0, ring.p) if isinstance(ring, PrimeField) else (-(1 << ring.bits - 1), 1 << ring.bits - 1)
    low, top = (0, 2) if isinstance(ring, Boolean) else (low, top)
    elements = rng.integers(low, top, (13, 3)).astype(ring.element_dtype)
    words = config.pack(elements)
    assert words.shape == ((3, 3) if isinstance(ring, Boolean) else (13, 3))
    assert (words < 1 << config.bits).all()
    assert (config.unpack(words, 13) == elements).all()


def test_boolean_constants_fill_the_word_and_inferences_are_bits():
    config = CoreConfig(Boolean(), slices=4)
    assert config.to_words(np.array([0, 1])).tolist() == [0, 15]
    assert config.pack(np.array([[1], [0], [0], [1], [1]])).tolist() == [[9], [1]]


def test_one_is_the_rings_one_as_a_word():
    rings = [Modular(16), FixedPoint(16, 8), FixedPoint(8, 7), PrimeField(31)]
    assert [CoreConfig(ring).one for ring in rings] == [1, 1 << 8, 1 << 7, 1]
    assert CoreConfig(Boolean(), slices=5).one == 0b11111


def test_words_of_the_load_port_hold_the_widest_thing():
    config = CoreConfig(Modular(8), width=3, threads=2, depth=1024, inputs=2, weights=2)
    assert (config.word_bits, config.address_bits, config.load_bits) == (3 + 1 + 1 + 2 + 2 + 1 + 1, 10, 11)
    assert CoreConfig(Modular(32)).load_bits == 32
    assert CoreConfig(Modular(8), depth=1 << 18, inputs=2, weights=2).load_bits == 18


def test_sizes_are_powers_of_two():
    counts = [0, 1, 2, 3, 4, 5, 8, 9, 64, 65]
    assert [index_bits(count) for count in counts] == [1, 1, 1, 2, 2, 3, 3, 4, 6, 7]
    assert [memory_size(count) for count in counts] == [2, 2, 2, 4, 4, 8, 8, 16, 64, 128]


def test_a_result_fifo_holds_two_batches():
    assert [fifo_size(results) for results in (1, 32, 33, 64, 65)] == [64, 64, 128, 128, 256]


def test_fit_gives_the_smallest_powers_of_two():
    text = "skinny 1\nwidth 3\ninputs a b c\nweight w[0] = 2\nweight w[1] = 3\nweight w[2] = 5\n"
    program = loads(text + "form f[0] = w[0]*a + w[1]*b + w[2]\nR0 += f[0]*R1\nemit y = R0\nend\n")
    config = CoreConfig.fit(program, Modular(16), threads=2)
    sizes = config.width, config.threads, config.depth, config.inputs, config.weights, config.fifo
    assert sizes == (3, 2, 8, 4, 4, 64)
    assert CoreConfig.fit(program, Modular(16), threads=16, depth=100, fifo=32) == CoreConfig(
        Modular(16), 3, 16, 100, 4, 4, fifo=32
    )


MACHINE = """skinny 1
width 3
inputs a
weight w[0] = {weight}
form f[0] = 0
form f[1] = w[0]*R2
R2 = f[0]*R1
{lines}emit y = R0
end
"""


@pytest.mark.parametrize(
    ("text", "given", "ring", "registers"),
    [
        ("R2 += a*R1\nR0 += w[0]*R2\n", {}, FixedPoint(16, 8), "flipflops"),  # a pure program
        ("R2 = a*R1\nR0 = w[0]*R2\n", {}, FixedPoint(16, 8), "memory"),
        ("R2 = a*R1\nR0 = w[0]*R2\n", {"threads": 6}, FixedPoint(16, 8), "memory"),
        ("R2 = a*R1\nR0 = w[0]*R2\n", {"threads": 5}, FixedPoint(16, 8), "flipflops"),
        ("R2 = a*R1\nR0 = w[0]*R2\n", {"threads": 7, "pipeline": 8}, FixedPoint(16, 8), "memory"),
        ("R2 = a*R1\nR0 = w[0]*R2\n", {"registers": "flipflops"}, FixedPoint(16, 8), "flipflops"),
        ("R2 = a*R1\nR0 = w[0]*R2\n", {}, FixedPoint(16, 15), "flipflops"),  # there is no one to read
        ("R1 = a*R1\nR0 = w[0]*R1\n", {}, FixedPoint(16, 8), "flipflops"),  # writes the register that reads as one
        ("R2 += a*R0\nR0 = w[0]*R1\n", {}, FixedPoint(16, 8), "flipflops"),  # reads what was never assigned
    ],
)
def test_registers_are_in_memory_where_that_is_smaller(text, given, ring, registers):
    program = loads(f"skinny 1\nwidth 3\ninputs a\nweight w[0] = 1/2\n{text}emit y = R0\nend\n")
    assert CoreConfig.fit(program, ring, **given).registers == registers


def test_the_smallest_core_has_the_units_that_a_program_needs():
    def units(lines, weight=1):
        program = loads(MACHINE.format(weight=weight, lines=lines))
        config = CoreConfig.fit(program, FixedPoint(16, 8), registers="flipflops")
        return config.assign, config.sums, config.relu, config.argmax, config.weights

    assert units("") == (True, False, False, 0, 2)  # one weight more, which is zero
    assert units("", 0) == (True, False, False, 0, 2)
    assert units("R0 += f[1]*R1\n") == (True, True, False, 0, 2)
    assert units("R0 = relu(a*R1)\n") == (True, False, True, 0, 2)
    program = loads(MACHINE.format(weight=1, lines="").replace("R2 =", "argmax best\nR2 ="))
    assert CoreConfig.fit(program, FixedPoint(16, 8)).argmax == 2
    with pytest.raises(InputError, match="relu and argmax need a ring with signs, not prime:7"):
        CoreConfig.fit(program, PrimeField(7))
    assert lacks_zero(program)
    assert zero_weight(program) == 1
    assert zero_weight(loads(MACHINE.format(weight=0, lines=""))) == 0
