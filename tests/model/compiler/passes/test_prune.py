"""Prune: instructions that the output does not depend on go, all others stay."""

import pytest
from skinny.model.compiler.code import ONE, Affine, Code, Instruction
from skinny.model.compiler.passes.prune import prune

A, B = Affine(((0, 1),)), Affine(((1, 1),))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # The source is zero.
        ([(0, 2, 1, A), (0, 1, 1, B)], [(0, 1, 1, B)]),
        # The target is not read afterwards.
        ([(0, 1, 1, B), (2, 0, 1, A)], [(0, 1, 1, B)]),
        # Both: R2 became zero again.
        ([(2, 1, 1, A), (2, 1, -1, A), (0, 2, 1, B), (0, 1, 1, ONE)], [(0, 1, 1, ONE)]),
        ([(2, 1, 1, A), (0, 2, 1, B)], [(2, 1, 1, A), (0, 2, 1, B)]),
        # R2 is read with both signs: nothing depends on it, and once it stays zero its readers go, in a second round.
        ([(2, 1, 1, A), (0, 2, 1, B), (0, 2, -1, B), (0, 1, 1, ONE)], [(0, 1, 1, ONE)]),
        ([], []),
    ],
)
def test_directed(before, after):
    code = Code.of([Instruction(*row) for row in before], (0, 1, 0))
    assert prune(code).instructions() == [Instruction(*row) for row in after]


def test_another_start_and_another_output():
    rows = [Instruction(0, 2, 1, A), Instruction(1, 0, 1, B)]
    assert prune(Code.of(rows, (0, 1, 1), output=1)).instructions() == rows
    assert prune(Code.of(rows, (0, 1, 1), output=0)).instructions() == rows[:1]
