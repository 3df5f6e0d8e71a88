"""Emit: blocks as instructions, as many as predicted, with the effect that their contract promises."""

import random

import pytest
from skinny.model.compiler.code import Affine
from skinny.model.compiler.contracts import Contract, Leaf, Pair, Promise, Sum
from skinny.model.compiler.emit import emit, predict
from skinny.model.program.modular import PRIME, form_residues, random_point, travel

LEAVES = [Leaf(Affine(((u, 1),))) for u in range(4)]
#: ``x0·x1·x2 - x3·x0``
EXPRESSION = Sum([(1, Pair([(Pair([(LEAVES[0], LEAVES[1])]), LEAVES[2])])), (-1, Pair([(LEAVES[3], LEAVES[0])]))])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("promise", "zero", "dirty"),
    [
        (Promise.RESTORE, [], []),
        (Promise.DIRTY_TARGET, [], [0]),
        (Promise.DIRTY_THIRD, [], [2]),
        (Promise.KEEP_ZERO, [2], []),
        (Promise.SPEND_ZERO, [2], [2]),
    ],
)
def test_a_block_keeps_its_contract(promise, zero, dirty, seed):
    """Registers: target 0, source 1, third 2. Dirt in the target is a multiple of the third register, so it shows when
    that is not zero."""
    chance = random.Random(seed)
    contract = Contract(promise)
    code = emit(EXPRESSION, contract, (0, 1, 0))
    assert len(code) == predict(EXPRESSION, contract)
    x = random_point(chance, 4)
    before = [0 if register in zero else chance.randrange(PRIME) for register in range(3)]
    registers = list(before)
    for _ in travel(code.rows(), form_residues(code.scalars, x), registers):
        pass
    wanted = (before[0] + (x[0] * x[1] * x[2] - x[3] * x[0]) * before[1]) % PRIME
    expected = [wanted, *before[1:]]
    assert [r for r in range(3) if registers[r] != expected[r] and r not in dirty] == []


def test_dirt_is_what_makes_a_block_shorter():
    strict, loose, spent = (
        predict(EXPRESSION, Contract(promise)) for promise in (Promise.RESTORE, Promise.DIRTY_THIRD, Promise.SPEND_ZERO)
    )
    assert strict > loose > spent
