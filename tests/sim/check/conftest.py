"""A stimulus that is small enough to be worked out by hand."""

import numpy as np
import pytest
from skinny.model.machine.assemble import assemble
from skinny.model.machine.isa import CoreConfig
from skinny.model.program.text import loads
from skinny.model.rings import Modular
from skinny.sim.check.stimulus import Stimulus

PROGRAM = """\
skinny 1
width 3
inputs a b
weight w[0] = 3
form f[0] = w[0]*a
R2 += b*R1
R0 -= f[0]*R2
emit y = R0
emit z = R2
end
"""


@pytest.fixture
def stimulus():
    config = CoreConfig(Modular(16), threads=2, depth=16, inputs=2, weights=2)
    image = assemble(loads(PROGRAM), config)
    return Stimulus.steady(image, np.array([[5, 7], [2, 3], [1, 1]], dtype=np.uint64))
