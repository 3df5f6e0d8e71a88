"""Emit: expressions to instructions.

Precondition: an expression and its contract. Postcondition: instructions on registers, as many as :func:`predict` said.
A block is emitted once for each contract, on roles, as an array of packed instructions, and is then placed by array
operations (relabelled, reversed, negated): time and memory are linear in the program.

Packed instruction: ``scalar << 9 | minus << 8 | dst << 4 | src``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from skinny.model.compiler.contracts import CEILING, Contract, Expression, Item, J, Scalar, Step
from skinny.model.limits import check

__all__ = ["MINUS", "Emitter", "Packed", "predict", "relabelled"]

Packed = NDArray[np.int64]
MINUS = 1 << 8


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


class Emitter:
    """Emits blocks and numbers the scalars they use, in order of first emission."""

    def __init__(self) -> None:
        self.scalars: dict[Scalar, int] = {}
        self._blocks: dict[tuple[int, Contract], Packed] = {}

    def emit(self, root: Expression, contract: Contract) -> Packed:
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
                pieces = [self._step(item) if isinstance(item, Step) else self._placed(item) for item in word]
                self._blocks[key] = np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int64)
        return self._blocks[id(root), contract]

    def _step(self, step: Step) -> Packed:
        number = self.scalars.setdefault(step.scalar, len(self.scalars))
        return np.array([number << 9 | (MINUS if step.sign < 0 else 0) | step.dst << 4 | step.src], dtype=np.int64)

    def _placed(self, item: Item) -> Packed:
        packed = self._blocks[id(item.block), item.contract]
        table = np.zeros(256, dtype=np.int64)
        for dst, new_dst in enumerate(item.roles):
            for src, new_src in enumerate(item.roles):
                flip = item.reverse ^ (item.negate and (dst == J) != (src == J))
                table[dst << 4 | src] = new_dst << 4 | new_src | (MINUS if flip else 0)
        if item.reverse:
            packed = packed[::-1]
        placed: Packed = (packed & ~np.int64(255)) ^ table[packed & 255]
        return placed


def relabelled(packed: Packed, registers: tuple[int, ...]) -> Packed:
    """Roles replaced by registers."""
    table = np.zeros(256, dtype=np.int64)
    for dst, new_dst in enumerate(registers):
        for src, new_src in enumerate(registers):
            table[dst << 4 | src] = new_dst << 4 | new_src
    placed: Packed = (packed & ~np.int64(255)) | table[packed & 255]
    return placed
