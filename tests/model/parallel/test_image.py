"""One way to an image: what the options give, and what they leave to the program."""

from dataclasses import replace

import pytest
from skinny.model.errors import InputError
from skinny.model.machine.assemble import Image
from skinny.model.machine.isa import CoreConfig
from skinny.model.parallel.image import ImageOptions, build_image
from skinny.model.program.text import loads
from skinny.model.rings import Boolean, Modular

#: One instruction and an emit; undone: the inverse, check and the status word as well.
PROGRAM = loads("skinny 1\nwidth 3\nstart 0 1 0\ninputs a\nR2 += a*R1\nemit y = R2\nend\n")
CHECKED = replace(PROGRAM, self_check=True)
RING = Modular(16)


@pytest.mark.parametrize("program", [PROGRAM, CHECKED])
@pytest.mark.parametrize("asked", [None, False, True])
def test_the_program_says_whether_it_checks_itself(program, asked):
    image = build_image(program, RING, ImageOptions(self_check=asked))
    checked = program is CHECKED if asked is None else asked
    assert (image.self_check, image.config.guard, len(image)) == (checked, checked, 5 if checked else 2)


def test_a_guard_can_be_left_out():
    image = build_image(CHECKED, RING, ImageOptions(guard=False))
    assert (image.self_check, image.config.guard) == (True, False)


def test_sizes():
    given = {"threads": 2, "width": 5, "depth": 64, "inputs": 8, "weights": 16, "fifo": 32, "slices": 7}
    options = ImageOptions(**given, attention=False, check=False)
    image = build_image(PROGRAM, Boolean(), options)
    assert image.hardware == CoreConfig(Boolean(), **given, attention=False, check=False)


@pytest.mark.parametrize("guard", [False, True])
@pytest.mark.parametrize("program", [PROGRAM, CHECKED])
def test_a_core_that_exists_stays_as_it_is(program, guard):
    config = CoreConfig(RING, width=4, threads=3, depth=100, inputs=5, weights=6, fifo=32, attention=False, guard=guard)
    image = build_image(program, config.ring, ImageOptions.of_core(config))
    assert image.config == config
    assert image.self_check == (program is CHECKED)


def test_lanes():
    image = build_image(PROGRAM, RING, ImageOptions(lanes=2, threads=6))
    assert not isinstance(image, Image)
    assert (len(image.lanes), image.hardware.cores, image.hardware.core.check, image.batch) == (2, 2, False, 2)


@pytest.mark.parametrize(
    ("program", "options", "message"),
    [
        (CHECKED, ImageOptions(lanes=2), "lanes have no self-check: their registers do not begin with the start"),
        (PROGRAM, ImageOptions(lanes=2, self_check=True), "lanes have no self-check"),
        (PROGRAM, ImageOptions(lanes=2, check=True), "a lane cannot check"),
        (PROGRAM, ImageOptions(lanes=17), "the number of lanes must be 1 to 16, not 17"),
        (CHECKED, ImageOptions(check=False), "a self-check needs a core with the check unit"),
    ],
)
def test_bad_options(program, options, message):
    with pytest.raises(InputError, match=message):
        build_image(program, RING, options)
