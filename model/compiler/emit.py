"""Emit: expressions to code.

Precondition: an expression and its contract. Postcondition: code on registers, as long as :func:`predict` said. A block
is emitted once for each contract, on roles, as columns of instructions, and is then placed by array operations
(relabelled, reversed, negated): time and memory are linear in the program.
"""

from __future__ import annotations

import numpy as np
from skinny.model.limits import check
from skinny.model.program.program import Columns

from .code import Code, Instruction, Scalars, joined
from .contracts import CEILING, SOURCE, TARGET, Contract, Expression, Item

__all__ = ["emit", "predict"]


def predict(root: Expression, contract: Contract) -> int:
    """The exact number of instructions, without emitting them."""
    lengths: dict[tuple[int, Contract], int] = {}
    stack = [(root, contract)]
    while stack:
        check()
        part, wanted = stack[-1]
        key = (id(part), wanted)
        items = [item for item in part.word(wanted) if isinstance(item, Item)]
        missing = [(i.block, i.contract) for i in items if (id(i.block), i.contract) not in lengths]
        if missing and key not in lengths:
            stack.extend(missing)
            continue
        stack.pop()
        steps = len(part.word(wanted)) - len(items)
        lengths[key] = min(steps + sum(lengths[id(i.block), i.contract] for i in items), CEILING)
    return lengths[id(root), contract]


def emit(root: Expression, contract: Contract, start: tuple[int, ...]) -> Code:
    """The instructions of ``root``, which read register 1 and add to register 0."""
    emitter = _Emitter()
    block = emitter.emit(root, contract)
    registers = np.arange(len(start), dtype=np.uint16)
    registers[SOURCE], registers[TARGET] = 1, 0
    columns = Columns(registers[block.dst], registers[block.src], block.sign, block.form)
    return Code(columns, emitter.scalars, start)


class _Emitter:
    """Emits blocks and numbers the scalars they use, in order of first emission."""

    def __init__(self) -> None:
        self.scalars = Scalars()
        self._blocks: dict[tuple[int, Contract], Columns] = {}

    def emit(self, root: Expression, contract: Contract) -> Columns:
        """The instructions of ``root`` on roles: source 0, target 1, third 2, extras from 3."""
        stack = [(root, contract)]
        while stack:
            check()
            part, wanted = stack[-1]
            key = (id(part), wanted)
            word = part.word(wanted)
            missing = [
                (item.block, item.contract)
                for item in word
                if isinstance(item, Item) and (id(item.block), item.contract) not in self._blocks
            ]
            if missing and key not in self._blocks:
                stack.extend(missing)
                continue
            stack.pop()
            if key not in self._blocks:
                pieces = [self._single(item) if isinstance(item, Instruction) else self._placed(item) for item in word]
                self._blocks[key] = joined(pieces)
        return self._blocks[id(root), contract]

    def _single(self, instruction: Instruction) -> Columns:
        dst, src, sign, scalar = instruction
        return Columns.of([dst], [src], [sign], [self.scalars.number(scalar)])

    def _placed(self, item: Item) -> Columns:
        """A block that was emitted, on the roles of the word it stands in."""
        block = self._blocks[id(item.block), item.contract]
        if item.reverse:
            block = block.part(slice(None, None, -1))
        sign = -block.sign if item.reverse else block.sign
        if item.negate:
            sign = np.where((block.dst == TARGET) != (block.src == TARGET), -sign, sign)
        roles = np.array(item.roles, dtype=np.uint16)
        return Columns(roles[block.dst], roles[block.src], sign, block.form)
