"""All pins of a core are played and recorded, a row a cycle; tests/sim/check/test_independent.py judges them."""

import numpy as np
import pytest
from skinny.model.machine.isa import CoreConfig
from skinny.model.rings import Boolean
from skinny.sim.simulators.play import INPUTS, OUTPUTS, Player


@pytest.fixture(scope="module")
def player():
    # The last core of tests/sim/check/test_independent.py, so that it is built once.
    sizes = {"width": 3, "threads": 1, "depth": 12, "inputs": 3, "weights": 2, "fifo": 4}
    return Player(CoreConfig(Boolean(), slices=1, attention=False, check=False, **sizes))


def test_rows_must_have_all_pins(player):
    with pytest.raises(ValueError, match=r"rows must have 9 columns, not the shape \(4, 8\)"):
        player.play(np.zeros((4, 8), dtype=np.uint64))


def test_a_row_is_a_cycle(player):
    # After a reset an empty core is ready for both streams, and shows it in the cycle after.
    reset = np.zeros((1, len(INPUTS)), dtype=np.uint64)
    reset[0, INPUTS.index("rst")] = 1
    player.play(reset)
    seen = player.play(np.zeros((3, len(INPUTS)), dtype=np.uint64))
    assert seen.shape == (3, len(OUTPUTS))
    pins = dict(zip(OUTPUTS, seen.T.tolist(), strict=True))
    assert pins["i_ready"] == pins["load_ready"] == [1, 1, 1]
    assert pins["o_valid"] == pins["busy"] == pins["fault"] == pins["retire_valid"] == [0, 0, 0]
