"""The laws of machines, exactly: against inverses in rationals, which are computed independently of any order."""

from dataclasses import replace
from fractions import Fraction
from time import process_time

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.frontends.machines.machine import Machine
from skinny.model.frontends.machines.recipes import convolutional_machine, dense_machine, time_machine
from skinny.model.machine.deep import runs_in_memory
from skinny.model.rings import Exact
from skinny.model.run.golden import run


def inverse(rows):
    """The inverse of a matrix of fractions, by Gauss and Jordan."""
    n = len(rows)
    table = [[Fraction(v) for v in row] + [Fraction(i == j) for j in range(n)] for i, row in enumerate(rows)]
    for column in range(n):
        pivot = next(r for r in range(column, n) if table[r][column])
        table[column], table[pivot] = table[pivot], table[column]
        table[column] = [v / table[column][column] for v in table[column]]
        for r in range(n):
            if r != column and table[r][column]:
                factor = table[r][column]
                table[r] = [a - factor * b for a, b in zip(table[r], table[column], strict=True)]
    return [row[n:] for row in table]


def resolvent_matrix(machine):
    """``(I - F)^-1``."""
    rows = machine.matrix()
    return inverse([[(i == j) - value for j, value in enumerate(row)] for i, row in enumerate(rows)])


def transposed(rows):
    return [list(column) for column in zip(*rows, strict=True)]


def program_matrix(program):
    """The matrix that a program multiplies its inputs with."""
    n = len(program.inputs)
    found = run(program, Exact(), np.array([[Fraction(i == j) for j in range(n)] for i in range(n)], dtype=object))
    return transposed(found.outputs.tolist())


def nodes(program):
    """The matrix that a program multiplies the registers of its outputs with, when its inputs are zero."""
    places = [output.register for output in program.outputs]
    start = np.array([[Fraction(r == place) for r in range(program.width)] for place in places], dtype=object)
    zeros = np.full((len(places), len(program.inputs)), Fraction(0))
    return transposed(run(program, Exact(), zeros, start=start).outputs.tolist())


def random_weights(rng, n, density=0.5):
    """A strictly lower triangular matrix with its nodes in a random order."""
    place = rng.permutation(n)
    return {
        (int(place[i]), int(place[j])): Fraction(int(rng.integers(-5, 6)), int(rng.integers(1, 4)))
        for i in range(n)
        for j in range(i)
        if rng.random() < density
    }


@pytest.mark.parametrize("seed", range(5))
def test_the_resolvent_is_the_inverse(seed):
    rng = np.random.default_rng(seed)
    machine = Machine(7, random_weights(rng, 7))
    program = machine.resolvent()
    assert program_matrix(program) == resolvent_matrix(machine)
    assert program.pure
    assert len(program) == 7 + machine.count
    assert program.depth == machine.depth + 1
    x0 = [Fraction(int(v)) for v in rng.integers(-9, 10, 7)]
    assert machine.solve(x0) == [sum(a * b for a, b in zip(row, x0, strict=True)) for row in resolvent_matrix(machine)]


def matrix_product(left, right):
    return [
        [sum(a * b for a, b in zip(row, column, strict=True)) for column in zip(*right, strict=True)] for row in left
    ]


@pytest.mark.parametrize("seed", range(5))
def test_the_resolvent_of_a_sum_is_one_after_the_other(seed):
    """Weights into the first half of the nodes, from the first half, and those into the second half."""
    rng = np.random.default_rng(seed)
    weights = {(i, j): w for (i, j), w in dense_machine([1] * 6, rng.integers(-4, 5, (6, 6))).parts[None].items()}
    first = Machine(6, {at: w for at, w in weights.items() if at[0] < 3})
    second = Machine(6, {at: w for at, w in weights.items() if at[0] >= 3})
    assert not first.depends_on(second)
    assert second.depends_on(first)
    both, swapped = resolvent_matrix(first + second), matrix_product(resolvent_matrix(first), resolvent_matrix(second))
    assert both == matrix_product(resolvent_matrix(second), resolvent_matrix(first))
    assert both != swapped


