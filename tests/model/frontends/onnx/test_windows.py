"""What a kernel reads, against a loop over all places."""

import itertools

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.frontends.onnx.forms import NOTHING, Held
from skinny.model.frontends.onnx.step import Step
from skinny.model.frontends.onnx.windows import windows
from skinny.model.limits import Limits


def step(**attributes):
    return Step("Conv", "here", attributes, [], 17, Held(), 1)


def test_places_are_those_of_a_loop():
    rng = np.random.default_rng(0)
    for _ in range(30):
        rank = int(rng.integers(1, 4))
        size, kernel = rng.integers(5, 7, rank).tolist(), rng.integers(1, 4, rank).tolist()
        strides, dilations = rng.integers(1, 3, rank).tolist(), rng.integers(1, 3, rank).tolist()
        pads = rng.integers(0, 2, 2 * rank).tolist()
        found = windows(step(strides=strides, dilations=dilations, pads=pads), size, kernel)
        number = np.arange(np.prod(size)).reshape(size)
        rows = []
        starts = [
            range(0, n + pads[a] + pads[rank + a] - (kernel[a] - 1) * dilations[a], strides[a])
            for a, n in enumerate(size)
        ]
        for corner in itertools.product(*starts):
            row = []
            for offset in itertools.product(*map(range, kernel)):
                place = tuple(
                    c + o * dilations[a] - pads[a] for a, (c, o) in enumerate(zip(corner, offset, strict=True))
                )
                there = all(0 <= p < n for p, n in zip(place, size, strict=True))
                row.append(number[place] if there else NOTHING)
            rows.append(row)
        assert found.shape == tuple(map(len, starts))
        assert found.places.tolist() == rows
        assert found.padded.all()


def test_a_last_window_is_rounded_up_where_it_begins_in_the_tensor():
    found = windows(step(ceil_mode=1, strides=[2]), [5], [2])
    assert found.places.tolist() == [[0, 1], [2, 3], [4, NOTHING]]
    assert found.padded.tolist() == [[True, True], [True, True], [True, False]]
    found = windows(step(ceil_mode=1, strides=[2], pads=[0, 1]), [4], [2])
    assert found.places.tolist() == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("attributes", "size", "kernel", "why"),
    [
        ({}, [4], [2, 2], "its kernel .2, 2. does not fit a tensor of 1 axes and channels"),
        ({}, [4], [0], "its kernel .0. does not fit"),
        ({"strides": [0]}, [4], [2], "must be above zero"),
        ({"dilations": [-1]}, [4], [2], "must be above zero"),
        ({"pads": [-1, 0]}, [4], [2], "its pads not below it"),
        ({"pads": [1]}, [4], [2], "its pads must have 2 values, not 1"),
        ({"auto_pad": "MORE"}, [4], [2], "its auto_pad 'MORE' is not known"),
        ({}, [4], [5], "its kernel is larger than its input: 5 on 4 with pads 0 and 0"),
    ],
)
def test_what_does_not_fit(attributes, size, kernel, why):
    with pytest.raises(InputError, match=f"^Conv 'here': .*{why}"):
        windows(step(**attributes), size, kernel)


def test_huge_windows_are_refused():
    with Limits(memory=1 << 20).applied(), pytest.raises(InputError, match="entries are more than the limit"):
        windows(step(pads=[1 << 40, 0]), [4], [2])
    with pytest.raises(InputError, match="entries are more than the limit"):
        windows(step(pads=[30_000] * 4), [4, 4], [2, 2])
