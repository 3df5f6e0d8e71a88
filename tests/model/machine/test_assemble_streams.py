"""Images of stream programs: state in the image and in the core, and what no core can do yet."""

import pytest
from skinny.model.errors import InputError
from skinny.model.machine.assemble import assemble, fit_image
from skinny.model.machine.isa import CoreConfig
from skinny.model.program.text import loads
from skinny.model.rings import Modular
from tests.model.run.test_stream import SMOOTHER, WINDOW

PROGRAM = loads(SMOOTHER.replace("3/4", "3").replace("5/2", "5"))


def test_the_image_keeps_the_state_of_the_program_in_flipflops():
    image = fit_image(PROGRAM, Modular(16))
    assert image.state == (2,)
    assert image.config.state and not image.config.deep


def test_a_window_and_a_core_without_state_are_refused_by_name():
    with pytest.raises(InputError, match="cores have no window yet, but the program has one of 4 words"):
        fit_image(loads(WINDOW), Modular(16))
    config = CoreConfig.fit(PROGRAM, Modular(16), state=False)
    with pytest.raises(InputError, match="the program has the state s, but the core keeps none"):
        assemble(PROGRAM, config)