def test_independence_is_of_the_maps_not_of_the_pattern():
    """Node 2 reads the difference of two nodes which the other machine makes equal."""
    reads = Machine(4, {(3, 1): 1, (3, 2): -1})
    writes = Machine(4, {(1, 0): 5, (2, 0): 5})
    assert not reads.depends_on(writes)
    total = matrix_product(resolvent_matrix(writes), resolvent_matrix(reads))
    assert resolvent_matrix(reads + writes) == total
    squares = Machine(4, {(3, 1): 1, (3, 2): -1}, "square")
    assert squares.depends_on(writes)


@pytest.mark.parametrize("seed", range(3))
def test_the_backward_pass_is_a_machine(seed):
    """The resolvent of the adjoint, the adjoint of the resolvent and the transposed program are one matrix."""
    machine = Machine(6, random_weights(np.random.default_rng(seed), 6))
    wanted = transposed(resolvent_matrix(machine))
    assert program_matrix(machine.adjoint().resolvent()) == wanted
    program = machine.resolvent()
    back = program.transpose()
    back = replace(back, outputs=tuple(output._replace(at=len(back)) for output in program.outputs))
    assert nodes(back) == wanted
    assert machine.adjoint().adjoint() == machine
    assert nodes(program.inverse()) == inverse(resolvent_matrix(machine))


def derivative(machine, x0, step=Fraction(1, 1024)):
    """The derivative of the solution by ``x0``, by central differences, which are exact for squares of one level."""
    columns = []
    for place in range(machine.n):
        up, down = ([v + sign * step * (place == p) for p, v in enumerate(x0)] for sign in (1, -1))
        columns.append([(a - b) / (2 * step) for a, b in zip(machine.solve(up), machine.solve(down), strict=True)])
    return transposed(columns)


@pytest.mark.parametrize("nonlinearity", ["square", "relu", lambda v: v * v + 2 * v + 1])
def test_the_backward_pass_of_a_network(nonlinearity):
    machine = dense_machine([2, 2, 1], np.arange(25).reshape(5, 5) % 7 - 3, nonlinearity)
    x0 = [Fraction(n, 3) for n in (5, -4, 2, 1, 0)]
    backward = machine.adjoint(machine.solve(x0))
    assert backward.linear
    assert transposed(derivative(machine, x0)) == resolvent_matrix(backward)
    with pytest.raises(InputError, match="give at=solution"):
        machine.adjoint()


def solution(program, x0):
    found = run(program, Exact(), np.array([x0], dtype=object)).outputs[0]
    return list(found)


@pytest.mark.parametrize("nonlinearity", [None, "relu", "square", lambda v: v * v - v])
@pytest.mark.parametrize("recipe", ["dense", "convolutional", "time"])
def test_programs_solve_what_fractions_solve(recipe, nonlinearity):
    rng = np.random.default_rng(3)
    machine = {
        "dense": lambda: dense_machine([2, 1, 1], rng.integers(-2, 3, (4, 4)), nonlinearity),
        "convolutional": lambda: convolutional_machine([1, 2], 3, rng.integers(-2, 3, (3, 3, 3)), nonlinearity),
        "time": lambda: time_machine([1, 2], 3, *rng.integers(-1, 2, (2, 3, 3)), nonlinearity),
    }[recipe]()
    program = machine.resolvent()
    for _ in range(3):
        x0 = [Fraction(int(v)) for v in rng.integers(-2, 3, machine.n)]
        assert solution(program, x0) == machine.solve(x0)
    assert program.pure == machine.linear


def test_a_network_reads_its_first_layer_and_sends_its_last():
    machine = dense_machine([2, 3, 1], np.arange(36).reshape(6, 6) % 5 - 2, "relu")
    program = machine.resolvent(inputs=[0, 1], outputs=[5])
    assert program.inputs == ("x0", "x1")
    wanted = machine.solve([3, -2, 0, 0, 0, 0])[5]
    assert solution(program, [Fraction(3), Fraction(-2)]) == [wanted] != [0]
    assert runs_in_memory(program)


