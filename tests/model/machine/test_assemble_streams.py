"""Images of stream programs: state in the image and in the core, and what no core can do yet."""

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.machine.assemble import assemble, fit_image
from skinny.model.machine.isa import CoreConfig
from skinny.model.program.text import loads
from skinny.model.rings import Modular
from skinny.model.run.stream import run_stream

PROGRAM = loads("""\
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
    image = fit_image(PROGRAM, Modular(16))
    assert image.state == (2,)
    assert image.config.state
    assert not image.config.deep


def test_a_window_and_a_core_without_state_are_refused_by_name():
    with pytest.raises(InputError, match="cores have no window yet, but the program has one of 4 words"):
        fit_image(loads(WINDOW), Modular(16))
    config = CoreConfig.fit(PROGRAM, Modular(16), state=False)
    with pytest.raises(InputError, match="the program has the state s, but the core keeps none"):
        assemble(PROGRAM, config)


def test_the_cycle_model_sends_the_words_of_the_golden_run():
    image = fit_image(PROGRAM, Modular(16))
    streams, count = image.config.threads, 5
    samples = np.random.default_rng(3).integers(-99, 99, (streams, count, 1))
    vectors = image.config.to_words(samples.swapaxes(0, 1).reshape(-1, 1))
    found = image.predict(vectors, [streams] * count)
    golden = run_stream(PROGRAM, Modular(16), samples).outputs
    # In every batch each output is sent for all threads, then the next.
    expected = image.config.to_words(golden.transpose(1, 2, 0).reshape(-1, 1))
    assert found.data.tolist() == expected.reshape(-1).tolist()
