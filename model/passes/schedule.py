"""Schedule: order instructions so that the accumulator is rebuilt less often, and merge those that meet.

Precondition: any program. Postcondition: the same matrix, never more cycles; as long as nothing is merged, the same
bits in every ring. What an instruction adds depends on its scalar and on what its source holds, so it may stand
wherever its source holds what it held: the order is free as long as every read finds its value. Two instructions that
commute (``(j, i)`` and ``(j', i')`` with ``i != j'`` and ``j != i'``) are the plain case; a register that was restored
in between is the other. Values are told apart by number: what was added to the register, hashed and summed.

Instructions between the same registers that find the same value add their forms and become one, or none.

A beam search takes one instruction after the other, at most :data:`REACH` ahead of the first that is left, and keeps
the :data:`BEAM` cheapest orders. It finds the cheapest order of all when it drops none. Repeated while it gains.
Cost: linear a round.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from .contracts import Affine, Scalar, affine_scalar, form_size, is_simple
from .emit import MINUS
from .lower import cycles

__all__ = ["schedule"]

REACH = 24
BEAM = 16
#: Value numbers are summed modulo a power of two.
WORD = (1 << 64) - 1

#: Instructions in the order chosen, the last one first.
Steps = tuple[int, "Steps"] | None


class State(NamedTuple):
    """``low`` is the first instruction left, bit ``n`` of ``done`` says whether ``low + n`` was taken, ``held`` is
    the form in the accumulator, ``values`` are the value numbers of the registers."""

    cost: int
    low: int
    done: int
    held: int
    values: tuple[int, ...]
    steps: Steps


def schedule(code: list[int], scalars: dict[Scalar, int], width: int) -> list[int]:
    """``code`` as packed instructions on ``width`` registers; merged forms are added to ``scalars``."""
    taken = cycles(code, scalars)
    while True:
        found = _Scheduler(code, scalars, width).run()
        cost = cycles(found, scalars)
        if cost >= taken:
            return code
        code, taken = found, cost


class _Scheduler:
    """One round over a program."""

    def __init__(self, code: list[int], scalars: dict[Scalar, int], width: int) -> None:
        self.code = code
        self.scalars = scalars
        self.names = list(scalars)
        self.simple = [is_simple(scalar) for scalar in self.names]
        self.change: list[int] = []
        self.readers: dict[tuple[int, int], list[int]] = {}
        self.start = tuple(range(width))
        self.distances: dict[tuple[int, int], int] = {}
        self.sums: dict[tuple[int, int], int | None] = {}
        self.given: list[int] = []
        values = list(self.start)
        held = -1
        for position, instruction in enumerate(code):
            number = instruction >> 9
            self.given.append(1 if self.simple[number] else 1 + self.distance(held, number))
            held = held if self.simple[number] else number
            src, dst = instruction & 15, instruction >> 4 & 15
            self.readers.setdefault((src, values[src]), []).append(position)
            change = hash((instruction >> 9, values[src]))
            self.change.append(-change if instruction & MINUS else change)
            values[dst] = (values[dst] + self.change[-1]) & WORD

    def run(self) -> list[int]:
        """The cheapest order found."""
        layers: list[dict[tuple[int, int], State]] = [{} for _ in range(len(self.code) + 3)]
        layers[0][0, -1] = State(0, 0, 0, -1, self.start, None)
        for number in range(len(self.code)):
            layer, layers[number] = layers[number], {}
            states = sorted(layer.values(), key=lambda s: (s.cost, -s.low))
            if len(states) > BEAM:
                # A state that took what stands in front can always go on in the order given.
                orderly = next(state for state in states if not state.done)
                states = [orderly, *(state for state in states[:BEAM] if state is not orderly)]
            for state in states:
                for ahead, new in self.successors(state):
                    key = (new.low << REACH) + new.done, new.held
                    old = layers[number + ahead].get(key)
                    if old is None or new.cost < old.cost:
                        layers[number + ahead][key] = new
        best = min(layers[len(self.code)].values(), key=lambda s: s.cost)
        out = []
        steps = best.steps
        while steps is not None:
            instruction, steps = steps
            out.append(instruction)
        return out[::-1]

    def successors(self, state: State) -> Iterator[tuple[int, State]]:
        """What can be done next, and how many instructions that takes from those left."""
        code, held = self.code, state.held
        ready = self.ready(state)
        merges = []
        rest = set()
        if len(ready) > 1:
            for i, j in combinations(ready, 2):
                if not (code[i] ^ code[j]) & 255:
                    merged = self.merged(code[i], code[j])
                    if merged is not None:
                        merges.append((merged, i, j))
                        rest |= {i, j}
        # Those that need no attention and merge with nothing keep their order.
        plain = [i for i in ready if i not in rest and (self.simple[code[i] >> 9] or code[i] >> 9 == held)]
        if plain:
            first = plain[0]
            if (first == state.low or state.done) and self.is_free(first, state, ready):
                yield 1, self.after(state, code[first], first)
                return
            ready = [i for i in ready if i not in plain[1:] or i == state.low]
        for i in ready:
            yield 1, self.after(state, code[i], i)
        for merged, i, j in merges:
            yield 2, self.after(state, merged, i, j)

    def ready(self, state: State) -> list[int]:
        """The instructions left that find their value, in the order given; equal ones once."""
        out: dict[int, int] = {}
        low, done, _ = state.low, state.done, state.held
        for key in enumerate(state.values):
            positions = self.readers.get(key, ())
            for at in range(bisect_left(positions, low), len(positions)):
                position = positions[at]
                if position >= low + REACH:
                    break
                if not done >> position - low & 1:
                    out.setdefault(self.code[position], position)
        return sorted(out.values())

    def is_free(self, position: int, state: State, ready: list[int]) -> bool:
        """Whether the instruction takes its target from nobody who waits for it or stands before it."""
        dst = self.code[position] >> 4 & 15
        return not any(self.code[i] & 15 == dst for i in ready) and not any(
            self.code[i] & 15 == dst for i in range(state.low, position) if not state.done >> i - state.low & 1
        )

    def after(self, state: State, instruction: int, *positions: int) -> State:
        """The state after ``instruction`` in the place of those at ``positions``; zero: they cancel."""
        done, low, held, cost = state.done, state.low, state.held, state.cost
        values = list(state.values)
        for position in positions:
            done |= 1 << position - low
            cost -= self.given[position]
            dst = self.code[position] >> 4 & 15
            values[dst] = (values[dst] + self.change[position]) & WORD
        while done & 1:
            done >>= 1
            low += 1
        steps = state.steps
        if instruction:
            steps = instruction, steps
            number = instruction >> 9
            cost += 1
            if not self.simple[number]:
                cost += self.distance(held, number)
                held = number
        return State(cost, low, done, held, tuple(values), steps)

    def distance(self, held: int, wanted: int) -> int:
        """The accumulator steps from one form to another."""
        key = held, wanted
        if key not in self.distances:
            after = self.names[wanted]
            steps = form_size(after)
            if held >= 0:
                before = self.names[held]
                differ = len(set(before.terms) ^ set(after.terms))
                if before.bias != after.bias:
                    differ += (before.bias != 0) + (after.bias != 0)
                steps = min(steps, differ)
            self.distances[key] = steps
        return self.distances[key]

    def merged(self, one: int, other: int) -> int | None:
        """Two instructions between the same registers as one, zero when they cancel; none when both are plain and
        their sum is not."""
        key = one, other
        if key not in self.sums:
            first, second = (self.names[i >> 9].scaled(-1 if i & MINUS else 1) for i in key)
            total = first.minus(second.scaled(-1))
            self.sums[key] = 0
            if total.terms or total.bias:
                sign, scalar = affine_scalar(total)
                if self.simple[one >> 9] and self.simple[other >> 9] and not is_simple(scalar):
                    self.sums[key] = None
                else:
                    number = self.scalars.setdefault(scalar, len(self.scalars))
                    if number == len(self.names):
                        self.names.append(scalar)
                        self.simple.append(is_simple(scalar))
                    self.sums[key] = number << 9 | (MINUS if sign < 0 else 0) | one & 255
        return self.sums[key]
