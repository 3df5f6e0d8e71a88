"""Search: longer pieces of clean programs become the shortest there are."""

import random
from fractions import Fraction

import pytest
from skinny.model.compiler.code import ONE, Affine, Code, Instruction
from skinny.model.compiler.passes.search import LONGEST, PRIME, SMALL_PRIME, is_searchable, search

A, B, C = (Affine(((u, 1),)) for u in range(3))
START = (0, 1, 0)


def in_place_product(x, y):
    """``R0 += x·y·R1`` as the textbook has it, R2 restored."""
    return [Instruction(0, 2, -1, x), Instruction(2, 1, 1, y), Instruction(0, 2, 1, x), Instruction(2, 1, -1, y)]


@pytest.mark.parametrize(
    ("code", "shortest", "value"),
    [
        # A product from a clean start: R2 += b, R0 += a·R2.
        (in_place_product(A, B), 2, lambda a, b, c: a * b),
        # What is not read at the end is one instruction too many.
        ([Instruction(2, 1, 1, B), Instruction(0, 2, 1, A), Instruction(1, 0, 1, B)], 2, lambda a, b, c: a * b),
        # a·b + a·c: R2 += b, R2 += c, R0 += a·R2.
        ([*in_place_product(A, B), *in_place_product(A, C)], 3, lambda a, b, c: a * b + a * c),
        # a² + a: R2 += a, R2 += 1, R0 += a·R2, or a on both sides: never two.
        ([*in_place_product(A, A), Instruction(0, 1, 1, A)], 3, lambda a, b, c: a * a + a),
        # What cancels needs nothing.
        ([Instruction(0, 1, 1, A), Instruction(0, 1, -1, A)], 0, lambda a, b, c: 0),
    ],
)
def test_the_shortest_program_is_found(blocks, code, shortest, value):
    given = Code.of(code, START)
    assert is_searchable(given)
    found = search(given)
    assert len(found) == shortest
    chance = random.Random(1)
    for _ in range(3):
        x = [chance.randint(-99, 99) for _ in range(3)]
        assert blocks.run(found.instructions(), x, START)[0] == value(*x)


def test_a_program_that_cannot_be_shorter_stays(blocks):
    given = Code.of([Instruction(2, 1, 1, B), Instruction(0, 2, 1, A)], START)
    assert search(given).instructions() == given.instructions()


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ([Instruction(0, 1, 1, A)], False),
        ([Instruction(0, 1, 1, A)] * 2, True),
        ([Instruction(0, 1, 1, A)] * LONGEST, True),
        ([Instruction(0, 1, 1, A)] * (LONGEST + 1), False),
        ([Instruction(0, 1, 1, Affine(((u, 1),))) for u in range(5)], True),
        ([Instruction(0, 1, 1, Affine(((u, 1),))) for u in range(6)], False),
        ([Instruction(0, 1, 1, A), Instruction(0, 1, 1, Affine((), Fraction(1, SMALL_PRIME)))], False),
        ([Instruction(0, 1, 1, A), Instruction(0, 1, 1, Affine(((0, Fraction(1, 3 * PRIME)),), 1))], False),
        ([Instruction(0, 1, 1, A), Instruction(0, 1, 1, ONE)], True),
    ],
)
def test_what_can_be_searched(code, wanted):
    assert is_searchable(Code.of(code, START)) == wanted
