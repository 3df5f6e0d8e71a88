"""Devices: their names, their cells, and the frequency that counts."""

import pytest
from skinny.model.errors import InputError
from skinny.model.parallel.image import ImageOptions
from skinny.model.program.text import loads
from skinny.model.rings import Modular
from skinny.sim.fpga.devices import DEVICES, ECP5, ICE40, find_device


def test_unknown_device():
    with pytest.raises(InputError, match=r"^unknown device 'up4k': there are up5k, hx8k, ecp5-25k, ecp5-85k$"):
        find_device("up4k")


def test_every_device_is_found_by_its_name():
    assert [find_device(name).name for name in DEVICES] == ["up5k", "hx8k", "ecp5-25k", "ecp5-85k"]


def test_registers_in_memory_get_the_pipeline_of_their_family():
    program = loads("skinny 1\nwidth 3\ninputs a\nR0 += a*R1\nemit y = R0\nend\n")
    deep = ImageOptions(registers="memory")
    assert [family.build_image(program, Modular(8), deep).config.pipeline for family in (ICE40, ECP5)] == [7, 9]
    few = ImageOptions(registers="memory", threads=6)
    assert ECP5.build_image(program, Modular(8), few).config.pipeline == 7
    asked = ImageOptions(registers="memory", pipeline=8)
    assert ECP5.build_image(program, Modular(8), asked).config.pipeline == 8
    assert not ECP5.build_image(program, Modular(8), ImageOptions()).config.deep


def test_tools():
    assert DEVICES["hx8k"].tools == ("yosys", "nextpnr-ice40", "icepack")
    assert DEVICES["ecp5-85k"].tools == ("yosys", "nextpnr-ecp5", "ecppack")


def test_bits_of_a_block_ram():
    # Parity bits, which ECP5 has in wide shapes only, do not count.
    assert (ICE40.block_bits, ECP5.block_bits) == (4096, 16384)


@pytest.mark.parametrize(
    ("device", "blocks", "bits", "threads", "counts"),
    [
        ("up5k", 1, 16, 4, 50),  # registers inside the block; the data sheet's limit
        ("up5k", 1, 16, 2, 1000 / (16 + 9.05)),  # no registers before it
        ("up5k", 4, 17, 4, 1000 / (16 + 9.05)),  # several, with adders behind them
        ("up5k", 0, 8, 1, 62.5),  # no block at all
        ("hx8k", 0, 32, 1, 62.5),
        ("ecp5-25k", 4, 32, 1, 62.5),  # nextpnr knows these blocks
    ],
)
def test_what_counts_where_nextpnr_knows_no_timing(device, blocks, bits, threads, counts):
    found = DEVICES[device].usable(62.5, blocks=blocks, bits=bits, threads=threads)
    assert found == pytest.approx(counts)
