"""Layouts carry what the instruction set defines, bit for bit."""

import numpy as np
import pytest
from skinny.hdl.core.layout import RetireSignature, input_layout, load_layout, result_layout, retire_port, word_layout
from skinny.model.machine.isa import CoreConfig, Op
from skinny.model.rings import FixedPoint, Modular

CONFIG = CoreConfig(FixedPoint(16, 8), width=4, threads=3, depth=64, inputs=5, weights=6)


def test_a_program_word_has_the_fields_of_the_instruction_set():
    word = CONFIG.encode(Op.APPLY_X, dst=2, src=1, neg=1, u=4)
    fields = word_layout(CONFIG).from_bits(word)
    decoded = CONFIG.decode(np.array([word], dtype=np.uint64))
    assert word_layout(CONFIG).size == CONFIG.word_bits
    assert {name: fields[name] for name in CONFIG.fields} == {name: int(decoded[name][0]) for name in CONFIG.fields}


def test_payloads_have_the_data_in_their_lowest_bits():
    assert [field.offset for _, field in input_layout(CONFIG)] == [0, 16]
    assert [field.offset for _, field in result_layout(CONFIG)] == [0, 16, 17]
    assert (input_layout(CONFIG).size, result_layout(CONFIG).size) == (17, 18)


@pytest.mark.parametrize(("depth", "weights", "address"), [(64, 6, 6), (64, 256, 8)])
def test_a_write_reaches_the_largest_memory(depth, weights, address):
    config = CoreConfig(Modular(8), depth=depth, inputs=4, weights=weights)
    layout = load_layout(config)
    assert len(layout.members) == 3
    assert layout.members["address"].width == address
    assert layout.members["data"].width >= max(config.word_bits, config.bits)


def test_the_accumulator_comes_after_the_last_register():
    assert RetireSignature(CONFIG).members["dst"].shape == 3  # 0 to 3 are registers, 4 is S
    assert [retire_port(lane) for lane in range(3)] == ["retire", "retire1", "retire2"]
