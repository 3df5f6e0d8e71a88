"""Peephole: opposites cancel and constants merge where instructions commute, and nowhere else."""

import pytest
from skinny.model.compiler.code import ONE, Affine, Code, Instruction
from skinny.model.compiler.passes.peephole import peephole

A = Affine(((0, 1),))
TWO, THREE = Affine((), 2), Affine((), 3)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([(0, 1, 1, A), (0, 1, -1, A)], []),
        ([(0, 1, 1, A), (0, 2, 1, A), (0, 1, -1, A)], [(0, 2, 1, A)]),
        ([(0, 1, 1, A), (2, 0, 1, A), (0, 1, -1, A)], [(0, 1, 1, A), (2, 0, 1, A), (0, 1, -1, A)]),
        ([(0, 1, 1, A), (1, 2, 1, A), (0, 1, -1, A)], [(0, 1, 1, A), (1, 2, 1, A), (0, 1, -1, A)]),
        ([(0, 1, 1, A), (0, 1, 1, A)], [(0, 1, 1, A), (0, 1, 1, A)]),
        ([(0, 1, 1, ONE), (0, 1, 1, TWO)], [(0, 1, 1, THREE)]),
        ([(0, 1, 1, ONE), (0, 1, -1, THREE)], [(0, 1, -1, TWO)]),
        # The inner two go first; then the outer two are neighbours.
        ([(0, 1, 1, A), (2, 0, 1, A), (2, 0, -1, A), (0, 1, -1, A)], []),
    ],
)
def test_directed(before, after):
    code = Code.of([Instruction(*row) for row in before], (0, 1, 0))
    assert peephole(code).instructions() == [Instruction(*row) for row in after]
