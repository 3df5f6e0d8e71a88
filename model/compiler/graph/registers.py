"""Registers: what each holds while the instructions of a graph are written.

Register 1 holds one and is never written. The others hold values, complete or still open (some of their groups are
missing). Where instructions may assign, a register is free as soon as nobody needs its value. Where they may not, a
register is free when it is zero, so a value is taken away by running its groups backwards, which needs the values that
it was made of.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence
from typing import NamedTuple

from skinny.model.compiler.polynomial import Coefficient
from skinny.model.limits import check

from .values import NONE, ONE, UNIT, Graph, Group, Key, TermForm, group_cost, is_simple, operands

__all__ = ["LAYER", "Instruction", "Registers", "TooLongError", "TooNarrowError"]

#: A sum of more groups than this may be a value of a layer.
LAYER = 3
#: The register that holds one.
SOURCE = 1


class TooNarrowError(Exception):
    """There is no register left that could be given away."""


class TooLongError(Exception):
    """The program takes more cycles than allowed."""


class Instruction(NamedTuple):
    """An instruction of a program; the values in its form are registers. ``mode`` is add, assign or relu."""

    dst: int
    src: int
    sign: int
    mode: str
    form: TermForm


class Registers:
    """The state of the machine between two instructions, and the instructions so far."""

    #: The next values of states, in the order in which they had better be computed.
    order: Sequence[int] = ()

    def __init__(self, graph: Graph, width: int, *, assign: bool, tidy: bool, most: int) -> None:
        self.values = graph.values
        self.assign = assign
        #: Whether values that nobody needs are taken away at once where that takes one cycle.
        self.tidy = tidy
        self.most = most
        count = len(graph.values)
        #: The places of free registers in the order in which they are given away. Where loops are wanted, register 0
        #: is the last, so that the others follow each other.
        self.sequence: list[int] = [*range(2, width), 0] if assign else [0, *range(2, width)]
        self.places = {register: place for place, register in enumerate(self.sequence)}
        self.free = list(range(len(self.sequence)))
        self.where = [NONE] * count
        self.holds: dict[int, int] = {}
        self.complete = bytearray(count)
        self.pins = [0] * count
        #: For each value the uses that are still to come; groups are counted when they are run for the first time.
        self.remaining = [0] * count
        for value in graph.values:
            for group in value.groups:
                for operand in operands(group):
                    self.remaining[operand] += 1
        for number in graph.outputs.values():
            self.remaining[number] += 1
        self.uses = list(self.remaining)
        self.counted = [bytearray(len(value.groups)) for value in graph.values]
        #: For each held value its groups in the order of execution, and the value whose register it took over.
        self.log: dict[int, list[int]] = {}
        self.taken: dict[int, int] = {}
        self.pending: dict[int, dict[int, None]] = {}
        #: For each value the group that is a constant, if there is one.
        self.constants = [
            next((n for n, group in enumerate(value.groups) if _is_constant(group)), NONE) for value in graph.values
        ]
        self.costs = [sum(group_cost(group.form) for group in value.groups) for value in graph.values]
        self.born = [0] * count
        self.code: list[Instruction] = []
        self.accumulator: TermForm = ()
        self.cycles = 0
        self.clock = 0
        self.widest = 0

    def is_held(self, value: int) -> bool:
        return bool(self.complete[value])

    def first_group(self, value: int) -> int:
        """The group that a value must begin with, or none in particular."""
        return NONE

    def settle(self) -> None:
        """Put the next values of states where they belong, as far as that is possible now: without states
        (:mod:`.states`) there are none."""

    def finish(self) -> None:
        """Put all next values of states where they belong."""

    def execute(self, value: int, number: int) -> None:
        """Write the instruction of a group whose operands are held."""
        check()
        group = self.values[value].groups[number]
        first = not self.counted[value][number]
        if first:
            for operand in operands(group):
                self.remaining[operand] -= 1
        self.counted[value][number] = 1
        read = dict.fromkeys(operands(group))
        for operand in read:
            self.pins[operand] += 1
        pending = self.pending.get(value)
        if pending is None:
            pending = self.pending[value] = dict.fromkeys(range(len(self.values[value].groups)))
        del pending[number]
        # What a value that is computed again reads is not counted, so it is looked for.
        later = {o for n in pending for o in operands(self.values[value].groups[n])} if not first else frozenset()
        if self.where[value] == NONE:
            self._open(value, group, later)
        else:
            self._write(self.where[value], group, 1, "add")
        self.log.setdefault(value, []).append(number)
        if not pending:
            del self.pending[value]
            self.complete[value] = 1
            self.clock += 1
            self.born[value] = self.clock
        for operand in read:
            self.pins[operand] -= 1
            if operand not in later:
                self.release(operand)

    def is_missing(self, value: int, number: int) -> bool:
        """Whether a group of a value is still to be run."""
        return not self.complete[value] and number in self.pending.get(value, (number,))

    def may_begin(self, value: int) -> bool:
        """Whether a sum is not open yet, and could be with its constant at no cost."""
        groups = self.values[value].groups
        new = self.where[value] == NONE and value not in self.pending
        return new and len(groups) > LAYER and self.constants[value] != NONE and all(g.form != UNIT for g in groups)

    def begin(self, value: int) -> None:
        """Open a value with its constant."""
        number = self.constants[value]
        self.counted[value][number] = 1
        self.pending[value] = dict.fromkeys(n for n in range(len(self.values[value].groups)) if n != number)
        self._allocate(value, self.values[value].groups[number])
        self.log[value] = [number]

    def _open(self, value: int, group: Group, later: Collection[int]) -> None:
        """The first group of a value: it takes over the register of a value that dies here, or a free one. A free one
        gets the constant of the value first, so that all other groups are added alike."""
        base = group.base
        dies = base != ONE and not self.remaining[base] and self.pins[base] == 1 and base not in later
        if dies and group.form == UNIT and not self.values[value].relu:
            self._take_over(value, base)
            return
        number = self.constants[value]
        constant = self.assign and number in self.pending[value]
        # A sum of a layer begins with its constant like the others, although that takes a register more.
        alike = constant and len(self.values[value].groups) > LAYER and len(self.free) > LAYER
        if dies and self.assign and not alike:
            source = self.where[base]
            self._take_over(value, base)
            self._write(source, group, 1, self._mode(value), source)
            return
        if constant:
            del self.pending[value][number]
            self.counted[value][number] = 1
            self._allocate(value, self.values[value].groups[number])
            self._write(self.where[value], group, 1, "add")
        else:
            self._allocate(value, group)

    def _mode(self, value: int) -> str:
        return "relu" if self.values[value].relu else "assign" if self.assign else "add"

    def _allocate(self, value: int, group: Group) -> None:
        register = self.allocate()
        self.where[value] = register
        self.holds[register] = value
        self._write(register, group, 1, self._mode(value))

    def _take_over(self, value: int, other: int) -> None:
        register = self.where[other]
        self.where[value], self.where[other] = register, NONE
        self.complete[other] = 0
        self.holds[register] = value
        if not self.assign:
            self.taken[value] = other

    def release(self, operand: int) -> None:
        """Give the register of a value back, when nobody needs it."""
        if not self.complete[operand] or self.remaining[operand] or self.pins[operand]:
            return
        if self.assign:
            self._forget(operand)
        elif self.tidy and len(self.log[operand]) == 1 and self._undo_cost(operand) == 1:
            self._undo(operand)

    def _forget(self, value: int) -> None:
        register = self.where[value]
        self.where[value] = NONE
        self.complete[value] = 0
        self.log.pop(value, None)
        del self.holds[register]
        heapq.heappush(self.free, self.places[register])

    def allocate(self) -> int:
        """A register that is free."""
        while not self.free:
            if self.assign:
                self._evict()
            else:
                self._clear()
        register: int = self.sequence[heapq.heappop(self.free)]
        self.widest = max(self.widest, register + 1)
        return register

    def _evict(self) -> None:
        """Forget the value that is cheapest to compute again."""
        best = None
        for value in self.holds.values():
            if self.complete[value] and not self.pins[value] and self.values[value].groups:
                key = self._again(value), self.born[value]
                if best is None or key < best[0]:
                    best = key, value
        if best is None:
            raise TooNarrowError
        self._forget(best[1])

    def _again(self, value: int) -> int:
        """About the cycles that computing a value again takes."""
        total, stack, seen = 0, [value], {value}
        while stack and len(seen) < 32:
            one = stack.pop()
            total += self.costs[one]
            for group in self.values[one].groups:
                for operand in operands(group):
                    if not self.complete[operand] and operand not in seen:
                        seen.add(operand)
                        stack.append(operand)
        return total

    def _clear(self) -> None:
        """Take a value away by running its groups backwards."""
        best = None
        for value in self.holds.values():
            if not self.complete[value] or self.pins[value] or not self.values[value].groups:
                continue
            cost = self._undo_cost(value)
            if cost is None:
                continue
            key = (
                bool(self.remaining[value]),
                cost + (self.costs[value] if self.remaining[value] else 0),
                -self.born[value],
            )
            if best is None or key < best[0]:
                best = key, value
        if best is None:
            raise TooNarrowError
        self._undo(best[1])
        # What the accumulator still holds the form of would take longer to undo later.
        for value in sorted(self.holds.values(), key=self.born.__getitem__, reverse=True):
            dead = self.complete[value] and not self.remaining[value] and not self.pins[value]
            if dead and self._uses_accumulator(value) and self._undo_cost(value) == 1:
                self._undo(value)

    def _undo_cost(self, value: int) -> int | None:
        """The cycles that take a value away now; None when that is not possible."""
        cost = 0
        accumulator = self.accumulator
        for number in self._steps(value):
            group = self.values[value].groups[number]
            if not all(self.complete[operand] for operand in operands(group)):
                return None
            form = self._on_registers(group.form)[1]
            cost += 1
            if not is_simple(form) and form != accumulator:
                cost += len(form)
                accumulator = form
        return cost

    def _uses_accumulator(self, value: int) -> bool:
        return any(not is_simple(self.values[value].groups[number].form) for number in self._steps(value))

    def _steps(self, value: int) -> list[int]:
        """The groups to run backwards, the last one first; taking over a register was no instruction."""
        steps = self.log[value][::-1]
        return steps[:-1] if value in self.taken else steps

    def _undo(self, value: int) -> None:
        register = self.where[value]
        for number in self._steps(value):
            self._write(register, self.values[value].groups[number], -1, "add")
        del self.log[value]
        self.where[value] = NONE
        self.complete[value] = 0
        other = self.taken.pop(value, NONE)
        if other == NONE:
            del self.holds[register]
            heapq.heappush(self.free, self.places[register])
        else:
            self.where[other] = register
            self.holds[register] = other
            self.complete[other] = 1

    def _write(self, dst: int, group: Group, sign: int, mode: str, source: int = NONE) -> None:
        """Append the instruction of a group; ``source`` is the register of its base when it was taken over."""
        flip, form = self._on_registers(group.form, group.base, source)
        src = SOURCE if group.base == ONE else self.where[group.base] if source == NONE else source
        if not is_simple(form) and form != self.accumulator:
            self.cycles += len(form)
            self.accumulator = form
        if any(register == dst for (_, _, register), _ in self.accumulator):
            self.accumulator = ()
        self.code.append(Instruction(dst, src, sign * flip, mode, form))
        self.cycles += 1
        if self.cycles > self.most:
            raise TooLongError

    def _on_registers(self, form: TermForm, base: int = NONE, source: int = NONE) -> tuple[int, TermForm]:
        """The form with registers in place of values, and the sign that was taken out of it, so that a form and its
        negative are one."""
        terms: list[tuple[Key, Coefficient]] = []
        for (weight, u, value), c in form:
            register = NONE if value == NONE else source if value == base and source != NONE else self.where[value]
            terms.append(((weight, u, register), c))
        negative = tuple((key, -c) for key, c in terms)
        # Where loops are wanted the sign stays in the weights, so that rows of a matrix look alike.
        keeps_sign = self.assign and (len(terms) > 1 or terms[0][0][1] == NONE) and negative != self.accumulator
        if keeps_sign or terms[0][1] >= 0:
            return 1, tuple(terms)
        return -1, negative


def _is_constant(group: Group) -> bool:
    """Whether a group is a number or a named weight alone."""
    return group.base == ONE and len(group.form) == 1 and group.form[0][0][1] == group.form[0][0][2] == NONE
