"""Search: shorter pieces of small clean programs, by exhaustion.

Precondition: a clean program. Postcondition: the same output, never longer. A piece between two points counts only
through ``r·M·a``: the registers before it (a row), its matrix, and how the output depends on the registers after it
(a column). So a shorter piece is a pair of a row reached forwards and a column reached backwards whose product is
right: both sets are enumerated and met in the middle, at a random point modulo two primes. The whole program is tried
first, then windows of :data:`WINDOWS` instructions. A budget bounds the pairs compared, so the effort is the same
on every machine; the compiler's check proves what was found.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from skinny.model.compiler.code import ONE, Code, Row
from skinny.model.limits import check
from skinny.model.program.modular import form_residues, random_point, travel

__all__ = ["is_searchable", "search"]

#: Pairs are compared modulo the first (exact in floating point), hits confirmed modulo the second.
SMALL_PRIME = (1 << 23) - 15
PRIME = (1 << 31) - 1
#: Programs longer than this, and programs with more scalars, are left alone.
LONGEST = 24
MOST_SCALARS = 5
MOST_STATES = 20_000
MOST_PAIRS = 12_000_000
WINDOWS = (6, 5)
#: Pairs compared for one program: a few seconds.
BUDGET = 400_000_000
#: The low bits of a hash give way to the place of its state: there are at most 8·MOST_STATES.
PLACES = (1 << 20) - 1
#: Pairs compared at once: what stays in a processor's cache.
BLOCK = 50_000

Vectors = NDArray[np.int64]
#: ``(dst, src, value, value modulo the small prime)``
Move = tuple[int, int, int, int]


class Layer(NamedTuple):
    """States after some number of steps, with the step and the state each came from."""

    states: Vectors
    move: NDArray[np.int64]
    parent: NDArray[np.int64]


class Reach:
    """States reachable from one vector, layer by layer. ``backwards`` walks columns instead of rows.

    A state is its registers modulo :data:`PRIME`, then modulo :data:`SMALL_PRIME`.
    """

    def __init__(self, vector: list[int], moves: list[Move], backwards: bool) -> None:
        none = np.zeros(1, dtype=np.int64)
        self.layers = [Layer(np.array([vector], dtype=np.int64), none, none)]
        self.moves = moves
        self.backwards = backwards
        self.width = len(vector) // 2
        self.mix = np.random.default_rng(1).integers(1, 1 << 62, size=self.width, dtype=np.int64) | 1
        self.seen = self._hashes(self.layers[0].states) & ~PLACES
        self.full = False

    def _hashes(self, states: Vectors) -> NDArray[np.int64]:
        return np.asarray((states[:, : self.width] * self.mix).sum(axis=1))

    def layer(self, steps: int) -> Layer | None:
        """The states first reached after ``steps`` steps; none when there are too many."""
        while len(self.layers) <= steps and not self.full:
            self._add_layer()
        return self.layers[steps] if steps < len(self.layers) else None

    def _add_layer(self) -> None:
        """Add the states that are one step further, or find that there are too many. A move changes one register, so
        that the hashes of all new states are known before the states, of which many are old, are made."""
        before = self.layers[-1].states
        self.full = len(before) * len(self.moves) > 8 * MOST_STATES
        if self.full:
            return
        dst, src, value, small = np.array(self.moves, dtype=np.int64).T
        read, write = (dst, src) if self.backwards else (src, dst)
        sources, targets = before.T[read], before.T[write]
        changed = (targets + value[:, None] * sources) % PRIME
        hashes = self._hashes(before) + self.mix[write][:, None] * (changed - targets)
        live = np.flatnonzero(sources)
        # Sorted with their places in the low bits, equal hashes stand together, the first of them first.
        places = np.sort((hashes.ravel()[live] & ~PLACES) | live)
        hashes = places & ~PLACES
        new = np.append(True, hashes[1:] != hashes[:-1])
        new &= self.seen[np.searchsorted(self.seen[:-1], hashes)] != hashes
        first = places[new] & PLACES
        self.full = len(first) > MOST_STATES
        if self.full:
            return
        move, parent = np.divmod(first, len(before))
        states = before[parent]
        every = np.arange(len(states))
        states[every, write[move]] = changed.ravel()[first]
        read, write = read[move] + self.width, write[move] + self.width
        states[every, write] = (states[every, write] + small[move] * states[every, read]) % SMALL_PRIME
        self.seen = np.sort(np.concatenate([self.seen, hashes[new]]))
        self.layers.append(Layer(states, move, parent))

    def path(self, steps: int, state: int) -> Iterator[int]:
        """The moves that lead to a state, the last one first."""
        for n in range(steps, 0, -1):
            yield int(self.layers[n].move[state])
            state = int(self.layers[n].parent[state])


class Searcher:
    """One program under improvement."""

    def __init__(self, code: Code) -> None:
        self.given = code
        self.code = list(code.rows())
        self.start = list(code.start)
        self.left = BUDGET
        one = code.scalars.number(ONE)
        point = random_point(random.Random(2), code.scalars.inputs, PRIME)
        self.values = form_residues(code.scalars, point, PRIME)
        self.small = form_residues(code.scalars, point, SMALL_PRIME)
        self.moves: list[Move] = []
        self.rows_of_moves: list[Row] = []
        for number in sorted({number for _, _, _, number in self.code} | {one}):
            for dst in range(code.width):
                for src in range(code.width):
                    for sign in (1, -1) if dst != src else ():
                        self.moves.append((dst, src, sign * self.values[number], sign * self.small[number]))
                        self.rows_of_moves.append((dst, src, sign, number))
        self._forward: dict[int, Reach] = {}
        self._backward: dict[int, Reach] = {}
        self.rows, self.columns = self._travel()

    def improve(self) -> Code:
        """Replace the whole, then windows, until nothing more is found or the budget is spent."""
        self._replace(0, len(self.code))
        for size in WINDOWS:
            first = 0
            while first + size <= len(self.code) and self.left > 0:
                first = max(0, first - size) if self._replace(first, size) else first + 1
        return self.given.with_rows(self.code)

    def _replace(self, first: int, size: int) -> bool:
        """Try to put something shorter in the place of ``size`` instructions."""
        forward = self._forward.get(first)
        if forward is None:
            forward = self._forward[first] = Reach(self.rows[first], self.moves, backwards=False)
        backward = self._backward.get(first + size)
        if backward is None:
            backward = Reach(self.columns[first + size], self.moves, backwards=True)
            self._backward[first + size] = backward
        width = len(self.start)
        values = [
            sum(r * a for r, a in zip(self.rows[-1][part], self.columns[-1][part], strict=True)) % prime
            for part, prime in ((slice(0, width), PRIME), (slice(width, None), SMALL_PRIME))
        ]
        for steps in range(size):
            check()
            found = self._meeting(forward, backward, values, steps)
            if found is not None:
                self.code = [
                    *self.code[:first],
                    *(self.rows_of_moves[move] for move in found),
                    *self.code[first + size :],
                ]
                # What is reached from the front of the piece, and back from its end, stays the same.
                gained = size - len(found)
                self._forward = {at: reach for at, reach in self._forward.items() if at <= first}
                self._backward = {at - gained: reach for at, reach in self._backward.items() if at >= first + size}
                self.rows, self.columns = self._travel()
                return True
        return False

    def _meeting(self, forward: Reach, backward: Reach, values: list[int], steps: int) -> list[int] | None:
        """Moves of exactly ``steps`` steps whose row·column is right."""
        splits = sorted(range(steps + 1), key=lambda ahead: abs(2 * ahead - steps))
        for ahead in splits:
            rows, columns = forward.layer(ahead), backward.layer(steps - ahead)
            if rows is None or columns is None or len(rows.states) * len(columns.states) > MOST_PAIRS:
                continue
            if len(rows.states) * len(columns.states) > self.left:
                return None
            self.left -= len(rows.states) * len(columns.states)
            for row, column in _right_pairs(rows.states, columns.states, values, len(self.start)):
                there = list(forward.path(ahead, row))[::-1]
                return there + list(backward.path(steps - ahead, column))
            return None
        return None

    def _travel(self) -> tuple[list[list[int]], list[list[int]]]:
        """The registers before each instruction (and at the end), and the output's dependence on them."""
        code = self.given.with_rows(self.code)
        return self._vectors(code), self._vectors(code.transposed())[::-1]

    def _vectors(self, code: Code) -> list[list[int]]:
        """The registers before each instruction and at the end, modulo both primes."""
        large, small = [v % PRIME for v in code.start], [v % SMALL_PRIME for v in code.start]
        both = zip(
            travel(code.rows(), self.values, large, PRIME),
            travel(code.rows(), self.small, small, SMALL_PRIME),
            strict=True,
        )
        out = [large + small for _ in both]
        return [*out, large + small]


