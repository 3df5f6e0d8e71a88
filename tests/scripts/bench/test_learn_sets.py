"""The sets of the benchmark: series are read and turned into affine features, budgets fall."""

import numpy as np
import pytest
from skinny.scripts.bench.learn_sets import SETS, cosines, read_series

TEXT = """\
# a comment
@problemName Tiny
@data
1,2,3,4:0,0,1,1:walk
4,3,2,1:1,1,0,0:run
"""


def test_series_are_read():
    series, classes = read_series(TEXT)
    assert series.shape == (2, 2, 4)
    assert series[0].tolist() == [[1, 2, 3, 4], [0, 0, 1, 1]]
    assert classes.tolist() == ["walk", "run"]


def test_features_are_linear_and_begin_with_the_mean():
    series = np.random.default_rng(0).normal(0, 1, (3, 2, 20))
    found = cosines(series, 4)
    assert found.shape == (3, 8)
    np.testing.assert_allclose(found[:, [0, 4]], series.mean(axis=2))
    np.testing.assert_allclose(cosines(2 * series, 4), 2 * found)
    # A wave of the second kind has no other coefficient.
    wave = np.cos(np.pi * 2 * (np.arange(20) + 0.5) / 20)[None, None]
    np.testing.assert_allclose(cosines(wave, 4)[0], [0, 0, 0.5, 0], atol=1e-12)


@pytest.mark.parametrize("name", SETS)
def test_budgets_fall_and_promises_are_at_budgets(name):
    data = SETS[name]
    assert list(data.budgets) == sorted(data.budgets, reverse=True)
    assert set(data.promised) <= {None, *data.budgets}


def test_bundled_sets_are_there():
    rows, targets = SETS["iris"].load()
    assert rows.shape == (150, 4)
    assert SETS["digits (images)"].load()[0].shape == (1797, 64)
    assert SETS["diabetes"].numbers
    assert len(targets) == 150
