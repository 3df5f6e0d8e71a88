"""The counts that the guards of synthesis compare with, worked out by hand."""

from dataclasses import replace

import pytest
from skinny.model.errors import InputError
from skinny.model.machine.assemble import assemble
from skinny.model.machine.isa import CoreConfig
from skinny.model.parallel.image import ImageOptions
from skinny.model.program.forms import Input
from skinny.model.program.program import Columns, Output, Program
from skinny.model.program.text import loads
from skinny.model.rings import Boolean, FixedPoint, Modular, PrimeField
from skinny.sim.fpga.devices import DEVICES
from skinny.sim.fpga.expected import expected_cells, image_for

PROGRAM = "skinny 1\nwidth 3\ninputs a\nR2 += a*R1\nR0 += a*R2\nemit y = R0\nend\n"

# Program words of the default sizes are 3 + 1 + 1 + 2 + 2 + 6 + 8 = 23 bits; 512 words of inputs; results have two bits
# more than a word.


@pytest.mark.parametrize(
    ("device", "config", "target", "blocks"),
    [
        # Program 23 bits of 1024: six of 4 bits. Weights one. Inputs 16 of 512: two of 8. Results 18 of 64: two of 16.
        ("up5k", CoreConfig(FixedPoint(16, 8)), "generic", 11),
        ("hx8k", CoreConfig(Modular(8)), "generic", 6 + 1 + 1 + 1),
        # Program 23 bits of 300: three of 8, not four of 16.
        ("up5k", CoreConfig(Modular(8), threads=1, depth=300), "generic", 3 + 1 + 1 + 1),
        # Program two of 18; the others one each, inputs 512 of 32 bits and results 64 of 34 in one of 36.
        ("ecp5-25k", CoreConfig(FixedPoint(32, 8)), "generic", 2 + 1 + 1 + 1),
        ("ecp5-85k", CoreConfig(FixedPoint(32, 8)), "ecp5", 2 + 2 + 2 + 2),
        # Program 17 bits of 4096: five of 4 bits side by side; inferred four times 1024 words of 18 bits.
        ("ecp5-25k", CoreConfig(Modular(12), depth=4096, inputs=16, weights=16), "ecp5", 5 + 1 + 1 + 1),
        ("ecp5-25k", CoreConfig(Modular(12), depth=4096, inputs=16, weights=16), "generic", 4 + 1 + 1 + 1),
        # Program 31 bits of 1024: eight of 4. Inputs of 1024: four of 4. Registers of 512: two of 8, twice; S one.
        ("up5k", CoreConfig(FixedPoint(16, 8), 64, 8, registers="memory"), "generic", 8 + 1 + 4 + 2 + 2 * 2 + 1),
        # Program two of 18; registers 16 of 2048: two of 9, twice.
        ("ecp5-25k", CoreConfig(FixedPoint(16, 8), 256, 8, registers="memory"), "ecp5", 2 + 1 + 1 + 1 + 2 * 2 + 1),
    ],
)
def test_block_rams(device, config, target, blocks):
    assert expected_cells(config, DEVICES[device], target=target).block_ram == range(blocks, blocks + 1)


def test_constant_bits_of_a_deep_rom_may_go_where_it_is_inferred():
    config = CoreConfig(Modular(16), depth=1 << 15, inputs=2, weights=2)
    image = assemble(loads(PROGRAM), config)
    whole = expected_cells(config, DEVICES["ecp5-85k"], target="ecp5").block_ram
    assert len(whole) == 1
    found = expected_cells(config, DEVICES["ecp5-85k"], target="ecp5", rom=image).block_ram
    assert found[0] < found[-1] == whole[0]
    # A ROM of blocks that are instantiated keeps them all.
    config = replace(config, depth=1 << 14)
    found = expected_cells(config, DEVICES["ecp5-85k"], target="ecp5", rom=assemble(loads(PROGRAM), config)).block_ram
    assert len(found) == 1


