"""The recipes: which weights stand where, against loops that say what each node reads."""

from fractions import Fraction

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.frontends.machines.recipes import convolutional_machine, dense_machine, time_machine

RNG = np.random.default_rng(5)
SIZES = [2, 3, 1]
LAYER = [0, 0, 1, 1, 1, 2]


def test_a_dense_machine_reads_all_earlier_layers():
    weights = RNG.integers(1, 9, (6, 6))
    machine = dense_machine(SIZES, weights, "square")
    for i in range(6):
        for j in range(6):
            reads = LAYER[i] > LAYER[j]
            part = machine.parts[None if LAYER[j] == 0 else "square"]
            assert part.get((i, j), 0) == (weights[i, j] if reads else 0)
    assert machine.count == 2 * 3 + 5
    assert machine.depth == 2
    assert machine.levels() == [[0, 1], [2, 3, 4], [5]]


def test_a_convolutional_machine_is_a_convolution():
    """The second layer reads the first, padded with zeros, as numpy correlates."""
    kernels = RNG.integers(-4, 5, (2, 2, 3))
    machine = convolutional_machine([1, 1], 5, kernels)
    x = RNG.integers(-4, 5, 5)
    found = machine.solve([*x.tolist(), 0, 0, 0, 0, 0])
    assert found[5:] == np.correlate(np.pad(x, 1), kernels[1, 0]).tolist()
    assert set(machine.parts[None].values()) == {Fraction(int(w)) for w in kernels[1, 0]}


def test_a_time_machine_is_a_recurrence():
    """Units read the layer before at the same step, and all units of the step before."""
    now, before = RNG.integers(-2, 3, (2, 3, 3))
    machine = time_machine([2, 1], 4, now, before)
    x0 = RNG.integers(-4, 5, (4, 3))
    state = np.zeros(3, dtype=int)
    wanted = []
    for row in x0:
        new = row + before @ state
        new[2] += now[2, :2] @ new[:2]
        wanted += new.tolist()
        state = new
    assert machine.solve(x0.reshape(-1).tolist()) == wanted
    assert machine.depth == 7


def test_the_first_layer_is_read_as_it_is():
    ones = np.ones((2, 2), dtype=int)
    assert time_machine([1, 1], 2, ones, ones, "relu").solve([-1, 0, 0, 0]) == [-1, -1, -1, -2]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dense_machine([], []), "sizes are missing"),
        (lambda: dense_machine([2, 0], np.ones((2, 2))), "the size of a layer must be 1 or more, not 0"),
        (lambda: dense_machine([2, 1.5], np.ones((2, 2))), "not 1.5"),
        (lambda: dense_machine([1, 1], [[1, 2], [3]]), r"weights must have the shape \(2, 2\)"),
        (lambda: dense_machine([1, 1], [[0, 0], ["w", 0]]), "must be an int, a float or a Fraction"),
        (lambda: convolutional_machine([1, 1], 3, np.ones((2, 2, 2))), "odd number of taps"),
        (lambda: convolutional_machine([1, 1], 3, np.ones((2, 2))), r"shape \(2, 2, 1\), not \(2, 2\)"),
        (lambda: convolutional_machine([1, 1], 0, np.ones((2, 2, 3))), "the length must be 1 or more"),
        (lambda: time_machine([1, 1], 0, np.ones((2, 2)), np.ones((2, 2))), "the number of steps must be 1 or more"),
        (lambda: time_machine([1, 1], 2, np.ones((2, 2)), np.ones((2, 3))), "before must have the shape"),
    ],
)
def test_what_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
