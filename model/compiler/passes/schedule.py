"""Schedule: order instructions so that the accumulator is rebuilt less often, and merge those that meet.

Precondition: any program. Postcondition: the same matrix, never more cycles; as long as nothing is merged, the same
bits in every ring. What an instruction adds depends on its scalar and on what its source holds, so it may stand
wherever its source holds what it held. That two instructions commute (``(j, i)`` and ``(j', i')`` with ``i != j'`` and
``j != i'``) is the plain case; that a register was changed and restored in between is the other. Values are told apart
by a number: the sum of a random number for each product that was added.

Instructions between the same registers that find the same value add their forms and become one, or none.

A beam search takes one instruction after the other, at most :data:`REACH` from the first that is left, and keeps the
cheapest orders; when it drops none and all are in reach, no order is cheaper. Repeated while it gains, a
:data:`CHUNK` at a time. Cost: linear, and at most about :data:`BUDGET` states, so that the effort is the same on every
machine; what comes after is left as it is.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from skinny.model.compiler.contracts import Scalar, affine_scalar, form_size, is_simple
from skinny.model.limits import check

from .emit import MINUS

__all__ = ["schedule"]

REACH = 12
#: Orders kept: more in a short program.
WIDEST, NARROWEST = 64, 8
CHUNK = 4096
#: States looked at in one program: a second or two.
BUDGET = 50_000
#: Value numbers are summed modulo a power of two.
WORD = (1 << 64) - 1
NOTHING = -1

#: Instructions in the order chosen, the last one first.
Steps = tuple[int, "Steps"] | None


class State(NamedTuple):
    """``cost`` is counted from what the instructions done cost in the order given. ``low`` is the first instruction
    left, bit ``n`` of ``done`` says whether ``low + n`` was done, ``held`` is the form in the accumulator, ``values``
    are the value numbers of the registers."""

    cost: int
    low: int
    done: int
    held: int
    values: tuple[int, ...]
    steps: Steps


def schedule(code: list[int], scalars: dict[Scalar, int], width: int) -> list[int]:
    """``code`` as packed instructions on ``width`` registers; merged forms are added to ``scalars``."""
    forms = _Forms(list(scalars))
    beam = min(WIDEST, max(NARROWEST, BUDGET // (len(code) + 1)))
    linear = [position for position, instruction in enumerate(code) if not forms.simple[instruction >> 9]]
    out: list[int] = []
    held = NOTHING
    left = BUDGET
    for first in range(0, len(code), CHUNK):
        end = first + CHUNK
        part = code[first:end]
        ahead = bisect_left(linear, end)
        following = code[linear[ahead]] >> 9 if ahead < len(linear) else NOTHING
        while left > 0:
            search = _Search(part, forms, width, held, following)
            found = search.run(beam)
            left -= search.looked_at
            if found is None:
                break
            part = found
        held = next((i >> 9 for i in reversed(part) if not forms.simple[i >> 9]), held)
        out += part
    return [scalars.setdefault(forms.names[i >> 9], len(scalars)) << 9 | i & 511 for i in out]


class _Forms:
    """Scalars by number: their products with values, their distances in the accumulator, their sums."""

    def __init__(self, names: list[Scalar]) -> None:
        self.names = names
        self.simple = [is_simple(scalar) for scalar in names]
        self._numbers = {scalar: number for number, scalar in enumerate(names)}
        self._distances: dict[tuple[int, int], int] = {}
        self._sums: dict[tuple[int, int], int | None] = {}
        self._products: dict[tuple[int, int], int] = {}
        self._chance = random.Random(1)

    def product(self, number: int, value: int) -> int:
        """The value number of a product. Random, because sums of hashes of one formula can be equal by its form."""
        key = number, value
        if key not in self._products:
            self._products[key] = self._chance.getrandbits(64)
        return self._products[key]

    def distance(self, held: int, wanted: int) -> int:
        """The accumulator steps before ``wanted`` can be used."""
        if self.simple[wanted] or held == wanted:
            return 0
        key = held, wanted
        if key not in self._distances:
            after = self.names[wanted]
            steps = form_size(after)
            if held != NOTHING:
                before = self.names[held]
                changed = len(set(before.terms) ^ set(after.terms))
                if before.bias != after.bias:
                    changed += (before.bias != 0) + (after.bias != 0)
                steps = min(steps, changed)
            self._distances[key] = steps
        return self._distances[key]

    def merged(self, one: int, other: int) -> int | None:
        """Two instructions between the same registers as one, 0 when they cancel. None when neither needs the
        accumulator but their sum does: that hardly ever pays."""
        key = one, other
        if key not in self._sums:
            first, second = (self.names[i >> 9].scaled(-1 if i & MINUS else 1) for i in key)
            total = first.minus(second.scaled(-1))
            self._sums[key] = 0
            if total.terms or total.bias:
                sign, scalar = affine_scalar(total)
                if self.simple[one >> 9] and self.simple[other >> 9] and not is_simple(scalar):
                    self._sums[key] = None
                else:
                    self._sums[key] = self._number(scalar) << 9 | (MINUS if sign < 0 else 0) | one & 255
        return self._sums[key]

    def _number(self, scalar: Scalar) -> int:
        number = self._numbers.setdefault(scalar, len(self.names))
        if number == len(self.names):
            self.names.append(scalar)
            self.simple.append(is_simple(scalar))
        return number


class _Search:
    """One round over some instructions, between the forms ``held`` before and ``following`` after them."""

    def __init__(self, code: list[int], forms: _Forms, width: int, held: int, following: int) -> None:
        self.code = code
        self.forms = forms
        self.held = held
        self.following = following
        self.start = tuple(range(width))
        self.looked_at = 0
        #: By position: the cost in the order given, what is added to the value number of the target.
        self.given: list[int] = []
        self.change: list[int] = []
        #: The positions that read a value of a register.
        self.readers: dict[tuple[int, int], list[int]] = {}
        values = list(self.start)
        for position, instruction in enumerate(code):
            number, dst, src = instruction >> 9, instruction >> 4 & 15, instruction & 15
            self.given.append(1 + forms.distance(held, number))
            if not forms.simple[number]:
                held = number
            self.readers.setdefault((src, values[src]), []).append(position)
            change = forms.product(number, values[src])
            self.change.append(-change if instruction & MINUS else change)
            values[dst] = (values[dst] + self.change[-1]) & WORD
        self.last = self._to_following(held)

    def _to_following(self, held: int) -> int:
        return 0 if self.following == NOTHING else self.forms.distance(held, self.following)

    def run(self, beam: int) -> list[int] | None:
        """A cheaper order, if one is found by keeping ``beam`` of them."""
        layers: list[dict[tuple[int, int], State]] = [{} for _ in range(len(self.code) + 1)]
        layers[0][0, 0] = State(0, 0, 0, self.held, self.start, None)
        for taken in range(len(self.code)):
            check()
            layer, layers[taken] = layers[taken], {}
            states = sorted(layer.values(), key=lambda state: (state.cost, -state.low))
            if len(states) > beam:
                # One that left nothing out can always go on in the order given.
                orderly = next(state for state in states if not state.done)
                states = [orderly, *(state for state in states[:beam] if state is not orderly)]
            self.looked_at += len(states)
            for state in states:
                for more, new in self._successors(state):
                    key = new.done, new.held
                    old = layers[taken + more].get(key)
                    if old is None or new.cost < old.cost:
                        layers[taken + more][key] = new
        ends = [(state.cost + self._to_following(state.held), state.steps) for state in layers[-1].values()]
        cost, steps = min(ends, key=lambda end: end[0])
        if cost >= self.last:
            return None
        out = []
        while steps is not None:
            instruction, steps = steps
            out.append(instruction)
        return out[::-1]

    def _successors(self, state: State) -> Iterator[tuple[int, State]]:
        """What can be done next, and how many instructions that takes from those left."""
        code = self.code
        ready = self._ready(state)
        merges = []
        for i, j in combinations(ready, 2):
            if not (code[i] ^ code[j]) & 255:
                merged = self.forms.merged(code[i], code[j])
                if merged is not None:
                    merges.append((merged, i, j))
        if ready and ready[0] == state.low and not merges:
            first = code[state.low]
            nobody_waits = all(code[i] & 15 != first >> 4 & 15 for i in ready)
            if nobody_waits and not self.forms.distance(state.held, first >> 9):
                del ready[1:]  # Nothing is better than what costs nothing and stands in nobody's way.
        for i in {code[i]: i for i in reversed(ready)}.values():  # of equal ones the first
            yield 1, self._after(state, code[i], i)
        for merged, i, j in merges:
            yield 2, self._after(state, merged, i, j)

    def _ready(self, state: State) -> list[int]:
        """The instructions left that find their value, in the order given."""
        out: list[int] = []
        low, done = state.low, state.done
        for key in enumerate(state.values):
            positions = self.readers.get(key, ())
            for at in range(bisect_left(positions, low), len(positions)):
                position = positions[at]
                if position >= low + REACH:
                    break
                if not done >> position - low & 1:
                    out.append(position)
        return sorted(out)

    def _after(self, state: State, instruction: int, *positions: int) -> State:
        """The state after ``instruction`` (0: nothing) in the place of those at ``positions``."""
        cost, low, done, held, _, steps = state
        values = list(state.values)
        for position in positions:
            done |= 1 << position - low
            cost -= self.given[position]
            dst = self.code[position] >> 4 & 15
            values[dst] = (values[dst] + self.change[position]) & WORD
        while done & 1:
            done >>= 1
            low += 1
        if instruction:
            cost += 1 + self.forms.distance(held, instruction >> 9)
            if not self.forms.simple[instruction >> 9]:
                held = instruction >> 9
            steps = instruction, steps
        return State(cost, low, done, held, tuple(values), steps)
