"""Generate: a graph of values to instructions on a number of registers.

Precondition: a graph. Postcondition: instructions that compute its outputs and send them in order, or an error: too
narrow, or too long. There are two orders. *Gather* goes from the outputs to what they need, and a value collects its
groups. *Scatter* goes from the inputs: a value that is complete is added to all of its readers at once, so that
nobody needs it any more. Where registers are short, a value is given up and computed again. Cost: linear
when all values fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .registers import LAYER, Instruction, Registers, TooNarrowError
from .values import NONE, ONE, UNIT, Graph, operands

__all__ = ["Listing", "arrival", "gather", "joined", "packed", "scatter"]


#: Values that are computed one from the other, at most, between one sum and the next.
CHAIN = 4


#: Programs of so many registers take the numbers 0, 2, 3 and so on.
FEW = 8


class Listing(NamedTuple):
    """Instructions, and for each output its name, its register, the number of instructions before it is sent, and
    whether all registers get their start again then. ``width`` are the registers that are used."""

    code: list[Instruction]
    outputs: list[tuple[str, int, int, bool]]
    cycles: int
    width: int


class _Sender:
    """Sends the outputs in order, as soon as they are complete."""

    def __init__(self, graph: Graph, registers: Registers) -> None:
        self.waiting = list(graph.outputs.items())[::-1]
        self.registers = registers
        self.sent: list[tuple[str, int, int, bool]] = []

    def look(self) -> None:
        registers = self.registers
        while self.waiting and registers.is_held(self.waiting[-1][1]):
            name, value = self.waiting.pop()
            self.sent.append((name, registers.where[value], len(registers.code), False))
            registers.cycles += 1
            registers.remaining[value] -= 1
            registers.release(value)

    def listing(self) -> Listing:
        registers = self.registers
        return Listing(registers.code, self.sent, registers.cycles, max(registers.widest, 3))


def gather(graph: Graph, registers: Registers) -> Listing:
    """The outputs one after the other, each with what it needs, depth first."""
    sender = _Sender(graph, registers)
    needs = _needs(graph)
    return _rest(sender, registers, needs)


def scatter(graph: Graph, registers: Registers) -> Listing:
    """Values in the order of the graph; each is added to its readers as soon as it is complete."""
    sender = _Sender(graph, registers)
    needs = _needs(graph)
    readers: list[list[tuple[int, int]]] = [[] for _ in graph.values]
    missing: list[list[int]] = []
    for number, made in enumerate(graph.values):
        missing.append([])
        for place, group in enumerate(made.groups):
            distinct = set(operands(group))
            missing[-1].append(len(distinct))
            for operand in distinct:
                readers[operand].append((number, place))
    open_groups = [sum(count > 0 for count in counts) for counts in missing]

    def finish(value: int) -> None:
        """The groups of inputs alone, which complete a value."""
        for place, group in enumerate(graph.values[value].groups):
            if next(operands(group), None) is None and registers.is_missing(value, place):
                registers.execute(value, place)

    for start in [value for value in _depth_first(graph) if not open_groups[value]]:
        _open_layer(start, registers, readers)
        finish(start)
        done = [start]
        while done:
            sender.look()
            value = done.pop()
            completed = []
            for reader, place in readers[value]:
                missing[reader][place] -= 1
                if missing[reader][place]:
                    continue
                _ready(reader, place, registers, needs)
                if open_groups[reader] == 1:
                    _open_layer(reader, registers, readers)
                registers.execute(reader, place)
                open_groups[reader] -= 1
                if not open_groups[reader]:
                    finish(reader)
                    completed.append(reader)
            done += completed[::-1]
    return _rest(sender, registers, needs)


def _open_layer(value: int, registers: Registers, readers: Sequence[Sequence[tuple[int, int]]]) -> None:
    """Open the sums that will read a value, each with its constant, before the first of their terms is computed, so
    that all terms look alike."""
    if not registers.assign:
        return
    found = readers[value]
    for _ in range(CHAIN):
        if len(found) != 1 or len(registers.values[found[0][0]].groups) > 1:
            break
        found = readers[found[0][0]]
    layer = [reader for reader, _ in found if registers.may_begin(reader)]
    if layer and len(registers.free) > len(layer) + 1:
        for reader in layer:
            registers.begin(reader)


def arrival(graph: Graph, registers: Registers) -> Listing:
    """Values as soon as the inputs that they depend on have arrived, in the order of the inputs; each is added to its
    readers at once, as in a shift register."""
    sender = _Sender(graph, registers)
    needs = _needs(graph)
    latest: list[int] = []
    for made in graph.values:
        read = [u for group in made.groups for (_, u, _), _ in group.form]
        latest.append(max([*read, *(latest[operand] for group in made.groups for operand in operands(group))]))
    order = sorted(range(len(latest)), key=latest.__getitem__)
    readers: list[list[tuple[int, int]]] = [[] for _ in graph.values]
    missing = [[len(set(operands(group))) for group in value.groups] for value in graph.values]
    for reader in order:
        for place, group in enumerate(graph.values[reader].groups):
            for operand in dict.fromkeys(operands(group)):
                readers[operand].append((reader, place))
    #: When each value was opened; those that are opened at first count in their order.
    opened = {value: place - len(order) for place, value in enumerate(order)}
    if registers.assign:
        _open_all(order, registers, readers)
    for clock, value in enumerate(order):
        sender.look()
        if not registers.remaining[value]:
            continue  # it was sent
        for place, group in enumerate(graph.values[value].groups):
            if next(operands(group), None) is None and registers.is_missing(value, place):
                registers.execute(value, place)
        _ensure(value, registers, needs)
        # The last one, which is not open yet, takes over the register.
        for reader, place in sorted(
            readers[value], key=lambda pair: (registers.where[pair[0]] == NONE, opened[pair[0]])
        ):
            missing[reader][place] -= 1
            if registers.where[reader] == NONE:
                opened[reader] = clock
            if not missing[reader][place] and registers.is_missing(reader, place):
                _ready(reader, place, registers, needs)
                registers.execute(reader, place)
    return _rest(sender, registers, needs)


def _open_all(order: Sequence[int], registers: Registers, readers: Sequence[Sequence[tuple[int, int]]]) -> None:
    """Open all sums with their constants, but for those that take over a register, where there are registers for
    that."""
    last = [found[-1] if found else None for found in readers]

    def begins(value: int) -> bool:
        groups = registers.values[value].groups
        takes = any(g.form == UNIT and g.base != ONE and last[g.base] == (value, n) for n, g in enumerate(groups))
        return registers.constants[value] != NONE and len(groups) > 1 and not takes

    opened = [value for value in order if begins(value)]
    if len(opened) < len(registers.free):
        before = len(registers.code)
        for value in opened:
            registers.begin(value)
        # A loop from the last register down leaves room for what follows: no register is stored as number 1.
        registers.code[before:] = registers.code[before:][::-1]


def _rest(sender: _Sender, registers: Registers, needs: list[int]) -> Listing:
    """Compute and send the outputs that were not sent yet, then compute the next values of states."""
    sender.look()
    while sender.waiting:
        _ensure(sender.waiting[-1][1], registers, needs)
        sender.look()
    for value in registers.order:
        _ensure(value, registers, needs)
        registers.pins[value] += 1  # its register is not given away before it is at home
        registers.settle()
    registers.finish()
    return sender.listing()


def joined(pieces: Sequence[Listing]) -> Listing:
    """Listings one after the other, with a restart between them."""
    code: list[Instruction] = []
    outputs: list[tuple[str, int, int, bool]] = []
    for number, piece in enumerate(pieces, 1):
        ends = [at + len(code) for _, _, at, _ in piece.outputs]
        outputs += [(name, r, end, False) for (name, r, _, _), end in zip(piece.outputs, ends, strict=True)]
        outputs[-1] = (*outputs[-1][:3], number < len(pieces))
        code += piece.code
    return Listing(code, outputs, sum(piece.cycles for piece in pieces), max(piece.width for piece in pieces))


def packed(listing: Listing) -> Listing:
    """A listing with register 0 in place of the last one, if it is of few registers, which need not follow each other,
    and has no use for register 0."""
    last = listing.width - 1
    if listing.width > FEW or any(instruction.dst == 0 for instruction in listing.code):
        return listing

    def number(register: int) -> int:
        return 0 if register == last else register

    code = [
        instruction._replace(
            dst=number(instruction.dst),
            src=number(instruction.src),
            form=tuple(((k, u, number(r)), c) for (k, u, r), c in instruction.form),
        )
        for instruction in listing.code
    ]
    outputs = [(name, number(register), at, restart) for name, register, at, restart in listing.outputs]
    return Listing(code, outputs, listing.cycles, max(listing.width - 1, 3))


def _depth_first(graph: Graph) -> list[int]:
    """The values in the order in which the outputs need them."""
    out: list[int] = []
    seen = bytearray(len(graph.values))
    for root in graph.roots:
        stack = [root]
        while stack:
            value = stack[-1]
            if seen[value] == 2:
                stack.pop()
                continue
            if seen[value] == 1:
                seen[value] = 2
                out.append(stack.pop())
                continue
            seen[value] = 1
            below = [operand for group in graph.values[value].groups for operand in operands(group)]
            stack.extend(operand for operand in reversed(below) if not seen[operand])
    return out


def _needs(graph: Graph) -> list[int]:
    """For each value about the registers that it takes to compute it, as if nothing was shared."""
    out: list[int] = []
    for value in graph.values:
        below = sorted((out[o] for group in value.groups for o in set(operands(group))), reverse=True)
        most = 1
        for number, need in enumerate(below[:8]):
            most = max(most, need + min(number, 2))
        out.append(most)
    return out


def _ensure(root: int, registers: Registers, needs: list[int]) -> None:
    """Make a register hold ``root``: missing operands first, those that need most registers before others."""
    stack = [root]
    pinned: dict[int, list[int]] = {}
    prepared: set[int] = set()
    while stack:
        value = stack[-1]
        if registers.is_held(value):
            stack.pop()
            continue
        groups = registers.values[value].groups
        if not groups:  # the old value of a state, which is gone
            raise TooNarrowError
        if value not in registers.pending and value not in prepared:
            prepared.add(value)
            layer = _layer(value, registers)
            if layer:
                stack.extend(layer)
                continue
        if value not in registers.pending:
            order = sorted(range(len(groups)), key=lambda n: max((needs[o] for o in operands(groups[n])), default=0))
            if registers.assign and all(registers.is_held(o) for group in groups for o in operands(group)):
                order = list(reversed(range(len(groups))))
            registers.pending[value] = dict.fromkeys(order)
        place = _next_group(value, registers)
        for operand in pinned.pop(value, ()):
            registers.pins[operand] -= 1
        read = dict.fromkeys(operands(groups[place]))
        wanted = sorted((o for o in read if not registers.is_held(o)), key=needs.__getitem__)
        if wanted:
            held = [operand for operand in read if registers.is_held(operand)]
            for operand in held:
                registers.pins[operand] += 1
            pinned[value] = held
            stack.append(wanted[-1])
            continue
        registers.execute(value, place)


def _layer(value: int, registers: Registers) -> list[int]:
    """The operands of a value that others need too, the last one first, when there is room to hold them all: computed
    before the value is begun, they look alike."""
    if not registers.assign:
        return []
    read = dict.fromkeys(operand for group in registers.values[value].groups for operand in operands(group))
    layer = [operand for operand in read if not registers.is_held(operand) and registers.uses[operand] > 1]
    return sorted(layer, reverse=True) if LAYER < len(layer) < len(registers.free) - 1 else []


def _next_group(value: int, registers: Registers) -> int:
    """The group to run next. A value that is not open yet begins with one that costs nothing, if there is one: the
    register of a value that nobody else needs."""
    pending = registers.pending[value]
    groups = registers.values[value].groups
    first = registers.first_group(value) if registers.where[value] == NONE else NONE
    if first != NONE:
        return first
    if registers.where[value] == NONE and len(pending) > 1 and len(groups) < 64:
        top = groups[next(reversed(pending))]
        if all(registers.is_held(operand) for operand in operands(top)):
            for place in reversed(pending):
                form, base = groups[place]
                uses = registers.remaining if registers.assign else registers.uses
                if form == UNIT and base != ONE and uses[base] == 1:
                    return place
    return next(reversed(pending))


def _ready(value: int, place: int, registers: Registers, needs: list[int]) -> None:
    """Make registers hold the operands of a group."""
    read = dict.fromkeys(operands(registers.values[value].groups[place]))
    for operand in read:
        if not registers.is_held(operand):
            _ensure(operand, registers, needs)
        registers.pins[operand] += 1
    for operand in read:
        registers.pins[operand] -= 1