def test_what_no_input_reaches_is_zero():
    program = Machine(4, {(1, 0): 2, (3, 2): 7}).resolvent(inputs=[0], outputs=[3, 1])
    assert solution(program, [Fraction(5)]) == [0, 10]
    assert len(program) == 3
    assert runs_in_memory(program)


@pytest.mark.parametrize(
    ("make", "depth"),
    [
        (lambda rng: dense_machine([16] * 8, rng.integers(1, 5, (128, 128))), 7),
        (lambda rng: convolutional_machine([2] * 4, 16, rng.integers(1, 5, (8, 8, 3))), 3),
        (lambda rng: time_machine([2] * 4, 16, *rng.integers(1, 5, (2, 8, 8))), 63),
    ],
)
def test_128_nodes_take_ten_seconds_at_most(make, depth):
    rng = np.random.default_rng(0)
    began = process_time()
    machine = make(rng)
    program = machine.resolvent()
    assert process_time() - began < 10
    assert machine.n == 128
    assert machine.depth == depth
    assert len(machine.levels()) == depth + 1
    assert program.depth == depth + 1
    assert runs_in_memory(program)
    x0 = rng.integers(-4, 5, 128).tolist()
    x = machine.solve(x0)
    assert solution(program, [Fraction(v) for v in x0]) == x
    rows = np.array(machine.matrix(), dtype=object)
    assert list(x - rows @ x) == x0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Machine(3, {(0, 1): 1, (1, 2): 2, (2, 0): 3}), "node 0 reads node 1 reads node 2 reads node 0"),
        (lambda: Machine(2, [[0, 0], [0, 1]]), "node 1 reads node 1"),
        (lambda: Machine(3, {(0, 1): 1}) + Machine(3, {(1, 0): 1}), "node 0 reads node 1 reads node 0"),
        (lambda: Machine(20, {(i, (i + 1) % 20): 1 for i in range(20)}), "reads …"),
        (lambda: Machine(0, []), "1 node or more, not 0"),
        (lambda: Machine(True, [[0]]), "1 node or more, not True"),
        (lambda: Machine(2, [[0, 1]]), "2 rows of 2 numbers"),
        (lambda: Machine(2, [[0, 0], 1]), "2 rows of 2 numbers"),
        (lambda: Machine(2, 5), "2 rows of 2 numbers"),
        (lambda: Machine(2, {(0, 2): 1}), "pairs of nodes from 0 to 1"),
        (lambda: Machine(2, {0: 1}), "pairs of nodes from 0 to 1"),
        (lambda: Machine(2, {(1, 0): float("nan")}), "must be finite"),
        (lambda: Machine(2, {(1, 0): "1"}), "must be an int, a float or a Fraction"),
        (lambda: Machine(2, {(1, 0): 1}, "gelu"), "None, 'relu', 'square' or a function"),
        (lambda: Machine(2, {(1, 0): 1}, lambda v: 3), "must give a formula"),
        (lambda: Machine(2, {}) + Machine(3, {}), "2 nodes alone, not with 3 nodes"),
        (lambda: Machine(2, {}).depends_on(1), "2 nodes alone, not with 1"),
        (lambda: Machine(2, {}).solve([1]), "x0 must have 2 numbers"),
        (lambda: Machine(2, {(1, 0): 1}, "relu").matrix(), "without nonlinearity"),
        (lambda: Machine(2, {}).resolvent([2]), "inputs must be nodes from 0 to 1, not 2"),
        (lambda: Machine(2, {}).resolvent([0, 0]), "inputs name a node twice"),
        (lambda: Machine(2, {}).resolvent(outputs=[]), "outputs must name a node"),
        (lambda: Machine(1024, {}).resolvent(), "1,024 nodes are too many"),
    ],
)
def test_what_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