def test_a_column_of_one_bit_may_take_half():
    # Program 15 bits of 4096: seven columns of two blocks of 2048, and one bit in two blocks or, as yosys does, in one.
    config = CoreConfig(Boolean(), width=4, threads=1, depth=4096, inputs=2, weights=32, fifo=32, slices=10)
    assert expected_cells(config, DEVICES["up5k"]).block_ram == range(14 + 1 + 3, 14 + 2 + 3 + 1)


@pytest.mark.parametrize(
    ("device", "ring", "least", "most"),
    [
        ("up5k", FixedPoint(16, 8), 1, 1),
        ("up5k", Modular(8), 0, 0),  # eight bits of product are too few for a block
        ("up5k", FixedPoint(8, 4), 1, 1),  # twelve are not
        # Seen in netlists of products alone: 16 bits and 1, 16 and 4 of which the high product has 8 bits, and so on.
        ("up5k", Modular(17), 1, 1),
        ("up5k", PrimeField((1 << 19) - 1), 3, 3),
        ("up5k", FixedPoint(20, 10), 3, 3),
        ("up5k", FixedPoint(22, 11), 4, 4),
        ("up5k", Modular(32), 3, 3),
        ("up5k", FixedPoint(32, 16), 4, 4),
        ("up5k", Boolean(), 0, 0),
        ("hx8k", Modular(32), 0, 0),
        ("ecp5-25k", Modular(18), 1, 1),
        ("ecp5-25k", Modular(19), 1, 1),
        ("ecp5-25k", Modular(20), 3, 3),
        ("ecp5-25k", FixedPoint(24, 12), 3, 3),
        ("ecp5-25k", FixedPoint(32, 16), 4, 4),
        ("ecp5-25k", PrimeField(8191), 1, 1),
        ("ecp5-25k", PrimeField(65521), 1, 7),
    ],
)
def test_multipliers(device, ring, least, most):
    assert expected_cells(CoreConfig(ring), DEVICES[device]).dsp == range(least, most + 1)


def test_a_rom_may_have_constant_bits():
    text = "skinny 1\nwidth 3\ninputs a\nweight w[0] = 1\nR2 += a*R1\nR0 += w[0]*R2\nemit y = R0\nend\n"
    # Words 3 + 1 + 1 + 2 + 2 + 6 + 8 bits of which op (3), neg (1), dst (1) and src (2) differ: with three words
    # one block of 16 bits. No weight but one.
    config = CoreConfig(FixedPoint(16, 8))
    rom = assemble(loads(text), config)
    assert expected_cells(config, DEVICES["up5k"], rom=rom).block_ram == range(1 + 1 + 2 + 2, 12)


def long_program(length):
    """R0 takes a thousand inputs, again and again; none of UP5K's thirty block RAMs would be left for 8,192 words."""
    code = Columns.of([0] * length, [1] * length, [1] * length, [n % 64 for n in range(length)])
    inputs = tuple(f"x{u}" for u in range(64))
    return Program(3, inputs, (), tuple(Input(u) for u in range(64)), code, (Output("y", 0, length, False),))


def test_a_program_that_fits_a_device_only_rolled_is_rolled():
    up5k, program = DEVICES["up5k"], long_program(6400)
    assert not image_for(up5k, long_program(640), Modular(8), ImageOptions()).rolled
    image = image_for(up5k, program, Modular(8), ImageOptions())
    assert image.rolled
    assert image.steps > 6400
    assert len(image) <= 16
    assert not image_for(DEVICES["ecp5-85k"], program, Modular(8), ImageOptions()).rolled
    assert not image_for(up5k, program, Modular(8), ImageOptions(roll=False)).rolled
    assert image_for(up5k, program, Modular(8), ImageOptions(roll=True)).rolled


def test_a_program_that_does_not_fit_rolled_either_is_refused():
    with pytest.raises(InputError, match="block RAMs"):
        image_for(DEVICES["up5k"], long_program(64), Modular(8), ImageOptions(inputs=1 << 14))
