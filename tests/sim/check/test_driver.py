"""Pins are driven as the ports allow, and are random where they mean nothing."""

import pytest
from skinny.model.errors import CheckError
from skinny.sim.check.driver import PinDriver

WIDTHS = {
    **{"rst": 1, "i_valid": 1, "i_data": 16, "i_last": 1, "o_ready": 1},
    **{"load_valid": 1, "load_space": 2, "load_address": 10, "load_data": 23},
}


class Pins:
    """Pins without a core: ``outputs`` are read, and every cycle's inputs are kept in ``cycles``."""

    def __init__(self, **outputs):
        self.outputs = {"o_valid": 0, "load_ready": 1, **outputs}
        self.inputs = dict.fromkeys(WIDTHS, 0)
        self.cycles = []
        self.driver = PinDriver(self.outputs.__getitem__, self.inputs.__setitem__, WIDTHS)

    def run(self, generator):
        for _ in generator:
            self.cycles.append(dict(self.inputs))


def test_an_image_is_written_once_and_in_order(stimulus):
    pins = Pins()
    pins.run(pins.driver.load(stimulus.image))
    written = [
        tuple(cycle[f"load_{name}"] for name in ("space", "address", "data"))
        for cycle in pins.cycles
        if cycle["load_valid"]
    ]
    assert written == [tuple(map(int, item)) for item in stimulus.image.loads()]
    assert len(pins.cycles) > len(written)
    assert pins.inputs["load_valid"] == pins.inputs["i_valid"] == 0


def test_a_load_port_that_is_not_ready_is_an_error(stimulus):
    pins = Pins(load_ready=0)
    with pytest.raises(CheckError, match=r"^word 0 of the image: load_ready expected 1, got 0$"):
        pins.run(pins.driver.load(stimulus.image))


def test_a_reset_takes_a_cycle_with_anything_on_the_streams():
    pins = Pins()
    for _ in range(40):
        pins.run(pins.driver.reset())
        assert (pins.inputs["rst"], pins.inputs["i_valid"], pins.inputs["load_valid"]) == (0, 0, 0)
    assert [cycle["rst"] for cycle in pins.cycles] == [1] * 40
    for name in ("i_valid", "i_last", "o_ready"):
        assert {cycle[name] for cycle in pins.cycles} == {0, 1}
    assert not any(cycle["load_valid"] for cycle in pins.cycles)
    assert len({cycle["i_data"] for cycle in pins.cycles}) > 30


def test_a_result_is_not_taken_at_rest():
    pins = Pins(o_valid=1)
    for _ in range(20):
        pins.driver.rest()
        assert pins.inputs["o_ready"] == 0


def test_a_value_that_is_there_is_not_driven_again():
    driven = []
    driver = PinDriver(lambda name: 0, lambda name, value: driven.append((name, value)), WIDTHS)
    for value in (1, 1, 0, 0, 1):
        driver.write("rst", value)
    assert driven == [("rst", 1), ("rst", 0), ("rst", 1)]
