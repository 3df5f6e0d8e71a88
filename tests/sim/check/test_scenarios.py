"""The scenarios meet what they promise: resets while results wait, a full core, and loads in the middle of a run."""

import numpy as np
from skinny.sim.check.record import expect
from skinny.sim.check.scenarios import load_steps, reset_steps
from skinny.sim.check.steps import LoadImage, ResetCore, RunStimulus


def test_resets(make_image, make_vectors, rng, configs):
    for config in configs[:4]:
        image = make_image(rng, config, 6, outputs=2)
        steps = reset_steps(rng, image, make_vectors(rng, image, 9))
        kinds = [LoadImage, RunStimulus, ResetCore, RunStimulus]
        assert [type(step) for step in steps] == kinds * 2
        _, first, _, again, _, full, _, alone = steps
        for cut in (first, full):
            # A result waits in the cycle of the reset, and nobody has taken it.
            seen = expect(cut.stimulus, cycles=cut.cycles)
            assert (seen.results["taken"] < 0).any()
        assert again.cycles is alone.cycles is None
        # Nothing more is accepted or retires in the full core, though words are offered.
        later = expect(full.stimulus, cycles=full.cycles + 500)
        assert len(later.accepted) == len(expect(full.stimulus, cycles=full.cycles).accepted)
        assert len(later.accepted) < full.stimulus.vectors.size


def test_loads(make_image, make_vectors, rng, main_config):
    image, other = (make_image(rng, main_config, 8, outputs=2) for _ in range(2))
    vectors, after = (make_vectors(rng, each, 12) for each in (image, other))
    load, busy, late, run = load_steps(rng, image, other, vectors, after)
    assert (load.image, run.stimulus.image) == (image, other)
    # The first words change nothing, because the image has them; all words of the other image follow.
    assert set(busy.stimulus.loads) <= set(image.loads())
    assert list(late.stimulus.loads) == list(other.loads())
    plain = expect(busy.stimulus).results["data"]
    assert np.array_equal(plain, expect(late.stimulus).results["data"])
    # Some words have to wait, for the core is busy when they are offered.
    record = expect(late.stimulus)
    assert record.loaded[0] > late.stimulus.pauses[0]