def _right_pairs(rows: Vectors, columns: Vectors, values: list[int], width: int) -> Iterator[tuple[int, int]]:
    """Index pairs whose products are right modulo both primes."""
    # A multiple of the prime divides to a whole number; products are below 2^46, so the quotients are good to 2^-27.
    left = np.column_stack([rows[:, width:], np.full(len(rows), -values[1])]).astype(np.float64)
    right = np.column_stack([columns[:, width:], np.ones(len(columns))]).T / SMALL_PRIME
    block = max(1, BLOCK // len(columns))
    for first in range(0, len(rows), block):
        excess = left[first : first + block] @ right
        excess -= np.rint(excess)
        np.abs(excess, out=excess)
        if excess.min() < 2.0**-25:
            for row, column in np.argwhere(excess < 2.0**-25).tolist():
                pair = zip(rows[first + row, :width].tolist(), columns[column, :width].tolist(), strict=True)
                if sum(r * a for r, a in pair) % PRIME == values[0]:
                    yield first + row, column


def is_searchable(code: Code) -> bool:
    """Whether the program is small enough, and has few enough scalars, for the search to get anywhere, and whether its
    scalars are numbers modulo the primes."""
    if not 1 < len(code) <= LONGEST or len(np.unique(code.columns.form)) > MOST_SCALARS:
        return False
    numbers = [number for scalar in code.scalars for number in (scalar.bias, *(c for _, c in scalar.terms))]
    return all(number.denominator % prime for number in numbers for prime in (PRIME, SMALL_PRIME))


def search(code: Code) -> Code:
    """Searchable code with shorter pieces where some were found."""
    return Searcher(code).improve()
