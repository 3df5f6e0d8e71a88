"""cocotb test benches are run, and their failures come back."""

import pytest
from skinny.hdl.core.core import Core
from skinny.model.errors import CheckError
from skinny.sim.check.steps import LoadImage, ResetCore, RunStimulus
from skinny.sim.check.stimulus import Stimulus, random_stimulus
from skinny.sim.simulators.cocotb_runner import run_steps, run_testbench


def test_hundred_programs_in_one_simulation(steps, main_config):
    records = run_steps(Core(main_config), steps(main_config, 100))
    assert len(records) == 100
    assert sum(record.fault >= 0 for record in records) == 20


def test_initial_contents(make_image, make_vectors, rng, main_config):
    image = make_image(rng, main_config, 10, outputs=2)
    stimulus = random_stimulus(rng, image, make_vectors(rng, image, 9), 0.3, 0.3, 0.3)
    (record,) = run_steps(Core(main_config, image, rom=True), [ResetCore(), RunStimulus(stimulus)])
    assert len(record.results) == 18


def test_a_failure_is_told(make_image, make_vectors, rng, main_config):
    image, other = (make_image(rng, main_config, 10) for _ in range(2))
    run = RunStimulus(Stimulus.steady(image, make_vectors(rng, image, 4)))
    with pytest.raises(CheckError, match=r"^does_the_steps: cycle \d+, thread \d, word \d+ .* expected .*, got "):
        run_steps(Core(main_config), [ResetCore(), LoadImage(other), run])


def test_a_test_that_does_not_exist_is_no_success(main_config):
    with pytest.raises(RuntimeError, match=r"without results|were asked for"):
        run_testbench(Core(main_config), [], ["no_such_test"])
