"""States: registers that hold values before the first instruction, and others of them after the last.

A state has a register of its own, its *home*. It is there from the beginning, cannot be computed again, and its home
must hold the next value at the end. Where a next value begins with the old one, and nobody else needs that, it is
written over it; else it goes home when the old value is no longer needed. Where instructions may not assign, what
stands in a home is copied away and subtracted: at the end of a run only homes count.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

from .registers import SOURCE, Registers, TooNarrowError
from .values import CONSTANT, NONE, UNIT, Graph, Group, form_of, group_cost, operands

__all__ = ["StateRegisters", "homes"]


class _Next(NamedTuple):
    """The register ``home`` must hold ``value`` at the end."""

    home: int
    value: int


def homes(count: int) -> list[int]:
    """The registers of ``count`` states, in order."""
    return [register for register in range(count + 1) if register != SOURCE][:count]


class StateRegisters(Registers):
    """Registers of a graph with states. Where they may assign, ``tidy`` keeps values that are no next ones out of homes
    that become free."""

    def __init__(self, graph: Graph, width: int, *, assign: bool, tidy: bool, most: int) -> None:
        super().__init__(graph, width, assign=assign, tidy=tidy, most=most)
        self.homes = homes(len(graph.states))
        if self.homes[-1] >= width:
            raise TooNarrowError
        self.free = [place for register, place in self.places.items() if register not in self.homes]
        heapq.heapify(self.free)
        #: Homes that hold nothing that anybody needs.
        self.idle: set[int] = set()
        #: Values that are where they must be at the end.
        self.settled: set[int] = set()
        self.waiting: list[_Next] = []
        for home, step in zip(self.homes, graph.states, strict=True):
            self.where[step.old], self.holds[home] = home, step.old
            self.complete[step.old] = 1
            self.log[step.old] = []
            self.remaining[step.next] += 1
            self.uses[step.next] += 1
            self.waiting.append(_Next(home, step.next))
        self.widest = self.homes[-1] + 1
        self.order = _order(graph)
        for step in graph.states:
            self.release(step.old)

    def first_group(self, value: int) -> int:
        """A group whose register ``value`` can take over where that is its home, or a state that nobody else needs, or
        where there is no other register."""
        home = self._home(value)
        best = None
        groups = self.values[value].groups
        for number in self.pending[value]:
            form, base = groups[number]
            if base < 0 or not all(self.complete[operand] for operand in operands(groups[number])):
                continue
            at_home = self.where[base] == home
            dies = self.remaining[base] == 1 and not self.counted[value][number] and not self.pins[base]
            if dies and (form == UNIT or self.assign):
                scarce = not self.free and not self.idle
                rank = 3 if at_home else 2 if form == UNIT else 1 if scarce else 0
            else:
                rank = 2 if at_home and (form == UNIT or not self.assign) else 0
            if rank and (best is None or rank > best[0]):
                best = rank, number
        return NONE if best is None else best[1]

    def execute(self, value: int, number: int) -> None:
        super().execute(value, number)
        if self.complete[value]:
            self.settle()

    def settle(self) -> None:
        while True:
            held = [entry for entry in self.waiting if self.complete[entry.value]]
            for entry in [entry for entry in held if self.where[entry.value] == entry.home]:
                self._keep(entry)
            free = [entry for entry in held if entry in self.waiting and entry.home in self.idle]
            if not free:
                return
            self.idle.remove(free[0].home)
            self._copy(*free[0])
            self._keep(free[0])

    def finish(self) -> None:
        self.settle()
        while self.waiting:
            home, value = entry = self.waiting[0]
            if self.assign:  # homes whose values wait for each other in a circle
                if not self.free:
                    raise TooNarrowError
                self._copy(self.allocate(), value)
            else:
                self._write(home, Group(UNIT, self._move_on(home)), -1, "add")
                self._write(home, Group(UNIT, value), 1, "add")
                self._keep(entry)
            self.settle()

    def release(self, operand: int) -> None:
        if self.assign or self.values[operand].groups:
            super().release(operand)

    def allocate(self) -> int:
        while not self.free:
            if self.idle:
                register = min(self.idle)
                self.idle.remove(register)
                heapq.heappush(self.free, self.places[register])
            elif self.assign:
                self._evict()
            else:
                self._clear()
        return super().allocate()

    def _open(self, value: int, group: Group, later: Collection[int]) -> None:
        home, base = self._home(value), group.base
        mode = "relu" if self.values[value].relu else "assign" if self.assign else "add"
        old = self.holds.get(home, NONE)
        dies, old_dies = (
            operand >= 0 and not self.remaining[operand] and self.pins[operand] == 1 and operand not in later
            for operand in (base, old)
        )
        if dies and base == old and group.form == UNIT:
            super()._open(value, group, later)
        elif self.assign and home in self.idle:
            self.idle.remove(home)
            self._begin(value, group, home, mode)
        elif self.assign and old_dies and old in operands(group):
            self._write(home, group, 1, mode)
            self._forget(old)
            self.idle.remove(home)
            self._occupy(value, home)
        elif home != NONE and base >= 0 and self.where[base] == home and group.form == UNIT and self.assign:
            # The old value is still needed: it moves on, and the next one begins as a copy that stays.
            if self.values[value].relu or not (self.free or self.idle):
                super()._open(value, group, later)
            else:
                self._copy(self.allocate(), base)
                self.idle.discard(home)
                self._occupy(value, home)
        elif home != NONE and not self.assign:
            self._change(value, group, home, mode)
        elif dies and self.assign and self.tidy and group.form != UNIT and self.where[base] in self.homes and self.free:
            self._begin(value, group, self.allocate(), mode)
        else:
            super()._open(value, group, later)

    def _change(self, value: int, group: Group, home: int, mode: str) -> None:
        """Make what stands in ``home`` the first group of ``value``, by adding."""
        old = self._move_on(home)
        rest = form_of({**dict(group.form), CONSTANT: dict(group.form).get(CONSTANT, 0) - 1})
        constants = sum(u == operand == NONE for (_, u, operand), _ in rest)
        if group.base == old and constants <= 1 and group_cost(rest) <= group_cost(group.form) + 1:
            self._occupy(value, home)
            if rest:
                self._write(home, Group(rest, old), 1, "add")
        else:
            self._write(home, Group(UNIT, old), -1, "add")
            self._begin(value, group, home, mode)
        self.pins[value] += 1  # it cannot be undone like others

    def _move_on(self, home: int) -> int:
        """Copy what stands in ``home`` to a register that is zero, and look for it there from now on."""
        old = self.holds[home]
        self.pins[old] += 1
        copy = self.allocate()
        self.pins[old] -= 1
        self._write(copy, Group(UNIT, old), 1, "add")
        self._relocate(old, copy)
        return old

    def _copy(self, register: int, value: int) -> None:
        """Copy a value to a register that is free; if it is not settled it moves there."""
        self._write(register, Group(UNIT, value), 1, "assign")
        if value in self.settled:
            return
        before = self.where[value]
        self._relocate(value, register)
        self._give_back(before)

    def _relocate(self, value: int, register: int) -> None:
        del self.holds[self.where[value]]
        self._occupy(value, register)

    def _occupy(self, value: int, register: int) -> None:
        self.where[value], self.holds[register] = register, value

    def _begin(self, value: int, group: Group, register: int, mode: str) -> None:
        self._occupy(value, register)
        self._write(register, group, 1, mode)

    def _keep(self, entry: _Next) -> None:
        """The next value of a state is where it must be, and stays there."""
        self.waiting.remove(entry)
        self.settled.add(entry.value)
        self.pins[entry.value] += 1
        self.remaining[entry.value] -= 1

    def _home(self, value: int) -> int:
        """The first home that waits for a value."""
        return next((home for home, wanted in self.waiting if wanted == value), NONE)

    def _give_back(self, register: int) -> None:
        if register in self.homes:
            self.idle.add(register)
        else:
            heapq.heappush(self.free, self.places[register])

    def _forget(self, value: int) -> None:
        register = self.where[value]
        super()._forget(value)
        if register in self.homes:
            self.free.remove(self.places[register])
            heapq.heapify(self.free)
            self.idle.add(register)


def _order(graph: Graph) -> list[int]:
    """The next values, those that need the old value of a state before the next value of that state."""
    steps = graph.states
    #: For each value the states that it depends on, a bit each.
    needed: list[int] = []
    for value in graph.values:
        mask = 0 if value.state == NONE else 1 << value.state
        for group in value.groups:
            for operand in operands(group):
                mask |= needed[operand]
        needed.append(mask)
    reads = [[n for n in range(len(steps)) if n != m and needed[step.next] >> n & 1] for m, step in enumerate(steps)]
    readers = Counter(n for states in reads for n in states)
    left = list(range(len(steps)))
    out: list[int] = []
    while left:
        best = min(left, key=readers.__getitem__)
        left.remove(best)
        readers.subtract(reads[best])
        out.append(steps[best].next)
    return out
