"""Search: shorter pieces of small clean programs, by exhaustion.

Precondition: a clean program. Postcondition: the same output, never longer. A piece between two points counts only through
``r·M·a``: the registers before it (a row), its matrix, and how the output depends on the registers after it (a column).
So a shorter piece is a pair of a row reached forwards and a column reached backwards whose product is right: both sets
are enumerated and met in the middle, at one random point mod 2^31 - 1. The whole program is tried first, then windows.
The budget bounds the pairs compared; the compiler's check proves what was found.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .contracts import Scalar
from .emit import MINUS
from .fold import scalar_values

__all__ = ["search"]

PRIME = (1 << 31) - 1
#: Programs longer than this, and programs with more scalars, are left alone.
LONGEST = 40
MOST_SCALARS = 8
MOST_STATES = 60_000
MOST_PAIRS = 12_000_000
WINDOW = 6

Vectors = NDArray[np.int64]


class Level(NamedTuple):
    """States after some number of steps, with the step and the state each came from."""

    states: Vectors
    move: NDArray[np.int64]
    parent: NDArray[np.int64]


class Reach:
    """States reachable from one vector, level by level. ``backwards`` walks columns instead of rows."""

    def __init__(self, vector: list[int], moves: list[tuple[int, int, int]], backwards: bool) -> None:
        none = np.zeros(1, dtype=np.int64)
        self.levels = [Level(np.array([vector], dtype=np.int64), none, none)]
        self.moves = moves
        self.backwards = backwards
        chance = np.random.default_rng(1)
        self.mix = chance.integers(1, 1 << 62, size=len(vector), dtype=np.int64) | 1
        self.seen = self._hashes(self.levels[0].states)

    def _hashes(self, states: Vectors) -> NDArray[np.int64]:
        return np.asarray((states * self.mix).sum(axis=1))

    def level(self, steps: int) -> Level | None:
        """The states first reached after ``steps`` steps; none when there are too many."""
        while len(self.levels) <= steps:
            before = self.levels[-1]
            if len(before.states) * len(self.moves) > 4 * MOST_STATES:
                return None
            pieces, numbers, parents = [], [], []
            for number, (dst, src, value) in enumerate(self.moves):
                read, write = (dst, src) if self.backwards else (src, dst)
                live = np.flatnonzero(before.states[:, read])
                states = before.states[live]
                states[:, write] = (states[:, write] + value * states[:, read]) % PRIME
                pieces.append(states)
                numbers.append(np.full(len(live), number))
                parents.append(live)
            states = np.concatenate(pieces)
            hashes, first = np.unique(self._hashes(states), return_index=True)
            first = first[~np.isin(hashes, self.seen)]
            if len(first) > MOST_STATES:
                return None
            self.seen = np.concatenate([self.seen, self._hashes(states[first])])
            self.levels.append(Level(states[first], np.concatenate(numbers)[first], np.concatenate(parents)[first]))
        return self.levels[steps]

    def path(self, steps: int, state: int) -> Iterator[int]:
        """The moves that lead to a state, the last one first."""
        for n in range(steps, 0, -1):
            yield int(self.levels[n].move[state])
            state = int(self.levels[n].parent[state])


def _meeting(forward: Reach, backward: Reach, value: int, steps: int) -> list[int] | None:
    """Moves of exactly ``steps`` steps whose row·column is ``value``."""
    for ahead in range(steps, -1, -1):
        rows, columns = forward.level(ahead), backward.level(steps - ahead)
        if rows is None or columns is None or len(rows.states) * len(columns.states) > MOST_PAIRS:
            continue
        block = max(1, 2_000_000 // len(columns.states))
        for first in range(0, len(rows.states), block):
            part = rows.states[first : first + block]
            products = np.zeros((len(part), len(columns.states)), dtype=np.int64)
            for register in range(part.shape[1]):
                products += part[:, register, None] * columns.states[None, :, register] % PRIME
            hits = np.argwhere(products % PRIME == value)
            if len(hits):
                row, column = hits[0].tolist()
                there = list(forward.path(ahead, first + row))[::-1]
                return there + list(backward.path(steps - ahead, column))
        return None
    return None


def search(code: list[int], scalars: dict[Scalar, int], inputs: int, start: list[int], output: int) -> list[int]:
    """``code`` as packed instructions on registers, run from ``start``, read at register ``output``."""
    used = sorted({instruction >> 9 for instruction in code})
    if not 1 < len(code) <= LONGEST or len(used) > MOST_SCALARS:
        return code
    chance = random.Random(2)
    values = [v % PRIME for v in scalar_values(scalars, [chance.randrange(PRIME) for _ in range(inputs)], PRIME)]
    width = len(start)
    moves: list[tuple[int, int, int]] = []
    packed: list[int] = []
    for number in used:
        for dst in range(width):
            for src in range(width):
                if dst != src:
                    for minus in (0, MINUS):
                        moves.append((dst, src, PRIME - values[number] if minus else values[number]))
                        packed.append(number << 9 | minus | dst << 4 | src)
    improved = True
    while improved:
        improved = False
        rows, columns = _travel(code, values, start, output)
        for size in [len(code), *range(min(WINDOW, len(code) - 1), 1, -1)]:
            for first in range(len(code) - size + 1):
                forward = Reach(rows[first], moves, backwards=False)
                backward = Reach(columns[first + size], moves, backwards=True)
                value = sum(r * a for r, a in zip(rows[-1], columns[-1], strict=True)) % PRIME
                for steps in range(size):
                    found = _meeting(forward, backward, value, steps)
                    if found is not None:
                        code = [*code[:first], *(packed[move] for move in found), *code[first + size :]]
                        improved = True
                        break
                if improved:
                    break
            if improved:
                break
    return code


def _travel(code: list[int], values: list[int], start: list[int], output: int) -> tuple[list[list[int]], list[list[int]]]:
    """The registers before each instruction (and at the end), and the output's dependence on them."""
    row = list(start)
    rows = [list(row)]
    for instruction in code:
        dst, src = instruction >> 4 & 15, instruction & 15
        change = values[instruction >> 9] * row[src]
        row[dst] = (row[dst] + (-change if instruction & MINUS else change)) % PRIME
        rows.append(list(row))
    column = [int(r == output) for r in range(len(start))]
    columns = [list(column)]
    for instruction in reversed(code):
        dst, src = instruction >> 4 & 15, instruction & 15
        change = values[instruction >> 9] * column[dst]
        column[src] = (column[src] + (-change if instruction & MINUS else change)) % PRIME
        columns.append(list(column))
    return rows, columns[::-1]
