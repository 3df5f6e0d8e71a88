"""Front ends from ``import skinny``, and their programs on the simulated core."""

import numpy as np
import pytest
import skinny

RNG = np.random.default_rng(0)


def word(value, bits):
    """A whole number as the signed word of a modular ring."""
    return (int(value) + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


@pytest.mark.parametrize(
    "machine",
    [
        skinny.dense_machine([16] * 8, RNG.integers(-2, 3, (128, 128))),
        skinny.convolutional_machine([2] * 4, 16, RNG.integers(-2, 3, (8, 8, 3))),
        skinny.time_machine([2] * 4, 16, *RNG.integers(-1, 2, (2, 8, 8))),
    ],
    ids=["dense", "convolutional", "time"],
)
def test_machines_of_128_nodes_on_registers_in_memory(machine):
    program = skinny.compile(machine)
    assert program.title.startswith("Machine of 128 nodes")
    x0 = RNG.integers(-3, 4, (8, 128))
    told = program.simulate(x0, "modular:16", registers="memory", simulator="bulk")
    assert told["match"] is True
    for row, given in enumerate(x0.tolist()):
        wanted = [word(value, 16) for value in machine.solve(given)]
        assert [column[row] for column in told["results"].values()] == wanted


@pytest.mark.parametrize("option", [{"width": 8}, {"keep": "none"}, {"ring": "fixed:8"}, {"argmax": "k"}])
def test_a_machine_goes_without_options(option):
    with pytest.raises(skinny.InputError, match="a machine is a program: it goes without options"):
        skinny.compile(skinny.Machine(2, {(1, 0): 1}), **option)


def test_the_formulas_of_a_machine_take_options():
    machine = skinny.dense_machine([2, 1], [[0, 0, 0], [0, 0, 0], [0.5, -2, 0]])
    program = skinny.compile(machine.formulas([0, 1], [2]), ring="fixed:16", box=(-1, 1))
    assert program.run([0.5, 0.25]) == -0.25


def test_a_list_of_formulas_is_numbered():
    a, b = skinny.variables("a b")
    assert skinny.compile([a + b, a * b]).run([2, 3]) == {"y0": 5, "y1": 6}
