"""What a host makes of scores, against scipy."""

import numpy as np
import pytest
from scipy.special import expit, softmax
from skinny.model.program.probabilities import probabilities

SCORES = np.array([[0.0, 0, 0], [1, -2, 3], [-1e4, 1e4, 0], [5e300, -5e300, 1], [1e-9, 0, -1e-9]])


def test_probabilities_are_those_of_scipy():
    assert probabilities("sigmoid", SCORES) == pytest.approx(expit(SCORES))
    assert probabilities("softmax", SCORES) == pytest.approx(softmax(SCORES, axis=1))
    assert probabilities("softmax", SCORES).sum(axis=1) == pytest.approx(np.ones(5))
    assert probabilities("", SCORES) is SCORES
