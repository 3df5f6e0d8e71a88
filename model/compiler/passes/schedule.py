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
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from skinny.model.compiler.code import Code, Row, Scalars, affine_scalar, is_simple, joined
from skinny.model.limits import check
from skinny.model.program.program import Columns

__all__ = ["schedule"]

REACH = 12
#: Orders kept: more in a short program.
WIDEST, NARROWEST = 64, 8
CHUNK = 4096
#: States looked at in one program: a second or two.
BUDGET = 50_000
#: Value numbers are summed modulo a power of two.
WORD = (1 << 64) - 1

#: The sign and the number of the scalar that two scalars add up to.
Sum = tuple[int, int] | None
#: The sum of two scalars that cancel.
NOTHING = (0, 0)
#: Instructions in the order chosen, the last one first.
Steps = tuple[Row, "Steps"] | None


class State(NamedTuple):
    """``cost`` is counted from what the instructions done cost in the order given. ``low`` is the first instruction
    left, bit ``n`` of ``done`` says whether ``low + n`` was done, ``held`` is the form in the accumulator, ``values``
    are the value numbers of the registers."""

    cost: int
    low: int
    done: int
    held: int | None
    values: tuple[int, ...]
    steps: Steps


def schedule(code: Code) -> Code:
    """The code in a cheaper order; the forms that were merged are added to its scalars."""
    forms = _Forms(code.scalars)
    beam = min(WIDEST, max(NARROWEST, BUDGET // (len(code) + 1)))
    used = code.columns.form
    linear = np.flatnonzero(~np.array(code.scalars.simple, dtype=bool)[used])
    done: list[Columns] = []
    held: int | None = None
    left = BUDGET
    for first in range(0, len(code), CHUNK):
        if left <= 0:
            done.append(code.columns.part(slice(first, None)))
            break
        ahead = int(np.searchsorted(linear, first + CHUNK))
        following = int(used[linear[ahead]]) if ahead < len(linear) else None
        rows = list(code.part(slice(first, first + CHUNK)).rows())
        while left > 0:
            search = _Search(rows, forms, code.width, held, following)
            found = search.run(beam)
            left -= search.looked_at
            if found is None:
                break
            rows = found
        held = next((number for _, _, _, number in reversed(rows) if not forms.scalars.simple[number]), held)
        done.append(code.with_rows([forms.settled(row, code.scalars) for row in rows]).columns)
    return replace(code, columns=joined(done))


class _Forms:
    """Scalars with their products with values, and with the sums that merging makes of them."""

    def __init__(self, scalars: Scalars) -> None:
        #: A copy, because most of the sums that are tried are not used in the end.
        self.scalars = Scalars(scalars)
        self.steps = self.scalars.accumulator_steps
        self._sums: dict[tuple[int, int, int, int], Sum] = {}
        self._products: dict[tuple[int, int], int] = {}
        self._chance = random.Random(1)

    def settled(self, row: Row, scalars: Scalars) -> Row:
        """An instruction of the result, with its scalar in the table ``scalars``."""
        dst, src, sign, number = row
        return dst, src, sign, scalars.number(self.scalars[number])

    def product(self, number: int, value: int) -> int:
        """The value number of a product. Random, because sums of hashes of one formula can be equal by its form."""
        key = number, value
        if key not in self._products:
            self._products[key] = self._chance.getrandbits(64)
        return self._products[key]

    def sum(self, sign: int, number: int, other_sign: int, other: int) -> Sum:
        """Two scalars with their signs as one, :data:`NOTHING` when they cancel. None when neither needs the
        accumulator but their sum does: that hardly ever pays."""
        key = sign, number, other_sign, other
        if key not in self._sums:
            scalars = self.scalars
            total = scalars[number].scaled(sign).minus(scalars[other].scaled(-other_sign))
            self._sums[key] = NOTHING
            if total.terms or total.bias:
                total_sign, scalar = affine_scalar(total)
                if scalars.simple[number] and scalars.simple[other] and not is_simple(scalar):
                    self._sums[key] = None
                else:
                    self._sums[key] = total_sign, scalars.number(scalar)
        return self._sums[key]


class _Search:
    """One round over some instructions, between the forms ``held`` before and ``following`` after them."""

    def __init__(self, code: list[Row], forms: _Forms, width: int, held: int | None, following: int | None) -> None:
        self.code = code
        self.forms = forms
        self.simple = forms.scalars.simple
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
        for position, (dst, src, sign, number) in enumerate(code):
            self.given.append(1 + forms.steps(held, number))
            if not self.simple[number]:
                held = number
            self.readers.setdefault((src, values[src]), []).append(position)
            self.change.append(sign * forms.product(number, values[src]))
            values[dst] = (values[dst] + self.change[-1]) & WORD
        self.last = self._to_following(held)

    def _to_following(self, held: int | None) -> int:
        return 0 if self.following is None else self.forms.steps(held, self.following)

    def run(self, beam: int) -> list[Row] | None:
        """A cheaper order, if one is found by keeping ``beam`` of them."""
        layers: list[dict[tuple[int, int | None], State]] = [{} for _ in range(len(self.code) + 1)]
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
        """The states that can follow, each with the number of instructions that it takes from those left."""
        code = self.code
        ready = self._ready(state)
        merges = []
        for i, j in combinations(ready, 2):
            dst, src, sign, number = code[i]
            if dst == code[j][0] and src == code[j][1]:
                total = self.forms.sum(sign, number, *code[j][2:])
                if total is not None:
                    merges.append(((dst, src, *total), i, j))
        if ready and ready[0] == state.low and not merges:
            dst, _, _, number = code[state.low]
            nobody_waits = all(code[i][1] != dst for i in ready)
            if nobody_waits and not self.forms.steps(state.held, number):
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

    def _after(self, state: State, instruction: Row, *positions: int) -> State:
        """The state after ``instruction`` (with sign 0: nothing) in the place of those at ``positions``."""
        cost, low, done, held, _, steps = state
        values = list(state.values)
        for position in positions:
            done |= 1 << position - low
            cost -= self.given[position]
            dst = self.code[position][0]
            values[dst] = (values[dst] + self.change[position]) & WORD
        while done & 1:
            done >>= 1
            low += 1
        _, _, sign, number = instruction
        if sign:
            cost += 1 + self.forms.steps(held, number)
            if not self.simple[number]:
                held = number
            steps = instruction, steps
        return State(cost, low, done, held, tuple(values), steps)
