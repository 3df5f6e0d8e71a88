"""Random stimuli and elements reach every case, and ``last`` is right where it means something."""

import numpy as np
import pytest
from skinny.model.rings import Boolean, FixedPoint, Modular, PrimeField
from skinny.sim.check.stimulus import random_elements, random_stimulus


@pytest.mark.parametrize("ring", [Modular(5), FixedPoint(8, 4), PrimeField(13), Boolean()], ids=repr)
def test_random_elements_are_elements(ring):
    found = random_elements(np.random.default_rng(1), ring, (500, 3))
    low, high = {"modular:5": (-16, 15), "fixed:8.4": (-128, 127), "prime:13": (0, 12), "boolean": (0, 1)}[ring.name]
    assert (found.min(), found.max()) == (low, high)
    assert np.can_cast(found.dtype, ring.element_dtype, "safe")


def test_random_stimuli_reach_every_size(stimulus):
    rng = np.random.default_rng(1)
    vectors = np.zeros((50, 2), dtype=np.uint64)
    made = random_stimulus(rng, stimulus.image, vectors, 0.5, 0.5, 0.5)
    assert set(made.sizes) == {1, 2}
    assert sum(made.sizes) == 50
    assert made.gaps.shape == (100,)
    assert made.stalls.shape == (100,)
    ends = np.cumsum(made.sizes) - 1
    assert made.lasts().reshape(-1, 2)[ends, 1].tolist() == [int(size < 2) for size in made.sizes]
    assert made.lasts().sum() == sum(size < 2 for size in made.sizes)
    # Where ``last`` means something it is no noise: it ends a batch of one vector, and must not end one of two.
    noisy = made.lasts(rng).reshape(-1, 2)
    assert set(noisy[:, 0]) == {0, 1}
    assert [noisy[end, 1] for end, size in zip(ends, made.sizes, strict=True) if size == 1] == [1] * made.sizes.count(1)
    assert not any(noisy[end - 1, 1] for end, size in zip(ends, made.sizes, strict=True) if size == 2)
    assert {noisy[end, 1] for end, size in zip(ends, made.sizes, strict=True) if size == 2} == {0, 1}
