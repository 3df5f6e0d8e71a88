"""Steps travel to another process and arrive as they were."""

import pickle

from skinny.sim.check.steps import LoadImage, ResetCore, RunStimulus


def test_steps_travel(stimulus):
    steps = [ResetCore(), LoadImage(stimulus.image), RunStimulus(stimulus, 7)]
    reset, load, run = pickle.loads(pickle.dumps(steps))
    assert reset == ResetCore()
    assert list(load.image.loads()) == list(stimulus.image.loads())
    assert run.cycles == 7
    assert run.stimulus.vectors.tolist() == stimulus.vectors.tolist()
    assert run.stimulus.sizes == stimulus.sizes
